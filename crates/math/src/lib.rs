//! Elementary and special functions whose result is the double nearest to the exact value.
//!
//! That definition leaves no choice: `exp(1.0)` is the same on every processor, with every
//! compiler and in every version of this crate.
//!
//! ```
//! assert_eq!(kal_math::exp(1.0), std::f64::consts::E);
//! assert_eq!(kal_math::tgamma(0.5), 1.772453850905516); // the square root of pi
//! ```
//!
//! The functions are those of [CORE-MATH](https://core-math.gitlabpages.inria.fr), compiled
//! for every processor and, on x86-64, also for those with FMA. Both [builds](Build) return
//! the same bits; one is chosen when a function is called, or once, by
//! [`UnaryFunction::fastest`].
//!
//! They are for the default [rounding](https://en.cppreference.com/w/c/numeric/fenv), to
//! the nearest double, and raise no particular exception flags. With another rounding
//! mode, or with subnormal numbers flushed to zero, their results are unspecified.
//!
//! This crate knows nothing of Kal.

mod extern_functions;

pub use extern_functions::TwoPointer;
#[cfg(target_arch = "x86_64")]
pub use extern_functions::apply_sin_cos;
use extern_functions::{BINARY, TWO, UNARY, binary, unary};
use std::fmt;

/// What functions are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Build {
    /// Every processor of the architecture.
    Baseline,
    /// x86-64 with AVX2, FMA, BMI and LZCNT.
    Fma,
}

impl Build {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Baseline, Self::Fma];

    /// Returns whether this processor can run it.
    pub fn is_supported(self) -> bool {
        match self {
            Self::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Self::Fma => {
                is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Fma => false,
        }
    }

    /// Returns the fastest one that this processor can run.
    #[inline]
    pub fn fastest() -> Self {
        if Self::Fma.is_supported() { Self::Fma } else { Self::Baseline }
    }
}

/// What the lanes forms of functions are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LanesBuild {
    /// As [`Build::Baseline`]: a loop over the function of one double.
    Baseline,
    /// As [`Build::Fma`]: vectors of 4 doubles.
    Fma,
    /// The same with AVX-512 F, DQ, VL and BW: vectors of 8 doubles.
    Avx512,
}

impl LanesBuild {
    /// All of them, from the slowest to the fastest.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::Fma, Self::Avx512];

    /// Returns whether this processor can run it.
    pub fn is_supported(self) -> bool {
        match self {
            Self::Baseline => true,
            Self::Fma => Build::Fma.is_supported(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Build::Fma.is_supported()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 => false,
        }
    }

    /// Returns the fastest one that this processor can run.
    pub fn fastest() -> Self {
        let [baseline, fma, avx512] = Self::ALL;
        [avx512, fma].into_iter().find(|build| build.is_supported()).unwrap_or(baseline)
    }
}

/// A C function of one double.
pub type UnaryPointer = extern "C" fn(f64) -> f64;

/// A C function of two doubles.
pub type BinaryPointer = extern "C" fn(f64, f64) -> f64;

/// The lanes form of a C function of one double: replaces each of `count` values by the
/// function of it, with the same bits.
pub type UnaryLanesPointer = unsafe extern "C" fn(values: *mut f64, count: usize);

/// The lanes form of a C function of two doubles: replaces each of `count` values by the
/// function of it and the one beside it in `second`, with the same bits.
pub type BinaryLanesPointer = unsafe extern "C" fn(values: *mut f64, second: *const f64, count: usize);

macro_rules! function_type {
    ($type:ident, $pointer:ident, $lanes_pointer:ident, $all:ident, $what:literal) => {
        #[doc = concat!("A function of ", $what, ", in each build.")]
        #[derive(Clone, Copy)]
        pub struct $type {
            name: &'static str,
            builds: [$pointer; 2],
            lanes: [$lanes_pointer; 3],
        }

        impl $type {
            #[doc = concat!("Every function of ", $what, ", by name.")]
            pub const ALL: &'static [Self] = &$all;

            /// Returns its name, which is that of C's function.
            pub fn name(self) -> &'static str {
                self.name
            }

            /// Returns it in a build; `None` if this processor cannot run that.
            pub fn of(self, build: Build) -> Option<$pointer> {
                build.is_supported().then(|| self.builds[build as usize])
            }

            /// Returns it in the fastest build that this processor can run.
            #[inline]
            pub fn fastest(self) -> $pointer {
                self.builds[Build::fastest() as usize]
            }

            /// Returns its form for two at once in a build; `None` if calling it twice takes no
            /// longer, or if this processor cannot run that.
            pub fn two(self, build: Build) -> Option<TwoPointer> {
                two(self.name, build)
            }

            /// Returns its lanes form in a build; `None` if this processor cannot run that.
            pub fn lanes(self, build: LanesBuild) -> Option<$lanes_pointer> {
                build.is_supported().then(|| self.lanes[build as usize])
            }

            /// Returns its lanes form in the fastest build that this processor can run.
            pub fn fastest_lanes(self) -> $lanes_pointer {
                self.lanes[LanesBuild::fastest() as usize]
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($type)).field(&self.name).finish()
            }
        }
    };
}

fn two(name: &str, build: Build) -> Option<TwoPointer> {
    let (_, builds) = TWO.iter().find(|(of, _)| *of == name)?;
    build.is_supported().then(|| builds[build as usize])
}

/// Returns the form for two doubles at once, in a build, that returns the sine of the first and
/// the cosine of the second; `None` as for [`UnaryFunction::two`].
pub fn sin_cos(build: Build) -> Option<TwoPointer> {
    two("sin_cos", build)
}

/// Returns the symbols of the C functions that a program does not need if it calls only the functions
/// for which `is_called` is true. A linker that leaves them out leaves out most of this crate.
pub fn uncalled_symbols(is_called: impl Fn(&str) -> bool) -> Vec<String> {
    let forms: &[&str] = if cfg!(target_arch = "x86_64") {
        &["baseline", "fma", "lanes_baseline", "lanes_fma", "lanes_avx512"]
    } else {
        &["baseline", "lanes_baseline"]
    };
    let mut symbols = Vec::new();
    let mut add = |name: &str, forms: &[&str]| {
        symbols.extend(forms.iter().map(|form| format!("kal_math_{name}_{form}")));
    };
    let unary = UNARY.iter().map(|function| function.name);
    for name in unary.chain(BINARY.iter().map(|function| function.name)) {
        if !is_called(name) {
            add(name, forms);
        }
    }
    for (name, _) in TWO {
        let is_called = match *name {
            "sin_cos" => is_called("sin") && is_called("cos"),
            name => is_called(name),
        };
        if !is_called {
            add(name, &["two_baseline", "two_fma"]);
        }
    }
    symbols
}

function_type!(UnaryFunction, UnaryPointer, UnaryLanesPointer, UNARY, "one double");
function_type!(BinaryFunction, BinaryPointer, BinaryLanesPointer, BINARY, "two doubles");

macro_rules! calls {
    ($(#[$doc:meta] $name:ident($($argument:ident),+) in $module:ident;)+) => {
        $(
            #[$doc]
            #[inline]
            pub fn $name($($argument: f64),+) -> f64 {
                ($module::$name.fastest())($($argument),+)
            }
        )+
    };
}

calls! {
    /// Returns the angle whose cosine is `x`, from 0 to pi.
    acos(x) in unary;
    /// Returns the inverse hyperbolic cosine.
    acosh(x) in unary;
    /// Returns the angle whose sine is `x`, from -pi/2 to pi/2.
    asin(x) in unary;
    /// Returns the inverse hyperbolic sine.
    asinh(x) in unary;
    /// Returns the angle whose tangent is `x`, from -pi/2 to pi/2.
    atan(x) in unary;
    /// Returns the inverse hyperbolic tangent.
    atanh(x) in unary;
    /// Returns the cube root.
    cbrt(x) in unary;
    /// Returns the cosine.
    cos(x) in unary;
    /// Returns the hyperbolic cosine.
    cosh(x) in unary;
    /// Returns the error function.
    erf(x) in unary;
    /// Returns `1 - erf(x)`.
    erfc(x) in unary;
    /// Returns e to the power of `x`.
    exp(x) in unary;
    /// Returns 2 to the power of `x`.
    exp2(x) in unary;
    /// Returns `exp(x) - 1`.
    expm1(x) in unary;
    /// Returns the natural logarithm of the absolute value of the gamma function.
    lgamma(x) in unary;
    /// Returns the natural logarithm.
    log(x) in unary;
    /// Returns the logarithm to base 10.
    log10(x) in unary;
    /// Returns `log(1 + x)`.
    log1p(x) in unary;
    /// Returns the logarithm to base 2.
    log2(x) in unary;
    /// Returns the sine.
    sin(x) in unary;
    /// Returns the hyperbolic sine.
    sinh(x) in unary;
    /// Returns the tangent.
    tan(x) in unary;
    /// Returns the hyperbolic tangent.
    tanh(x) in unary;
    /// Returns the gamma function.
    tgamma(x) in unary;
    /// Returns the angle of the point (`x`, `y`), from -pi to pi.
    atan2(y, x) in binary;
    /// Returns the square root of `x * x + y * y`.
    hypot(x, y) in binary;
    /// Returns `x` to the power of `y`.
    pow(x, y) in binary;
}
