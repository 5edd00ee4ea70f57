//! Compares each function, in both builds, with a table of results that MPFR has computed:
//! `tests/mathematics` writes it. For up to half of the
//! arguments, glibc 2.36 returns another double.

use kal_math::{BinaryFunction, Build, UnaryFunction};
use std::collections::BTreeMap;

/// Returns the lines of the table: a name, the bits of one or two arguments, those of the
/// result.
fn table() -> impl Iterator<Item = (&'static str, Vec<f64>, f64)> {
    include_str!("nearest.txt").lines().map(|line| {
        let mut words = line.split(' ');
        let name = words.next().expect("a name");
        let number = |word| f64::from_bits(u64::from_str_radix(word, 16).expect("bits"));
        let mut arguments: Vec<f64> = words.map(number).collect();
        let result = arguments.pop().expect("a result");
        (name, arguments, result)
    })
}

/// Calls the function of a name in a build; `None` if this processor cannot run that.
fn call(name: &str, build: Build, arguments: &[f64]) -> Option<f64> {
    match *arguments {
        [x] => UnaryFunction::ALL.iter().find(|function| function.name() == name)?.of(build).map(|f| f(x)),
        [x, y] => {
            BinaryFunction::ALL.iter().find(|function| function.name() == name)?.of(build).map(|f| f(x, y))
        }
        _ => None,
    }
}

#[test]
fn every_result_is_the_nearest_double() {
    let mut counts = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, arguments, nearest) in table() {
        for build in Build::ALL.into_iter().filter(|build| build.is_supported()) {
            let result = call(name, build, &arguments).expect("the function is there");
            let is_same = result.to_bits() == nearest.to_bits() || result.is_nan() && nearest.is_nan();
            if !is_same {
                wrong.push(format!("{name}{arguments:?} is {nearest:e}, not {result:e} ({build:?})"));
            }
        }
        *counts.entry(name).or_insert(0) += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(counts.len(), UnaryFunction::ALL.len() + BinaryFunction::ALL.len());
    assert!(counts.values().all(|count| *count >= 60), "{counts:?}");
}

#[test]
fn special_values_are_those_of_the_c_standard() {
    use kal_math as m;
    let (infinite, nan) = (f64::INFINITY, f64::NAN);
    assert_eq!(m::pow(nan, 0.0), 1.0);
    assert_eq!(m::pow(1.0, nan), 1.0);
    assert_eq!(m::pow(-1.0, infinite), 1.0);
    assert!(m::pow(-8.0, 1.0 / 3.0).is_nan());
    assert_eq!(m::pow(-0.0, 0.5).to_bits(), 0);
    assert_eq!(m::pow(-infinite, 0.5), infinite);
    assert_eq!(m::pow(-0.0, -3.0), -infinite);
    assert_eq!(m::hypot(infinite, nan), infinite);
    assert_eq!(m::atan2(-0.0, -0.0), -std::f64::consts::PI);
    assert_eq!(m::lgamma(-3.0), infinite);
    assert_eq!(m::lgamma(-infinite), infinite);
    assert!(m::tgamma(-3.0).is_nan());
    assert_eq!(m::tgamma(-0.0), -infinite);
    assert_eq!(m::log(-0.0), -infinite);
    assert!(m::log(-1.0).is_nan() && m::sin(infinite).is_nan() && m::acosh(0.5).is_nan());
    assert_eq!(m::sin(-0.0).to_bits(), (-0.0_f64).to_bits());
    assert_eq!(m::exp(-infinite).to_bits(), 0);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn what_is_not_called_can_be_left_out() {
    let of = |called: &[&str]| kal_math::uncalled_symbols(|name| called.contains(&name));
    let has = |symbols: &[String], symbol: &str| symbols.iter().any(|known| known == symbol);
    let nothing = of(&[]);
    for symbol in ["kal_math_sin_fma", "kal_math_pow_baseline", "kal_math_sin_cos_two_fma"] {
        assert!(has(&nothing, symbol), "{symbol}");
    }
    let mut different = nothing.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), nothing.len());
    let sine = of(&["sin"]);
    let is_needed = |symbol: &str| has(&nothing, symbol) && !has(&sine, symbol);
    for symbol in ["kal_math_sin_fma", "kal_math_sin_two_fma", "kal_math_sin_lanes_fma"] {
        assert!(is_needed(symbol), "{symbol}");
    }
    assert!(!is_needed("kal_math_cos_lanes_fma") && !is_needed("kal_math_sin_cos_two_fma"));
    assert!(!has(&of(&["sin", "cos"]), "kal_math_sin_cos_two_fma"));
}
