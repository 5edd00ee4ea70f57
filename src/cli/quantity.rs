//! Numbers with units, as options take them: counts, sizes, times.

use std::time::Duration;

/// Factors of counts.
const COUNTS: &[(&str, f64)] = &[("k", 1e3), ("M", 1e6), ("G", 1e9)];

/// Factors of sizes, in bytes.
const SIZES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", MIB),
    ("GiB", 1024.0 * MIB),
];

const MIB: f64 = 1024.0 * 1024.0;

/// Factors of times, in seconds.
const TIMES: &[(&str, f64)] =
    &[("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("min", 60.0), ("h", 3600.0), ("d", 86400.0)];

/// Why a text is not the quantity that an option takes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum QuantityError {
    /// How it is written.
    #[error("{0}")]
    Form(&'static str),
    #[error("a count is a whole number; {0}")]
    Fraction(&'static str),
    #[error("it must not be negative; {0}")]
    Negative(&'static str),
    #[error("unknown unit `{unit}`; the units are {}", .known.join(", "))]
    Unit { unit: String, known: Vec<&'static str> },
    #[error("the count is too large")]
    TooLarge,
    #[error("the count is larger than {}", u32::MAX)]
    NotSmall,
    #[error("no program fits in a depth of 0; the least is 1")]
    NoDepth,
    #[error("a stack has between 1MiB and 1024GiB")]
    Stack,
    #[error("the time is too long")]
    TooLong,
}

/// Parses a count: `1000`, `1_000`, `1e3`, `1k`.
pub(super) fn count(text: &str) -> Result<u64, QuantityError> {
    const EXAMPLES: &str = "a count is written 5000, 1e6, 1_000 or 100k";
    let value = quantity(text, COUNTS, 1.0, EXAMPLES)?;
    if value.fract() != 0.0 {
        return Err(QuantityError::Fraction(EXAMPLES));
    }
    // A float would round the last digits of a large count.
    if let Ok(exact) = text.replace('_', "").parse() {
        return Ok(exact);
    }
    // 2^64, the first that does not fit.
    if value >= 18_446_744_073_709_551_616.0 {
        return Err(QuantityError::TooLarge);
    }
    Ok(value as u64)
}

/// Parses a count of at most 4 294 967 295.
pub(super) fn small_count(text: &str) -> Result<u32, QuantityError> {
    u32::try_from(count(text)?).map_err(|_| QuantityError::NotSmall)
}

/// Parses a depth of nesting, which is at least one.
pub(super) fn depth(text: &str) -> Result<u32, QuantityError> {
    match small_count(text)? {
        0 => Err(QuantityError::NoDepth),
        depth => Ok(depth),
    }
}

/// Parses a size in bytes: `512MiB`, `1GB`; MiB without a unit.
pub(super) fn size(text: &str) -> Result<u64, QuantityError> {
    Ok(bytes(text)? as u64)
}

fn bytes(text: &str) -> Result<f64, QuantityError> {
    quantity(text, SIZES, MIB, "a size is written 512MiB or 1GB; without a unit it is in MiB")
}

/// Parses the size of a stack, in bytes, as any [size].
pub(super) fn stack_size(text: &str) -> Result<usize, QuantityError> {
    let size = bytes(text)?;
    if !(MIB..=1024.0 * 1024.0 * MIB).contains(&size) {
        return Err(QuantityError::Stack);
    }
    Ok(size as usize)
}

/// Parses a time: `2s`, `500ms`, `1.5m`; seconds without a unit.
pub(super) fn time(text: &str) -> Result<Duration, QuantityError> {
    let seconds = quantity(text, TIMES, 1.0, "a time is written 2s, 500ms, 1.5m or 1h")?;
    Duration::try_from_secs_f64(seconds).map_err(|_| QuantityError::TooLong)
}

/// Parses a number and its unit, which is a factor.
fn quantity(
    text: &str,
    units: &[(&'static str, f64)],
    without: f64,
    examples: &'static str,
) -> Result<f64, QuantityError> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let unit = &text[number.len()..];
    let factor = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => *factor,
        None if unit.is_empty() => without,
        None if number.is_empty() => return Err(QuantityError::Form(examples)),
        None => {
            let known = units.iter().map(|(name, _)| *name).collect();
            return Err(QuantityError::Unit { unit: unit.to_owned(), known });
        }
    };
    let between_digits = !number.starts_with('_') && !number.ends_with('_') && !number.contains("__");
    let value: f64 = match number.replace('_', "").parse() {
        Ok(value) if between_digits => value,
        Ok(_) | Err(_) => return Err(QuantityError::Form(examples)),
    };
    if value < 0.0 {
        return Err(QuantityError::Negative(examples));
    }
    Ok(value * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<T: std::fmt::Debug>(parsed: Result<T, QuantityError>) -> String {
        parsed.expect_err("it is wrong").to_string()
    }

    #[test]
    fn counts() {
        let cases = [
            ("0", 0),
            ("1_000", 1000),
            ("1e6", 1_000_000),
            ("100k", 100_000),
            ("1.5k", 1500),
            ("2M", 2_000_000),
            ("3G", 3_000_000_000),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, value) in cases {
            assert_eq!(count(text), Ok(value), "{text}");
        }
        assert_eq!(small_count("4294967295"), Ok(u32::MAX));
        assert_eq!(said(depth("0")), "no program fits in a depth of 0; the least is 1");
        assert_eq!(depth("1"), Ok(1));
        assert_eq!(said(small_count("4294967296")), "the count is larger than 4294967295");
    }

    #[test]
    fn sizes_and_times() {
        let sizes = [("256", 256 << 20), ("512MiB", 512 << 20), ("1GB", 1_000_000_000), ("1.5GiB", 3 << 29)];
        for (text, bytes) in sizes {
            assert_eq!(stack_size(text), Ok(bytes), "{text}");
        }
        let times =
            [("2", 2000), ("2s", 2000), ("500ms", 500), ("1.5m", 90_000), ("1h", 3_600_000), ("1e-1", 100)];
        for (text, milliseconds) in times {
            assert_eq!(time(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let counts = "a count is written 5000, 1e6, 1_000 or 100k";
        let times = "a time is written 2s, 500ms, 1.5m or 1h";
        for (text, message) in [
            ("many", counts.to_owned()),
            ("", counts.to_owned()),
            ("1__0", counts.to_owned()),
            ("_1", counts.to_owned()),
            ("nan", counts.to_owned()),
            ("1.5", format!("a count is a whole number; {counts}")),
            ("-1", format!("it must not be negative; {counts}")),
            ("10x", "unknown unit `x`; the units are k, M, G".to_owned()),
            ("1e30", "the count is too large".to_owned()),
        ] {
            assert_eq!(said(count(text)), message, "{text}");
        }
        assert_eq!(said(time("-1s")), format!("it must not be negative; {times}"));
        assert_eq!(said(time("2y")), "unknown unit `y`; the units are us, ms, s, m, min, h, d");
        assert_eq!(said(time("1e30")), "the time is too long");
        assert_eq!(said(stack_size("0")), "a stack has between 1MiB and 1024GiB");
    }
}
