//! The functions as MPFR has them, rounded to the nearest double.

use rug::Float;
use rug::float::Round;
use std::cmp::Ordering;

/// The precision of a double in bits.
const PRECISION: u32 = 53;

type One = fn(&mut Float, Round) -> Ordering;
type Two = fn(&mut Float, &Float, Round) -> Ordering;

/// A function that MPFR rounds correctly.
pub(super) struct Exact {
    pub(super) name: &'static str,
    function: Rounded,
}

enum Rounded {
    One(One),
    Two(Two),
}

impl Exact {
    /// Returns whether it has two arguments.
    pub(super) fn is_binary(&self) -> bool {
        matches!(self.function, Rounded::Two(_))
    }

    /// Returns the value to 200 bits.
    pub(super) fn value(&self, x: f64, y: f64) -> Float {
        let mut value = Float::with_val(200, x);
        match self.function {
            Rounded::One(function) => function(&mut value, Round::Nearest),
            Rounded::Two(function) => function(&mut value, &Float::with_val(PRECISION, y), Round::Nearest),
        };
        value
    }

    /// Returns the double nearest to the exact value.
    pub(super) fn nearest(&self, x: f64, y: f64) -> f64 {
        let mut value = Float::with_val(PRECISION, x);
        let rounded = match self.function {
            Rounded::One(function) => function(&mut value, Round::Nearest),
            Rounded::Two(function) => function(&mut value, &Float::with_val(PRECISION, y), Round::Nearest),
        };
        // A subnormal double has fewer bits; the first rounding is taken into account.
        value.subnormalize_ieee_round(rounded, Round::Nearest);
        value.to_f64()
    }
}

const fn one(name: &'static str, function: One) -> Exact {
    Exact { name, function: Rounded::One(function) }
}

const fn two(name: &'static str, function: Two) -> Exact {
    Exact { name, function: Rounded::Two(function) }
}

/// Every function.
pub(super) const FUNCTIONS: &[Exact] = &[
    one("acos", Float::acos_round),
    one("acosh", Float::acosh_round),
    one("asin", Float::asin_round),
    one("asinh", Float::asinh_round),
    one("atan", Float::atan_round),
    one("atanh", Float::atanh_round),
    one("cbrt", Float::cbrt_round),
    one("cos", Float::cos_round),
    one("cosh", Float::cosh_round),
    one("erf", Float::erf_round),
    one("erfc", Float::erfc_round),
    one("exp", Float::exp_round),
    one("exp2", Float::exp2_round),
    one("expm1", Float::exp_m1_round),
    one("lgamma", |value, round| value.ln_abs_gamma_round(round).1),
    one("log", Float::ln_round),
    one("log10", Float::log10_round),
    one("log1p", Float::ln_1p_round),
    one("log2", Float::log2_round),
    one("sin", Float::sin_round),
    one("sinh", Float::sinh_round),
    one("tan", Float::tan_round),
    one("tanh", Float::tanh_round),
    one("tgamma", Float::gamma_round),
    two("atan2", Float::atan2_round),
    two("hypot", Float::hypot_round),
    two("pow", |value, exponent, round| {
        rug::ops::AssignRound::assign_round(value, rug::ops::Pow::pow(&value.clone(), exponent), round)
    }),
];
