//! The functions of this machine's C library, to compare with.

use crate::Function;

macro_rules! functions {
    ([$($one:ident)+], [$($two:ident)+]) => {
        // SAFETY: C's functions over doubles, which have no preconditions.
        unsafe extern "C" {
            $(safe fn $one(x: f64) -> f64;)+
            $(safe fn $two(x: f64, y: f64) -> f64;)+
        }

        /// Returns the function of a name.
        pub(super) fn named(name: &str) -> Function {
            match name {
                $(stringify!($one) => Function::One($one),)+
                $(stringify!($two) => Function::Two($two),)+
                _ => panic!("the C library has no {name}"),
            }
        }
    };
}

functions! {
    [acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 lgamma log log10 log1p log2
     sin sinh tan tanh tgamma],
    [atan2 hypot pow]
}
