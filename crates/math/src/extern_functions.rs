//! The C functions, as the build script compiles and names them.
#![allow(unsafe_code, non_upper_case_globals)]

use crate::{BinaryFunction, Build, LanesBuild, UnaryFunction};

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

/// The form of a C function for two doubles at once: it takes and returns a vector of two
/// doubles, in one register, for each double that the function takes and returns.
///
/// Rust cannot declare such a C function; compiled code calls it.
#[derive(Clone, Copy, Debug)]
pub struct TwoPointer(unsafe extern "C" fn());

impl TwoPointer {
    /// Returns the address of the function.
    pub fn address(self) -> usize {
        self.0 as *const () as usize
    }
}

macro_rules! two_lanes {
    ($($name:ident)+;) => {
        /// The functions that have a form for two doubles at once, in each build.
        #[cfg(target_arch = "x86_64")]
        pub(super) const TWO: &[(&str, [TwoPointer; 2])] =
            &[$((stringify!($name), two_lanes!($name))),+];
        #[cfg(not(target_arch = "x86_64"))]
        pub(super) const TWO: &[(&str, [TwoPointer; 2])] = &[];
    };
    ($name:ident) => {{
        // SAFETY: the functions of `src/lanes/two.c`. Their parameters are left out, and only
        // `apply_to_two` calls them, with the right ones.
        unsafe extern "C" {
            #[link_name = concat!("kal_math_", stringify!($name), "_two_baseline")]
            fn baseline();
            #[link_name = concat!("kal_math_", stringify!($name), "_two_fma")]
            fn fma();
        }
        [TwoPointer(baseline), TwoPointer(fma)]
    }};
}

two_lanes! { atan2 cos erf erfc exp exp2 hypot pow sin sin_cos tan tanh; }

#[cfg(target_arch = "x86_64")]
type TwoDoubles = std::arch::x86_64::__m128d;

/// Returns two doubles in one register.
#[cfg(target_arch = "x86_64")]
fn joined(values: [f64; 2]) -> TwoDoubles {
    // SAFETY: both are 16 bytes, and all bits are values of both.
    unsafe { std::mem::transmute::<[f64; 2], TwoDoubles>(values) }
}

/// Returns the doubles in a register.
#[cfg(target_arch = "x86_64")]
fn separated(two: TwoDoubles) -> [f64; 2] {
    // SAFETY: as in `joined`.
    unsafe { std::mem::transmute::<TwoDoubles, [f64; 2]>(two) }
}

#[cfg(target_arch = "x86_64")]
impl UnaryFunction {
    /// Returns the function of two values, by its form for two; `None` if it has none, or if
    /// this processor cannot run the build.
    pub fn apply_to_two(self, build: Build, values: [f64; 2]) -> Option<[f64; 2]> {
        Some(apply_to_one_vector(self.two(build)?, values))
    }
}

/// Returns the sine of the first value and the cosine of the second, by the form of
/// [`sin_cos`](crate::sin_cos).
#[cfg(target_arch = "x86_64")]
pub fn apply_sin_cos(build: Build, values: [f64; 2]) -> Option<[f64; 2]> {
    Some(apply_to_one_vector(crate::sin_cos(build)?, values))
}

#[cfg(target_arch = "x86_64")]
fn apply_to_one_vector(TwoPointer(two): TwoPointer, values: [f64; 2]) -> [f64; 2] {
    // SAFETY: the form of a function of one double, or of two such, is a C function of this type.
    let two = unsafe {
        std::mem::transmute::<unsafe extern "C" fn(), extern "C" fn(TwoDoubles) -> TwoDoubles>(two)
    };
    separated(two(joined(values)))
}

#[cfg(target_arch = "x86_64")]
impl BinaryFunction {
    /// As [`UnaryFunction::apply_to_two`]: of each value and the one beside it in `second`.
    pub fn apply_to_two(self, build: Build, values: [f64; 2], second: [f64; 2]) -> Option<[f64; 2]> {
        let TwoPointer(two) = self.two(build)?;
        // SAFETY: as there.
        let two = unsafe {
            std::mem::transmute::<unsafe extern "C" fn(), extern "C" fn(TwoDoubles, TwoDoubles) -> TwoDoubles>(
                two,
            )
        };
        Some(separated(two(joined(values), joined(second))))
    }
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
