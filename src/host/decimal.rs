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

/// Returns a count with its noun: `1 argument`, `2 arguments`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns a number with its thousands grouped: `48,211`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_grouped() {
        for (count, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(count), text);
        }
    }
}
