//! Numbers in fields of a table, and as they are written there.

use crate::host::decimal::format_number;
use crate::syntax;

/// What a field holds where a number is wanted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum FieldValue {
    Number(f64),
    /// It is empty.
    Missing,
    /// It is something else.
    Other,
}

impl FieldValue {
    /// Reads a field: a number as Kal has them, `inf` or `nan`, with a sign and between
    /// blanks.
    pub(super) fn of(field: &[u8]) -> Self {
        let field = field.trim_ascii();
        if field.is_empty() {
            return Self::Missing;
        }
        let text = std::str::from_utf8(field).ok();
        text.and_then(number).map_or(Self::Other, Self::Number)
    }
}

fn number(text: &str) -> Option<f64> {
    // What Kal reads and Rust does not are `0x1F` and `1_000`.
    text.parse().ok().or_else(|| match text.strip_prefix('-') {
        Some(digits) => syntax::number(digits).map(|value| -value),
        None => syntax::number(text.strip_prefix('+').unwrap_or(text)),
    })
}

/// Appends a number as [`format_number`] writes it, in less time.
pub(super) fn write_number(value: f64, text: &mut Vec<u8>) {
    let mut buffer = zmij::Buffer::new();
    let usual = (1e-4..1e16).contains(&value.abs()).then(|| buffer.format_finite(value));
    match usual.filter(|digits| !may_be_between(value, digits)) {
        Some(digits) => text.extend_from_slice(digits.strip_suffix(".0").unwrap_or(digits).as_bytes()),
        None => text.extend_from_slice(format_number(value).as_bytes()),
    }
}

/// Returns whether a number may be in the middle between the shortest of its texts and
/// another one that is as short: which of the two is written is a matter of choice. Then it
/// has one more digit after the point, a 5, and is a multiple of 2 to the minus as many.
fn may_be_between(value: f64, digits: &str) -> bool {
    // Texts of up to 15 digits are further from one another than doubles.
    if digits.len() <= 16 {
        return false;
    }
    let decimals = digits.bytes().rev().position(|byte| byte == b'.').unwrap_or(0);
    let power = f64::from_bits((1023 + 1 + decimals as u64) << 52);
    (value * power).fract() == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_numbers_as_kal_reads_them() {
        let cases = [
            ("1", 1.0),
            ("-1.5", -1.5),
            ("+2", 2.0),
            (" 7\t", 7.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("1_000", 1000.0),
            ("-0x1F", -31.0),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("1e999", f64::INFINITY),
            ("-0", -0.0),
        ];
        for (text, value) in cases {
            let FieldValue::Number(found) = FieldValue::of(text.as_bytes()) else { panic!("{text}") };
            assert_eq!(found.to_bits(), value.to_bits(), "{text}");
        }
        assert!(matches!(FieldValue::of(b"NaN"), FieldValue::Number(value) if value.is_nan()));
        for text in ["", " ", "\t"] {
            assert_eq!(FieldValue::of(text.as_bytes()), FieldValue::Missing, "{text:?}");
        }
        for text in ["x", "1,5", "1 2", "-", "+", ".", "-.", "--1", "- 1", "0x", "1e", "1__0", "n/a", "1'000"]
        {
            assert_eq!(FieldValue::of(text.as_bytes()), FieldValue::Other, "{text}");
        }
        assert_eq!(FieldValue::of(b"\xff"), FieldValue::Other);
    }

    #[test]
    fn numbers_are_written_as_everywhere() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 33
        };
        let middles = [0.500_007_629_394_531_3, -2_179_145_638_511_277.2, 1_125_899_906_842_624.2];
        let edges = [0.0, -0.0, 1e-4, 9.999e-5, 1e15, 1e16, 9_999_999_999_999_998.0, f64::NAN, f64::INFINITY];
        let bits = (0..20_000).map(|_| f64::from_bits(random())).collect::<Vec<_>>();
        #[expect(clippy::cast_precision_loss, reason = "any number will do")]
        let dyadic = (0..20_000).map(|step| (random() >> 11) as f64 / (1_u64 << (step % 60)) as f64);
        let dyadic = dyadic.collect::<Vec<_>>();
        #[expect(clippy::cast_precision_loss, reason = "any number will do")]
        let usual = (0..20_000).map(|_| (random() % 1_000_000_007) as f64 / 1000.0 - 3e5);
        for value in edges.into_iter().chain(middles).chain(dyadic).chain(bits).chain(usual) {
            let mut text = Vec::new();
            write_number(value, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), format_number(value));
        }
    }
}
