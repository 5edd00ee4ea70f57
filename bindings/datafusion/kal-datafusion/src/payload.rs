//! How a function travels: its definitions as text, and what they have to compute.
//!
//! ```text
//! KALUDF  version  id        definitions
//! 6 bytes 1 byte   32 bytes  UTF-8 to the end
//! ```
//!
//! There is no code in it. The id is that of [`kal::Kernel::id`], which the receiver computes
//! again from the definitions.

use std::fmt;
use std::str;

const MAGIC: &[u8] = b"KALUDF";
const VERSION: u8 = 1;
const ID: usize = 32;

/// The longest definitions that are sent or accepted, in bytes.
pub(crate) const LONGEST: usize = 1 << 20;

/// A function as it travels.
#[derive(PartialEq, Debug)]
pub(crate) struct Payload<'a> {
    pub(crate) id: [u8; ID],
    /// The last one is the function.
    pub(crate) definitions: &'a str,
}

/// Why bytes are no function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BadPayload {
    NewerVersion(u8),
    Truncated,
    TooLong(usize),
    NoText,
}

impl fmt::Display for BadPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewerVersion(version) => {
                write!(f, "it has format {version}, and this version of Kal reads format {VERSION}")
            }
            Self::Truncated => f.write_str("it is cut off"),
            Self::TooLong(bytes) => write!(f, "it has {bytes} bytes, of {LONGEST} at most"),
            Self::NoText => f.write_str("its definitions are not UTF-8"),
        }
    }
}

impl<'a> Payload<'a> {
    /// Returns whether bytes begin as a function of Kal does.
    pub(crate) fn is_in(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Appends it to a buffer.
    pub(crate) fn write(&self, buffer: &mut Vec<u8>) -> Result<(), BadPayload> {
        if self.definitions.len() > LONGEST {
            return Err(BadPayload::TooLong(self.definitions.len()));
        }
        buffer.extend_from_slice(MAGIC);
        buffer.push(VERSION);
        buffer.extend_from_slice(&self.id);
        buffer.extend_from_slice(self.definitions.as_bytes());
        Ok(())
    }

    /// Reads it from bytes that begin as one does.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, BadPayload> {
        let (version, rest) =
            bytes.get(MAGIC.len()..).and_then(<[u8]>::split_first).ok_or(BadPayload::Truncated)?;
        if *version != VERSION {
            return Err(BadPayload::NewerVersion(*version));
        }
        let (id, definitions) = rest.split_first_chunk::<ID>().ok_or(BadPayload::Truncated)?;
        if definitions.len() > LONGEST {
            return Err(BadPayload::TooLong(definitions.len()));
        }
        let definitions = str::from_utf8(definitions).map_err(|_| BadPayload::NoText)?;
        Ok(Self { id: *id, definitions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        let sent = Payload { id: [7; 32], definitions: "def f(x) x # ä" };
        sent.write(&mut bytes).unwrap();
        assert!(Payload::is_in(&bytes));
        assert_eq!(Payload::read(&bytes), Ok(sent));
    }

    #[test]
    fn what_is_damaged_is_refused_and_the_error_says_how() {
        let mut bytes = Vec::new();
        Payload { id: [7; 32], definitions: "def f(x) x" }.write(&mut bytes).unwrap();
        for length in MAGIC.len()..MAGIC.len() + 1 + ID {
            assert_eq!(Payload::read(&bytes[..length]), Err(BadPayload::Truncated), "{length}");
        }
        let mut newer = bytes.clone();
        newer[MAGIC.len()] = 2;
        assert_eq!(Payload::read(&newer), Err(BadPayload::NewerVersion(2)));
        bytes.push(0xFF);
        assert_eq!(Payload::read(&bytes), Err(BadPayload::NoText));
        let long = "x".repeat(LONGEST + 1);
        let written = Payload { id: [7; 32], definitions: &long }.write(&mut Vec::new());
        assert_eq!(written, Err(BadPayload::TooLong(LONGEST + 1)));
    }
}
