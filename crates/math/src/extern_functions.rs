//! The C functions, as the build script compiles and names them.
#![allow(unsafe_code, non_upper_case_globals)]

use crate::{BinaryFunction, LanesBuild, UnaryFunction};

macro_rules! functions {
    (
        $(#[$doc:meta])* $module:ident: $type:ident, $all:ident, $argument:tt, $block:tt,
        [$($name:ident)+]
    ) => {
        $(#[$doc])*
        pub(super) mod $module {
            use crate::$type;

            $(pub const $name: $type = functions!(entry $type, $argument, $block, $name);)+
        }

        pub(super) const $all: [crate::$type; functions!(count $($name)+)] = [$($module::$name),+];
    };
    (entry $type:ident, ($($argument:ident)+), ($($parameter:ident: $pointer:ty),+), $name:ident) => {{
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
        // SAFETY: the functions of `src/lanes/lanes.c`.
        unsafe extern "C" {
            #[link_name = concat!("kal_math_", stringify!($name), "_lanes_baseline")]
            fn lanes_baseline($($parameter: $pointer),+, count: usize);
        }
        // SAFETY: the same, for processors that `lanes` and `fastest_lanes` ask for.
        #[cfg(target_arch = "x86_64")]
        unsafe extern "C" {
            #[link_name = concat!("kal_math_", stringify!($name), "_lanes_fma")]
            fn lanes_fma($($parameter: $pointer),+, count: usize);
            #[link_name = concat!("kal_math_", stringify!($name), "_lanes_avx512")]
            fn lanes_avx512($($parameter: $pointer),+, count: usize);
        }
        #[cfg(not(target_arch = "x86_64"))]
        use {lanes_baseline as lanes_fma, lanes_baseline as lanes_avx512};
        $type {
            name: stringify!($name),
            builds: [baseline, fma],
            lanes: [lanes_baseline, lanes_fma, lanes_avx512],
        }
    }};
    (count $($name:ident)+) => { [$(stringify!($name)),+].len() };
}

functions! {
    /// Those of one double.
    unary: UnaryFunction, UNARY, (x), (values: *mut f64),
    [acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 lgamma log log10 log1p log2
     sin sinh tan tanh tgamma]
}

functions! {
    /// Those of two doubles.
    binary: BinaryFunction, BINARY, (x y), (values: *mut f64, second: *const f64),
    [atan2 hypot pow]
}

impl UnaryFunction {
    /// Replaces each value by the function of it.
    ///
    /// # Panics
    ///
    /// If this processor cannot run the build.
    pub fn apply(self, build: LanesBuild, values: &mut [f64]) {
        let lanes = self.lanes(build).expect("this processor can run the build");
        // SAFETY: the values can be read and written, and there are that many.
        unsafe { lanes(values.as_mut_ptr(), values.len()) }
    }
}

impl BinaryFunction {
    /// Replaces each value by the function of it and the one beside it in `second`.
    ///
    /// # Panics
    ///
    /// If there are not equally many, or if this processor cannot run the build.
    pub fn apply(self, build: LanesBuild, values: &mut [f64], second: &[f64]) {
        assert_eq!(values.len(), second.len());
        let lanes = self.lanes(build).expect("this processor can run the build");
        // SAFETY: the values can be read and written, and there are that many of both.
        unsafe { lanes(values.as_mut_ptr(), second.as_ptr(), values.len()) }
    }
}
