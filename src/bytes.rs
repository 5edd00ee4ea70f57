//! Numbers and texts as bytes, and back.
//!
//! Input may be damaged or forged: a [`Reader`] returns an error for anything
//! it cannot read, and never trusts the bytes about how much memory something
//! needs.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are read in parts, when they are needed.
pub trait Parts: Send + Sync {
    /// Returns how many there are.
    fn len(&self) -> usize;

    /// Returns those in a range; `None` if they are not all there.
    fn part(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>>;

    /// Returns all of them; `None` if they are not all there.
    fn all(&self) -> Option<Vec<u8>> {
        self.part(0..self.len()).map(Cow::into_owned)
    }
}

/// Bytes that are read in parts, and that others keep as well.
pub type SharedParts = Arc<dyn Parts>;

impl Parts for Vec<u8> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn part(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        self.get(range).map(Cow::Borrowed)
    }
}

/// Bytes that others keep as well.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Bytes that belong to one value, or a part of bytes that others keep as well.
pub enum StoredBytes {
    /// All of these.
    Own(Vec<u8>),
    /// A part of these.
    Part(SharedBytes, Range<usize>),
}

impl StoredBytes {
    /// Returns a part of shared bytes; `None` if it goes beyond their end.
    pub fn part(whole: &SharedBytes, range: Range<usize>) -> Option<Self> {
        (**whole).as_ref().get(range.clone())?;
        Some(Self::Part(whole.clone(), range))
    }

    /// Returns the bytes.
    pub fn get(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Part(whole, range) => &(**whole).as_ref()[range.clone()],
        }
    }
}

impl From<Vec<u8>> for StoredBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Own(bytes)
    }
}

/// An error in stored bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    /// What is wrong.
    pub what: &'static str,
    /// The offset after the last byte that was read.
    pub at: usize,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.what, self.at)
    }
}

impl std::error::Error for Damage {}

/// A buffer that values are written to, as bytes.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Creates a buffer with room for that number of bytes.
    pub fn with_room(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Returns the bytes that have been written.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// Returns how many bytes have been written.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes one byte.
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Writes a number, small ones shorter: seven bits a byte, low ones first.
    pub fn number(&mut self, number: u32) {
        let mut rest = number;
        while rest >= 0x80 {
            self.0.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
    }

    /// Writes the count of things that follow.
    pub fn count(&mut self, count: usize) {
        self.number(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Writes four bytes, low first.
    pub fn word(&mut self, word: u32) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }

    /// Writes eight bytes, low first.
    pub fn long(&mut self, long: u64) {
        self.0.extend_from_slice(&long.to_le_bytes());
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Writes a text with its length.
    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes(text.as_bytes());
    }
}

/// A cursor over stored bytes, which values are read from.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns an error at this place.
    pub fn damage(&self, what: &'static str) -> Damage {
        Damage { what, at: self.at }
    }

    /// Returns an error at this place unless `holds`.
    pub fn expect(&self, holds: bool, what: &'static str) -> Result<(), Damage> {
        if holds { Ok(()) } else { Err(self.damage(what)) }
    }

    /// Returns what has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Reads `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let bytes = self.rest().get(..count).ok_or(self.damage("unexpected end"))?;
        self.at += count;
        Ok(bytes)
    }

    /// Reads one byte.
    pub fn byte(&mut self) -> Result<u8, Damage> {
        Ok(self.bytes(1)?[0])
    }

    /// Reads a number; there is one way to write each.
    pub fn number(&mut self) -> Result<u32, Damage> {
        let (mut number, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                let is_shortest = byte > 0 || shift == 7;
                let number = u32::try_from(number).ok().filter(|_| is_shortest);
                return number.ok_or(self.damage("malformed number"));
            }
            self.expect(shift < 35, "number too long")?;
        }
    }

    /// Reads the count of things that follow, each of at least one byte.
    pub fn count(&mut self) -> Result<usize, Damage> {
        let count = self.number()? as usize;
        self.expect(count <= self.rest().len(), "too few bytes")?;
        Ok(count)
    }

    /// Reads a count, then as many things.
    pub fn many<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, Damage>,
    ) -> Result<Box<[T]>, Damage> {
        let count = self.count()?;
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(one(self)?);
        }
        Ok(all.into_boxed_slice())
    }

    /// Reads four bytes, low first.
    pub fn word(&mut self) -> Result<u32, Damage> {
        let bytes = self.bytes(4)?;
        Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)))
    }

    /// Reads eight bytes, low first.
    pub fn long(&mut self) -> Result<u64, Damage> {
        let bytes = self.bytes(8)?;
        Ok(bytes.iter().rev().fold(0, |long, byte| long << 8 | u64::from(*byte)))
    }

    /// Reads a text with its length.
    pub fn text(&mut self) -> Result<&'a str, Damage> {
        let count = self.count()?;
        let bytes = self.bytes(count)?;
        std::str::from_utf8(bytes).map_err(|_| self.damage("source is not UTF-8"))
    }
}

/// Returns the FNV-1a hash, 64 bits: it detects any change of a single byte.
pub fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut writer = Writer::default();
        for number in [0, 1, 127, 128, 300, 1 << 21, u32::MAX] {
            writer.number(number);
            writer.word(number);
            writer.long(u64::from(number) << 13);
        }
        writer.text("größe");
        let bytes = writer.finish();
        let mut reader = Reader::new(&bytes);
        for number in [0, 1, 127, 128, 300, 1 << 21, u32::MAX] {
            assert_eq!((reader.number(), reader.word()), (Ok(number), Ok(number)));
            assert_eq!(reader.long(), Ok(u64::from(number) << 13));
        }
        assert_eq!((reader.text(), reader.rest()), (Ok("größe"), &[][..]));
        assert!(reader.byte().is_err());
    }

    #[test]
    fn what_was_never_written_is_refused() {
        for bytes in [&[0x80, 0][..], &[0xff; 5], &[0xff; 9], &[]] {
            assert!(Reader::new(bytes).number().is_err(), "{bytes:?}");
        }
        assert!(Reader::new(&[3, b'a', b'b']).text().is_err());
        assert!(Reader::new(&[2, 0xff, 0xff]).text().is_err());
        assert!(Reader::new(&[200, 200, 3, 1]).many(Reader::byte).is_err());
    }
}
