//! Saved sessions as bytes: a script, the bits of the variables, and a pack with checked
//! items and code.
//!
//! ```text
//! magic 8 | length 8 | checksum 8 | the script
//! format 4 | length 8 | checksum 8 | random numbers 32, then for each variable: name, bits 8
//! the pack, to the end
//! ```
//!
//! Numbers are little-endian. Every build of Kal finds the script; a build that does not
//! know the format of the rest runs that alone. The pack says itself of which script and by
//! which build it was made.

use crate::bytes::{Damage, Reader, Writer, checksum};

/// The magic number of a saved session. Its first byte is not valid UTF-8.
const MAGIC: &[u8; 8] = b"\xffKALSESS";

/// The format of what follows the script.
const FORMAT: u32 = 2;

/// What a session consists of.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SavedSession {
    /// A program that defines what is defined and declares what is declared.
    pub(crate) script: String,
    /// The values of this moment; `None` if the format is another one.
    pub(crate) values: Option<SavedValues>,
    /// The pack; empty if there is none.
    pub(crate) pack: Vec<u8>,
}

/// What a session has computed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SavedValues {
    /// The variables with the bits of their values.
    pub(crate) variables: Vec<(String, u64)>,
    /// Where random numbers go on.
    pub(crate) random: [u64; 4],
}

/// Returns whether bytes begin like a saved session; they may still be damaged.
pub(crate) fn is_session(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Returns a session as bytes, but for the pack.
pub(crate) fn beginning(script: &str, values: &SavedValues) -> Vec<u8> {
    let mut writer = Writer::with_room(64 + script.len());
    writer.bytes(MAGIC);
    part(&mut writer, script.as_bytes());
    writer.word(FORMAT);
    let mut written = Writer::default();
    values.random.iter().for_each(|word| written.long(*word));
    written.count(values.variables.len());
    for (name, bits) in &values.variables {
        written.text(name);
        written.long(*bits);
    }
    part(&mut writer, &written.finish());
    writer.finish()
}

impl SavedSession {
    /// Reads a session.
    ///
    /// # Errors
    /// What is damaged. A damaged pack is found by who reads it.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Damage> {
        let mut reader = Reader::new(bytes);
        reader.expect(is_session(bytes), "it does not begin like one")?;
        reader.bytes(MAGIC.len())?;
        let script = whole(&mut reader)?;
        let script =
            std::str::from_utf8(script).map_err(|_| reader.damage("a script that is no text"))?.to_owned();
        if reader.word()? != FORMAT {
            return Ok(Self { script, values: None, pack: Vec::new() });
        }
        let mut values = Reader::new(whole(&mut reader)?);
        let random = [values.long()?, values.long()?, values.long()?, values.long()?];
        let variables = values.many(|reader| Ok((reader.text()?.to_owned(), reader.long()?)))?.into();
        values.expect(values.rest().is_empty(), "bytes after the variables")?;
        Ok(Self { script, values: Some(SavedValues { variables, random }), pack: reader.rest().to_vec() })
    }
}

/// Writes bytes with their length and checksum.
fn part(writer: &mut Writer, bytes: &[u8]) {
    writer.long(bytes.len() as u64);
    writer.long(checksum(bytes));
    writer.bytes(bytes);
}

/// Reads bytes that were written so.
fn whole<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Damage> {
    let (length, sum) = (reader.long()?, reader.long()?);
    let length = usize::try_from(length).map_err(|_| reader.damage("wrong length"))?;
    let bytes = reader.bytes(length)?;
    reader.expect(sum == checksum(bytes), "bad checksum")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> SavedSession {
        let variables =
            vec![("größe".to_owned(), f64::NAN.to_bits() | 7), ("x".to_owned(), (-0.0_f64).to_bits())];
        let values = SavedValues { variables, random: [1, 2, 3, u64::MAX] };
        SavedSession { script: "var größe = 1\n".into(), values: Some(values), pack: vec![1, 2, 3] }
    }

    fn bytes_of(session: &SavedSession) -> Vec<u8> {
        let values = session.values.as_ref().expect("it has some");
        [beginning(&session.script, values), session.pack.clone()].concat()
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = bytes_of(&session());
        assert!(is_session(&bytes) && !is_session(b"def f(x) x"));
        assert_eq!(SavedSession::from_bytes(&bytes), Ok(session()));
    }

    #[test]
    fn a_later_format_leaves_the_script() {
        let mut bytes = bytes_of(&session());
        let at = MAGIC.len() + 16 + session().script.len();
        bytes[at] += 1;
        let read = SavedSession { values: None, pack: Vec::new(), ..session() };
        assert_eq!(SavedSession::from_bytes(&bytes), Ok(read));
    }

    #[test]
    fn whatever_is_changed_or_cut_off_before_the_pack_is_refused() {
        let bytes = bytes_of(&session());
        let format = MAGIC.len() + 16 + session().script.len();
        for at in (0..bytes.len() - 3).filter(|at| !(format..format + 4).contains(at)) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            assert!(SavedSession::from_bytes(&changed).is_err(), "byte {at}");
            assert!(SavedSession::from_bytes(&bytes[..at]).is_err(), "{at} bytes");
        }
    }
}
