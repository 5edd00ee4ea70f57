//! The checked text in a pack's file, if it is large.

use crate::bytes::{Damage, Parts};
use crate::world::LazyTable;
use std::borrow::Cow;
use std::ops::Range;

/// The bytes that are read and hashed together.
const PIECE: usize = 16 << 10;

/// The bytes that are read together, when all are checked.
const STRETCH: usize = 16 * PIECE;

/// The size up to which a text is read as a whole, in bytes.
const SMALL: u64 = 256 << 10;

/// Fills a buffer with what is in a file from an offset on; `None` if that is not there.
pub type ReadAt = Box<dyn Fn(&mut [u8], u64) -> Option<()> + Send + Sync>;

/// A text in a file. All of it has been checked once, and each piece is checked again when
/// it is read to be used.
pub(super) struct FileText {
    read: ReadAt,
    /// Where it begins in the file, and how long it is.
    start: u64,
    len: usize,
    hashes: Box<[blake3::Hash]>,
    pieces: LazyTable<Box<[u8]>>,
}

/// Returns whether a text of that many bytes is left in its file.
pub(super) fn is_large(bytes: u64) -> bool {
    bytes > SMALL
}

/// Returns the hash of a text: that of the hashes of its pieces.
pub(super) fn hash(text: &[u8]) -> blake3::Hash {
    let mut whole = blake3::Hasher::new();
    for piece in text.chunks(PIECE) {
        whole.update(blake3::hash(piece).as_bytes());
    }
    whole.finalize()
}

impl FileText {
    /// Checks a text in a file.
    ///
    /// # Errors
    /// When it does not have that hash.
    pub(super) fn check(read: ReadAt, start: u64, bytes: u64, hash: blake3::Hash) -> Result<Self, Damage> {
        let missing = Damage { what: "a section beyond the end", at: 0 };
        let len = usize::try_from(bytes).map_err(|_| missing)?;
        let (mut whole, mut hashes) = (blake3::Hasher::new(), Vec::new());
        let mut stretch = vec![0; STRETCH];
        for at in (0..len).step_by(STRETCH) {
            let stretch = &mut stretch[..STRETCH.min(len - at)];
            read(stretch, start + at as u64).ok_or(missing)?;
            for piece in stretch.chunks(PIECE) {
                let hash = blake3::hash(piece);
                whole.update(hash.as_bytes());
                hashes.push(hash);
            }
        }
        if whole.finalize() != hash {
            return Err(Damage { what: "a damaged section", at: 0 });
        }
        let pieces = LazyTable::new(hashes.len());
        Ok(Self { read, start, len, hashes: hashes.into(), pieces })
    }

    fn piece(&self, number: usize) -> Option<&[u8]> {
        let read = || {
            let at = number * PIECE;
            let mut bytes = vec![0; PIECE.min(self.len - at)].into_boxed_slice();
            (self.read)(&mut bytes, self.start + at as u64).ok_or(())?;
            if blake3::hash(&bytes) == self.hashes[number] { Ok(bytes) } else { Err(()) }
        };
        self.pieces.get_or_make(number, read).map(|piece| &**piece)
    }
}

impl Parts for FileText {
    fn len(&self) -> usize {
        self.len
    }

    fn part(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        if range.start > range.end || range.end > self.len {
            return None;
        }
        let (first, from) = (range.start / PIECE, range.start % PIECE);
        if range.is_empty() {
            return Some(Cow::Borrowed(&[]));
        }
        if range.end <= (first + 1) * PIECE {
            return Some(Cow::Borrowed(self.piece(first)?.get(from..from + range.len())?));
        }
        let mut bytes = Vec::with_capacity(range.len());
        for number in first..range.end.div_ceil(PIECE) {
            let piece = self.piece(number)?;
            let until = piece.len().min(range.end - number * PIECE);
            bytes.extend_from_slice(piece.get(if number == first { from } else { 0 }..until)?);
        }
        Some(Cow::Owned(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::sync::Arc;

    /// Returns a way to read these bytes, which are after seven others.
    fn reader(file: &Arc<Mutex<Vec<u8>>>) -> ReadAt {
        let file = file.clone();
        Box::new(move |buffer, at| {
            let at = usize::try_from(at).ok()?.checked_sub(7)?;
            buffer.copy_from_slice(file.lock().get(at..at + buffer.len())?);
            Some(())
        })
    }

    #[test]
    fn parts_of_a_text_are_what_is_there() {
        for len in [0, 1, PIECE - 1, PIECE, STRETCH, 2 * STRETCH + PIECE + 5] {
            let bytes: Vec<u8> = (0..len).map(|at| (at * 31 / 7) as u8).collect();
            let file = Arc::new(Mutex::new(bytes.clone()));
            let text = FileText::check(reader(&file), 7, len as u64, hash(&bytes)).expect("it is whole");
            assert_eq!(Parts::len(&text), len);
            let places = [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, len / 2, len.saturating_sub(1), len];
            for start in places {
                for end in places {
                    let expected = bytes.get(start..end);
                    assert_eq!(text.part(start..end).as_deref(), expected, "{start}..{end} of {len}");
                }
            }
            assert_eq!(text.part(0..len + 1), None);
        }
    }

    #[test]
    fn a_text_that_changes_is_refused_at_once_or_when_it_is_used() {
        let bytes = vec![5; 3 * STRETCH];
        let file = Arc::new(Mutex::new(bytes.clone()));
        let check = |len: u64| FileText::check(reader(&file), 7, len, hash(&bytes));
        let text = check(bytes.len() as u64).expect("it is whole");
        assert!(check(bytes.len() as u64 + 1).is_err() && check(bytes.len() as u64 - 1).is_err());
        assert_eq!(text.part(0..3).as_deref(), Some(&[5; 3][..]));
        file.lock()[2 * PIECE + 1] ^= 1;
        assert!(check(bytes.len() as u64).is_err());
        assert_eq!(text.part(PIECE..2 * PIECE).as_deref(), bytes.get(..PIECE));
        assert_eq!(text.part(2 * PIECE..2 * PIECE + 1), None);
        assert_eq!(text.part(PIECE..3 * PIECE), None);
        file.lock().truncate(4 * PIECE);
        assert_eq!(text.part(4 * PIECE..4 * PIECE + 1), None);
        // What has been read stays.
        assert_eq!(text.part(1..3).as_deref(), Some(&[5; 2][..]));
    }
}
