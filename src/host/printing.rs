//! What `print` and `write` are made of: functions that write a part of a line.
//!
//! Their names have a blank, so that no program can call or define them. A text is passed
//! six bytes at a time: a double holds any whole number of 51 bits, so texts need no memory
//! beside the code, and go wherever numbers go.

use super::decimal::format_number;
use super::sink::{HostError, Output};
use crate::float_environment::as_host;

/// Writes bytes of a text, given by [`pieces`].
pub const TEXT: &str = "print text";

/// Writes `x` as a value is printed, in `width` columns: `(x width)`.
pub const NUMBER: &str = "print number";

/// Writes `x` with `digits` digits behind the point: `(x digits width)`.
pub const FIXED: &str = "print fixed";

/// Writes `x` as `1.50e3`, with `digits` digits behind the point: `(x digits width)`.
pub const SCIENTIFIC: &str = "print sci";

/// Writes the blanks by which `width` exceeds `columns`: `(width columns)`.
pub const BLANKS: &str = "print pad";

/// Writes nothing; fails where one of the functions above would: `(digits width)`.
pub const CHECK: &str = "print check";

/// The bytes of a text that a number holds.
const PIECE: usize = 6;

/// The most columns and digits.
const MOST: f64 = 1000.0;

/// Returns the numbers that a text is passed as.
pub fn pieces(text: &[u8]) -> impl Iterator<Item = f64> {
    text.chunks(PIECE).map(|piece| {
        let bytes = piece.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        ((piece.len() as u64) << (8 * PIECE) | bytes) as f64
    })
}

/// A function that writes a part: where it writes, and its arguments.
pub(super) type PartWriter = fn(&mut dyn Output, &[f64]) -> Result<(), HostError>;

/// The functions, with their numbers of arguments.
pub(super) const PARTS: &[(&str, u32, PartWriter)] = &[
    (TEXT, 1, |output, arguments| {
        let number = arguments[0] as u64;
        let length = (number >> (8 * PIECE)) as usize;
        write(output, &number.to_le_bytes()[..length.min(PIECE)])
    }),
    (NUMBER, 2, |output, arguments| padded(output, &format_number(arguments[0]), arguments[1])),
    (FIXED, 3, |output, arguments| formatted(output, arguments, |x, digits| format!("{x:.digits$}"))),
    (SCIENTIFIC, 3, |output, arguments| formatted(output, arguments, |x, digits| format!("{x:.digits$e}"))),
    (BLANKS, 2, |output, arguments| blanks(output, width(arguments[0])? - arguments[1])),
    (CHECK, 2, |_, arguments| digits(arguments[0]).and_then(|_| width(arguments[1])).map(drop)),
];

/// Returns whether a number of digits is one that [`FIXED`] takes.
pub fn are_digits(value: f64) -> bool {
    digits(value).is_ok()
}

/// Returns whether a width is one that [`NUMBER`] takes.
pub fn is_width(value: f64) -> bool {
    width(value).is_ok()
}

/// Returns whether a name is that of such a function.
pub(crate) fn is_part(name: &str) -> bool {
    PARTS.iter().any(|(part, ..)| *part == name)
}

fn formatted(
    output: &mut dyn Output,
    arguments: &[f64],
    format: fn(f64, usize) -> String,
) -> Result<(), HostError> {
    let [x, count, width] = *arguments else { return Ok(()) };
    let digits = digits(count)?;
    let text = if x.is_finite() { format(x, digits as usize) } else { format_number(x) };
    padded(output, &text, width)
}

fn digits(value: f64) -> Result<f64, HostError> {
    match within(value, "a number of digits")? {
        digits if digits < 0.0 => {
            Err(HostError(format!("a number of digits is not negative: {}", format_number(digits))))
        }
        digits => Ok(digits),
    }
}

fn width(value: f64) -> Result<f64, HostError> {
    within(value, "a width")
}

/// Writes a number, after blanks if the width is positive, or before them.
fn padded(output: &mut dyn Output, text: &str, value: f64) -> Result<(), HostError> {
    let (width, columns) = (width(value)?, text.len() as f64);
    blanks(output, width - columns)?;
    write(output, text.as_bytes())?;
    blanks(output, -width - columns)
}

fn blanks(output: &mut dyn Output, count: f64) -> Result<(), HostError> {
    write(output, " ".repeat(count.max(0.0) as usize).as_bytes())
}

fn write(output: &mut dyn Output, bytes: &[u8]) -> Result<(), HostError> {
    as_host(|| bytes.iter().try_for_each(|byte| output.byte(*byte)))?;
    Ok(())
}

/// Returns a whole number.
fn within(value: f64, what: &str) -> Result<f64, HostError> {
    if value.abs() <= MOST && value.fract() == 0.0 {
        return Ok(value);
    }
    Err(HostError(format!("{what} is a whole number up to {MOST}, not {}", format_number(value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_passed_in_whole_numbers() {
        for text in ["", "a", "abcdef", "abcdefg", "größe\n\u{1F600}", "\u{7f}\u{7ff}"] {
            let mut bytes = Vec::new();
            for number in pieces(text.as_bytes()) {
                assert!(number < 2_f64.powi(53) && number.fract() == 0.0, "{number}");
                let number = number as u64;
                bytes.extend_from_slice(&number.to_le_bytes()[..(number >> 48) as usize]);
            }
            assert_eq!(bytes, text.as_bytes());
        }
    }
}
