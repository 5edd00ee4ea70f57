//! The tables of the lanes forms, `tables.h`: each pair is compared with the exact value. The
//! polynomials are checked together with the bounds on errors.

use crate::arguments::hexadecimal;
use rug::Float;
use rug::float::Constant;
use std::collections::BTreeMap;

const PRECISION: u32 = 300;

/// Returns the tables by name; a constant is one of a single number.
fn tables() -> BTreeMap<&'static str, Vec<f64>> {
    let definitions = include_str!("../../../crates/math/src/lanes/tables.h").split("static const double ");
    let parse = |definition: &'static str| {
        let (name, rest) = definition.split_once(" = ")?;
        let (numbers, _) = rest.split_once(';')?;
        let numbers = numbers.split(',').map(|text| text.trim_matches(['{', '}', ' ', '\n']));
        let numbers = numbers.filter(|text| !text.is_empty()).map(|text| {
            let (sign, digits) = text.strip_prefix('-').map_or((1.0, text), |digits| (-1.0, digits));
            sign * digits.strip_prefix("0x").and_then(hexadecimal).unwrap_or_else(|| panic!("{text}"))
        });
        Some((name.split('[').next()?, numbers.collect()))
    };
    definitions.skip(1).filter_map(parse).collect()
}

fn float(x: f64) -> Float {
    Float::with_val(PRECISION, x)
}

fn log_of_2() -> Float {
    Float::with_val(PRECISION, Constant::Log2)
}

fn pi() -> Float {
    Float::with_val(PRECISION, Constant::Pi)
}

/// Returns the pairs, as the names of their two tables, with their values.
fn pairs(reciprocals: &[f64]) -> Vec<(&'static str, &'static str, Vec<Float>)> {
    let table = |value: &dyn Fn(u32) -> Float| (0..32).map(value).collect::<Vec<Float>>();
    // Up to 6, and a 0.
    let column = |value: &dyn Fn(f64) -> Float| {
        let rows = (0..=384).map(|i| value(f64::from(i) / 64.0));
        rows.chain([float(0.0)]).collect::<Vec<Float>>()
    };
    let angle = |i: u32| pi() * Float::with_val(PRECISION, f64::from(i) / 32.0);
    vec![
        ("POWERS_HIGH", "POWERS_LOW", table(&|i| float(f64::from(i) / 32.0).exp2())),
        ("LOGS_HIGH", "LOGS_LOW", table(&|i| -float(reciprocals[i as usize]).ln())),
        ("SINES_HIGH", "SINES_LOW", table(&|i| angle(i).sin())),
        ("COSINES_HIGH", "COSINES_LOW", table(&|i| if i == 16 { float(0.0) } else { angle(i).cos() })),
        (
            "ARCS_HIGH",
            "ARCS_LOW",
            table(&|i| if i > 16 { float(0.0) } else { float(f64::from(i) / 16.0).atan() }),
        ),
        ("ERFC_HIGH", "ERFC_LOW", column(&|c| float(c).erfc())),
        ("SLOPES_HIGH", "SLOPES_LOW", column(&|c| (-float(c).square()).exp() * 2 / pi().sqrt())),
        ("STEP_HIGH", "STEP_LOW", vec![log_of_2() / 32]),
        ("NATURAL_HIGH", "NATURAL_LOW", vec![log_of_2()]),
        ("LOG2_HIGH", "LOG2_LOW", vec![log_of_2()]),
        ("THIRD_HIGH", "THIRD_LOW", vec![float(3.0).recip()]),
        ("TWELFTH_HIGH", "TWELFTH_LOW", vec![float(12.0).recip()]),
        ("HALF_LOG_HIGH", "HALF_LOG_LOW", vec![((pi() * 2u32).ln() - 1u32) / 2u32]),
        ("BINARY_HIGH", "BINARY_LOW", vec![log_of_2().recip()]),
        ("DECIMAL_HIGH", "DECIMAL_LOW", vec![float(10.0).ln().recip()]),
        ("ANGLE_HIGH", "ANGLE_LOW", vec![pi() / 32]),
        ("PI_HIGH", "PI_LOW", vec![pi()]),
    ]
}

/// Returns how many entries are wrong, and how many there are.
pub(super) fn check() -> (usize, usize) {
    let mut tables = tables();
    // The one table that has rows.
    for (place, column) in ["ERFC_HIGH", "ERFC_LOW", "SLOPES_HIGH", "SLOPES_LOW"].into_iter().enumerate() {
        tables.insert(column, tables["ERFC"].iter().skip(place).step_by(4).copied().collect());
    }
    let (mut wrong, mut count) = (0, 0);
    for (high, low, values) in pairs(&tables["RECIPROCALS"]) {
        assert_eq!((tables[high].len(), tables[low].len()), (values.len(), values.len()), "{high}");
        for ((given, rest), value) in tables[high].iter().zip(&tables[low]).zip(values) {
            // The first numbers of logarithms are multiples of 2^-42, to be added exactly.
            let expected = if high.starts_with("LOG") {
                Float::with_val(PRECISION, &value << 42).round().to_f64() / 2_f64.powi(42)
            } else {
                value.to_f64()
            };
            let is_right = *given == expected && *rest == (value - expected).to_f64();
            wrong += usize::from(!is_right);
            count += 1;
            if !is_right {
                println!("{high} has {given:e} and {rest:e}");
            }
        }
    }
    (wrong, count)
}
