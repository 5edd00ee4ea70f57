//! Numbers as people read them.

/// Writes a number as Kal prints it: the fewest digits that read back as the
/// same number, in decimal notation from 1e-4 up to 1e16, else as `1.5e300`.
///
/// ```
/// assert_eq!(kal::format_number(0.1 + 0.2), "0.30000000000000004");
/// assert_eq!(kal::format_number(100.0), "100");
/// assert_eq!(kal::format_number(1e16), "1e16");
/// assert_eq!(kal::format_number(-0.0), "-0");
/// ```
pub fn format_number(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        "nan".into()
    } else if value == 0.0 || !value.is_finite() || (1e-4..1e16).contains(&size) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}
