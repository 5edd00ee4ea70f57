//! Fingerprints: what something is, in 32 bytes.
//!
//! A fingerprint is the BLAKE3 hash of a canonical encoding, in which names are
//! text and numbers are bits. So it is the same in every context, process and
//! machine, and different things have different ones: 2^128 of them would have
//! to be tried to find two that are alike.

use crate::bytes::Writer;
use std::fmt::{self, Write as _};

/// The identity of something, from what it consists of.
///
/// As text, it is 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The identity of this build of Kal, from all its sources, the compilers,
    /// the target and the features. What one build stores, another may not read.
    pub const BUILD: Self = Self(decoded(env!("KAL_BUILD_ID").as_bytes()));

    /// Returns the fingerprint of what an encoding says. `kind` separates
    /// encodings of different things, which might be the same bytes.
    pub(crate) fn of(kind: &str, encoding: Writer) -> Self {
        // The length at the end tells where the kind begins.
        let mut writer = encoding;
        let length = writer.len() as u64;
        writer.bytes(kind.as_bytes());
        writer.long(length);
        Self(blake3::hash(&writer.finish()).into())
    }

    /// Returns the fingerprint of bytes.
    pub(crate) fn of_bytes(kind: &str, bytes: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(bytes).update(kind.as_bytes()).update(&(bytes.len() as u64).to_le_bytes());
        Self(hasher.finalize().into())
    }

    /// Returns the fingerprint with these bytes.
    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Returns the bytes of 64 hexadecimal digits.
const fn decoded(digits: &[u8]) -> [u8; 32] {
    const fn value(digit: u8) -> u8 {
        match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => panic!("the build script writes hexadecimal digits"),
        }
    }
    let mut bytes = [0; 32];
    let mut index = 0;
    while index < bytes.len() {
        bytes[index] = value(digits[2 * index]) << 4 | value(digits[2 * index + 1]);
        index += 1;
    }
    bytes
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
        let mut digits = self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        digits.try_for_each(|digit| f.write_char(digit))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_depends_on_the_kind_and_on_every_byte() {
        let of = |kind: &str, text: &str| {
            let mut writer = Writer::default();
            writer.text(text);
            Fingerprint::of(kind, writer)
        };
        assert_eq!(of("a", "x"), of("a", "x"));
        assert_ne!(of("a", "x"), of("b", "x"));
        assert_ne!(of("a", "x"), of("a", "y"));
        assert_eq!(of("a", "x").to_string().len(), 64);
    }

    #[test]
    fn the_build_is_what_the_build_script_says() {
        assert_eq!(Fingerprint::BUILD.to_string(), env!("KAL_BUILD_ID"));
    }
}
