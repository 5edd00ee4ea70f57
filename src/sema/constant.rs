//! The constants that every program knows.

/// Returns the value of a constant that every program knows, unless it declares a variable
/// of that name.
pub fn constant(name: &str) -> Option<f64> {
    CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

const CONSTANTS: [(&str, f64); 4] =
    [("pi", std::f64::consts::PI), ("e", std::f64::consts::E), ("inf", f64::INFINITY), ("nan", f64::NAN)];
