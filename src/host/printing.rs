//! What `print` and `write` are made of: functions that write a part of a line.
//!
//! Their names have a blank, so that no program can call or define them. A text is passed
//! six bytes at a time: a double holds any whole number of so many bits, so that texts need
//! no memory beside the code, and take every way that numbers take.

use super::{Call, Callable, HostError, HostFunctions};
use crate::name::Names;
use crate::output::format_number;
use std::sync::Arc;

/// Writes bytes of a text, given by [`pieces`].
pub const TEXT: &str = "print text";

/// Writes `x` as a value is printed, in so many columns: `(x width)`.
pub const NUMBER: &str = "print number";

/// Writes `x` with so many digits behind the point: `(x digits width)`.
pub const FIXED: &str = "print fixed";

/// Writes `x` as `1.50e3`, with so many digits behind the point: `(x digits width)`.
pub const SCIENTIFIC: &str = "print sci";

/// Writes the blanks that text of so many columns lacks: `(width columns)`.
pub const BLANKS: &str = "print blanks";

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

/// Adds the functions to a table.
pub(super) fn add(hosts: &mut HostFunctions, names: &Names) {
    type Part = fn(&mut Call<'_>) -> Result<(), HostError>;
    let parts: [(&str, u32, Part); 5] = [
        (TEXT, 1, text),
        (NUMBER, 2, |call| {
            let (text, width) = (format_number(call.arguments[0]), call.arguments[1]);
            padded(call, &text, width)
        }),
        (FIXED, 3, |call| formatted(call, |x, digits| format!("{x:.digits$}"))),
        (SCIENTIFIC, 3, |call| formatted(call, |x, digits| format!("{x:.digits$e}"))),
        (BLANKS, 2, |call| {
            let [width, columns] = *call.arguments else { return Ok(()) };
            blanks(call, within(width, "a width")? - columns)
        }),
    ];
    for (name, arity, part) in parts {
        let function = move |call: &mut Call<'_>| part(call).map(|()| 0.0);
        let name = names.intern(name);
        hosts.insert(name, arity, Callable::Closure(Arc::new(function)));
        hosts.functions.entry(name).and_modify(|function| function.is_hidden = true);
    }
}

fn text(call: &mut Call<'_>) -> Result<(), HostError> {
    let number = call.arguments[0] as u64;
    let length = (number >> (8 * PIECE)) as usize;
    write(call, &number.to_le_bytes()[..length.min(PIECE)])
}

fn formatted(call: &mut Call<'_>, format: fn(f64, usize) -> String) -> Result<(), HostError> {
    let [x, digits, width] = *call.arguments else { return Ok(()) };
    let digits = within(digits, "a number of digits")?;
    if digits < 0.0 {
        return Err(HostError(format!("a number of digits is not negative: {}", format_number(digits))));
    }
    let text = if x.is_finite() { format(x, digits as usize) } else { format_number(x) };
    padded(call, &text, width)
}

/// Writes a number, after blanks if the width is positive, or before them.
fn padded(call: &mut Call<'_>, text: &str, width: f64) -> Result<(), HostError> {
    let (width, columns) = (within(width, "a width")?, text.len() as f64);
    blanks(call, width - columns)?;
    write(call, text.as_bytes())?;
    blanks(call, -width - columns)
}

fn blanks(call: &mut Call<'_>, count: f64) -> Result<(), HostError> {
    write(call, " ".repeat(count.max(0.0) as usize).as_bytes())
}

fn write(call: &mut Call<'_>, bytes: &[u8]) -> Result<(), HostError> {
    bytes.iter().try_for_each(|byte| call.output.byte(*byte))?;
    Ok(())
}

/// Returns the whole number nearest to 0 from `value`.
fn within(value: f64, what: &str) -> Result<f64, HostError> {
    if value.abs() <= MOST {
        return Ok(value.trunc());
    }
    Err(HostError(format!("{what} is a number up to {MOST}, not {}", format_number(value))))
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
