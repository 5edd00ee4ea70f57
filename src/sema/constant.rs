//! The constants that every program knows.

/// Returns the value of a constant that every program knows, unless it declares a variable
/// of that name.
pub(super) fn constant(name: &str) -> Option<f64> {
    CONSTANTS.iter().find(|(known, ..)| *known == name).map(|(_, value, _)| *value)
}

/// The constants that every program knows, with their help.
pub const CONSTANTS: [(&str, f64, &str); 4] = [
    ("pi", std::f64::consts::PI, "the circumference of a circle of diameter 1"),
    ("e", std::f64::consts::E, "the base of the natural logarithm"),
    ("inf", f64::INFINITY, "infinity: more than every number"),
    ("nan", f64::NAN, "not a number: what 0/0 is"),
];
