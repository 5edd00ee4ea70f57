//! The C functions, as the build script compiles and names them.
#![allow(unsafe_code, non_upper_case_globals)]

macro_rules! functions {
    ($(#[$doc:meta])* $module:ident: $type:ident, $all:ident, $argument:tt, [$($name:ident)+]) => {
        $(#[$doc])*
        pub(super) mod $module {
            use crate::$type;

            $(pub const $name: $type = functions!(entry $type, $argument, $name);)+
        }

        pub(super) const $all: [crate::$type; functions!(count $($name)+)] = [$($module::$name),+];
    };
    (entry $type:ident, ($($argument:ident)+), $name:ident) => {{
        // SAFETY: C's functions over doubles, which take and return doubles by value and
        // have no preconditions. `unsafe extern` only states that.
        unsafe extern "C" {
            #[link_name = concat!("kal_math_", stringify!($name), "_baseline")]
            safe fn baseline($($argument: f64),+) -> f64;
        }
        // SAFETY: the same function, for a processor that `of` and `fastest` ask for.
        #[cfg(target_arch = "x86_64")]
        unsafe extern "C" {
            #[link_name = concat!("kal_math_", stringify!($name), "_fma")]
            safe fn fma($($argument: f64),+) -> f64;
        }
        #[cfg(not(target_arch = "x86_64"))]
        use baseline as fma;
        $type { name: stringify!($name), builds: [baseline, fma] }
    }};
    (count $($name:ident)+) => { [$(stringify!($name)),+].len() };
}

functions! {
    /// Those of one double.
    unary: UnaryFunction, UNARY, (x),
    [acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 lgamma log log10 log1p log2
     sin sinh tan tanh tgamma]
}

functions! {
    /// Those of two doubles.
    binary: BinaryFunction, BINARY, (x y),
    [atan2 hypot pow]
}
