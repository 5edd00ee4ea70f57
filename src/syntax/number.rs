//! Numbers: from source to `f64`, and what can be wrong with one.
//!
//! The lexer passes everything that begins like a number together with the
//! number and identifier characters after it, so that `1.2.3` and `12ab` are
//! one mistake each and not two numbers or a number and a name.

/// Why a text is not a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Malformed {
    SecondPoint,
    NoExponent,
    NoHexDigits,
    BadHexDigit,
    HexPoint,
    StrayUnderscore,
    StrayLetter,
    Binary,
    Octal,
}

impl Malformed {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::SecondPoint => "a second decimal point",
            Self::NoExponent => "the exponent has no digits",
            Self::NoHexDigits => "no digits after `0x`",
            Self::BadHexDigit => "not a hexadecimal digit",
            Self::HexPoint => "a decimal point in a hexadecimal number",
            Self::StrayUnderscore => "an underscore that is not between two digits",
            Self::StrayLetter => "a letter in a number",
            Self::Binary => "a binary number",
            Self::Octal => "an octal number",
        }
    }

    /// Returns what to write instead of `text`.
    pub(super) fn advice(self, text: &str) -> String {
        let hexadecimal = |radix| u64::from_str_radix(&text[2..].replace('_', ""), radix).ok();
        let advice = match self {
            Self::SecondPoint if text.contains("..") => {
                "a range is written in a loop: `for i = 1, i < 10 in …`"
            }
            Self::Binary => match hexadecimal(2) {
                Some(value) => return format!("there are no binary numbers; write `{value:#x}`"),
                None => "there are no binary numbers; write a hexadecimal one, such as `0x1F`",
            },
            Self::Octal => match hexadecimal(8) {
                Some(value) => return format!("there are no octal numbers; write `{value:#x}`"),
                None => "there are no octal numbers; write a hexadecimal one, such as `0x1F`",
            },
            Self::SecondPoint => "a number has at most one decimal point",
            Self::NoExponent => "write an exponent as in `1e5` or `1e-3`",
            Self::HexPoint => "hexadecimal numbers are whole numbers",
            Self::NoHexDigits | Self::BadHexDigit => "write a hexadecimal number as in `0x1F`",
            Self::StrayUnderscore => "write `1_000`: one underscore, and digits on both sides of it",
            Self::StrayLetter => {
                "a name cannot begin with a digit; between a number and a name, write an operator"
            }
        };
        advice.to_owned()
    }
}

/// Returns how much of the rest of a text belongs to the number that begins with
/// `start`.
pub(super) fn extent(start: &str, rest: &str) -> usize {
    let hexadecimal = start == "0" && rest.starts_with(['x', 'X']);
    if hexadecimal { word_length(rest) } else { decimal_length(rest) }
}

/// Returns the length of the number and identifier characters `text` begins
/// with.
fn word_length(text: &str) -> usize {
    let belongs = |character: char| character == '.' || unicode_ident::is_xid_continue(character);
    text.find(|character| !belongs(character)).unwrap_or(text.len())
}

/// Returns that length, including the sign of an exponent.
fn decimal_length(text: &str) -> usize {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'_');
    let bytes = text.as_bytes();
    let digits = bytes.iter().take_while(|byte| is_digit(byte)).count();
    let signed = match bytes[digits..] {
        [b'e' | b'E', b'+' | b'-', ..] => digits + 2,
        [next, ..] if !next.is_ascii_alphanumeric() && next.is_ascii() => return digits,
        _ => digits,
    };
    signed + word_length(&text[signed..])
}

/// Returns the value of a number.
pub(super) fn value(text: &str) -> Result<f64, Malformed> {
    let bytes = text.as_bytes();
    if bytes.len() <= 15 && bytes.iter().all(u8::is_ascii_digit) {
        let value = bytes.iter().fold(0, |value: u64, byte| value * 10 + u64::from(byte - b'0'));
        return Ok(rounded(value));
    }
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => hexadecimal(digits),
        None => decimal(text),
    }
}

#[expect(clippy::cast_precision_loss, reason = "rounding to the nearest is what is wanted")]
fn rounded(value: u64) -> f64 {
    value as f64
}

/// Returns the `f64` nearest to any number of hexadecimal digits: the top 64
/// bits are kept, and a bit that says whether any below them was set decides
/// ties.
fn hexadecimal(digits: &str) -> Result<f64, Malformed> {
    if digits.is_empty() {
        return Err(Malformed::NoHexDigits);
    }
    check_underscores(digits, u8::is_ascii_hexdigit)?;
    let (mut top, mut rest, mut exponent) = (0_u64, false, 0_u32);
    for character in digits.chars().filter(|&character| character != '_') {
        let digit = character.to_digit(16).ok_or(match character {
            '.' => Malformed::HexPoint,
            _ => Malformed::BadHexDigit,
        })?;
        if top >> 60 == 0 {
            top = top << 4 | u64::from(digit);
        } else {
            exponent = exponent.saturating_add(4);
            rest |= digit != 0;
        }
    }
    Ok(rounded(top | u64::from(rest)) * power_of_two(exponent))
}

fn power_of_two(exponent: u32) -> f64 {
    if exponent > 1023 { f64::INFINITY } else { f64::from_bits(u64::from(exponent + 1023) << 52) }
}

fn decimal(text: &str) -> Result<f64, Malformed> {
    if let Some(radix) = other_radix(text) {
        return Err(radix);
    }
    check_underscores(text, u8::is_ascii_digit)?;
    check_decimal(text)?;
    if text.contains('_') { text.replace('_', "").parse() } else { text.parse() }
        .map_err(|_| Malformed::StrayLetter)
}

/// Recognises the notations `0b11` and `0o17`.
fn other_radix(text: &str) -> Option<Malformed> {
    match text.as_bytes() {
        [b'0', b'b' | b'B', b'0'..=b'9', ..] => Some(Malformed::Binary),
        [b'0', b'o' | b'O', b'0'..=b'9', ..] => Some(Malformed::Octal),
        _ => None,
    }
}

/// Checks the form: digits, point, digits, exponent.
fn check_decimal(text: &str) -> Result<(), Malformed> {
    let is_digit = |character: char| character.is_ascii_digit() || character == '_';
    let rest = text.trim_start_matches(is_digit);
    let rest = rest.strip_prefix('.').map_or(rest, |fraction| fraction.trim_start_matches(is_digit));
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else {
        return match rest.chars().next() {
            None => Ok(()),
            Some('.') => Err(Malformed::SecondPoint),
            Some(_) => Err(Malformed::StrayLetter),
        };
    };
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    match digits.trim_start_matches(is_digit).chars().next() {
        None if digits.is_empty() => Err(Malformed::NoExponent),
        None => Ok(()),
        Some('.') => Err(Malformed::SecondPoint),
        Some(_) if digits.starts_with(is_digit) => Err(Malformed::StrayLetter),
        Some(_) => Err(Malformed::NoExponent),
    }
}

fn check_underscores(text: &str, is_digit: fn(&u8) -> bool) -> Result<(), Malformed> {
    let bytes = text.as_bytes();
    let between_digits = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        before.is_some_and(is_digit) && bytes.get(at + 1).is_some_and(is_digit)
    };
    let mut underscores = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_');
    if underscores.all(|(at, _)| between_digits(at)) { Ok(()) } else { Err(Malformed::StrayUnderscore) }
}

/// Returns a number as the lexer reads it back.
pub(super) fn text(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude.is_infinite() {
        "1e999".to_owned()
    } else if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let expected = [
            ("1", 1.0),
            ("1.5", 1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e-3", 0.001),
            ("1.e2", 100.0),
            ("2.5E+7", 2.5e7),
            ("0x1F", 31.0),
            ("0XfF", 255.0),
            ("1_000", 1000.0),
            ("1_0.0_5e1_0", 10.05e10),
            ("0x1_0", 16.0),
            ("123456789012345", 123_456_789_012_345.0),
            ("0.1", 0.1),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("1e999", f64::INFINITY),
        ];
        for (text, number) in expected {
            assert_eq!(value(text), Ok(number), "{text}");
        }
    }

    #[test]
    fn long_hexadecimal_numbers_are_rounded_to_the_nearest() {
        assert_eq!(value("0x20000000000001"), Ok(9_007_199_254_740_992.0), "a tie goes to the even");
        assert_eq!(value("0x20000000000003"), Ok(9_007_199_254_740_996.0));
        let just_above = format!("0x20000000000001{}1", "0".repeat(100));
        let expected = 9_007_199_254_740_994.0 * 2f64.powi(404);
        assert_eq!(value(&just_above), Ok(expected), "a bit far below breaks the tie");
        assert_eq!(value(&format!("0x{}", "F".repeat(256))), Ok(f64::INFINITY));
        assert_eq!(value(&format!("0x1{}", "0".repeat(255))), Ok(2f64.powi(1020)));
        assert_eq!(value(&format!("0x{}1", "0".repeat(100_000))), Ok(1.0));
    }

    #[test]
    fn reasons() {
        let expected = [
            ("1.2.3", Malformed::SecondPoint),
            ("1..2", Malformed::SecondPoint),
            ("0x", Malformed::NoHexDigits),
            ("0xG", Malformed::BadHexDigit),
            ("0x1.8", Malformed::HexPoint),
            ("1e", Malformed::NoExponent),
            ("1e+", Malformed::NoExponent),
            ("1ex", Malformed::NoExponent),
            ("1e5x", Malformed::StrayLetter),
            ("1e5.5", Malformed::SecondPoint),
            ("12ab", Malformed::StrayLetter),
            ("1_", Malformed::StrayUnderscore),
            ("1__0", Malformed::StrayUnderscore),
            ("1_.5", Malformed::StrayUnderscore),
            ("0x_1", Malformed::StrayUnderscore),
            ("1é", Malformed::StrayLetter),
        ];
        for (text, reason) in expected {
            assert_eq!(value(text), Err(reason), "{text}");
        }
    }
}
