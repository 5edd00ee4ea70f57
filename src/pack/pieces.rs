//! Sections of a pack that are left in its file: code and a text, if they are large, and what is
//! between these.

use super::portable::ALIGNMENT;
use crate::bytes::{Damage, Parts};
use crate::process::SteadyCell;
use crate::world::LazyTable;
use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

/// How many bytes of a section are read and hashed together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PieceSize(usize);

impl PieceSize {
    /// Of code, which is mostly read as a whole: hashing that many at once is quickest.
    pub(super) const OF_CODE: Self = Self(16 << 10);
    /// Of a text, of which a little is read here and there.
    pub(super) const OF_TEXT: Self = Self(4 << 10);

    /// Returns the hashes of the pieces of a section.
    pub(super) fn hashes(self, section: &[u8]) -> Vec<u8> {
        section.chunks(self.0).flat_map(|piece| *blake3::hash(piece).as_bytes()).collect()
    }

    /// Returns how many bytes the hashes of a section of that many bytes have.
    pub(super) fn hash_bytes(self, bytes: u64) -> usize {
        usize::try_from(bytes.div_ceil(self.0 as u64)).unwrap_or(usize::MAX / 64) * 32
    }

    /// Returns the hash of a section that may be left in its file: that of the hashes of its pieces.
    pub(super) fn hash(self, section: &[u8]) -> blake3::Hash {
        blake3::hash(&self.hashes(section))
    }
}

/// The bytes that are read together, when all are checked: whole pieces of each size.
const STRETCH: usize = 16 * PieceSize::OF_CODE.0;

const MISSING: Damage = Damage { what: "a section beyond the end", at: 0 };
const DAMAGED: Damage = Damage { what: "a damaged section", at: 0 };

/// Fills a buffer with what is in a file from an offset on; `None` if that is not there.
pub type ReadAt = Box<dyn Fn(&mut [u8], u64) -> Option<()> + Send + Sync>;

/// What the table of sections says of one.
#[derive(Clone, Copy)]
pub(super) struct SectionEntry {
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) hash: blake3::Hash,
}

impl SectionEntry {
    /// Returns how long the section is; `None` if it goes beyond the end of a file of that length.
    fn len_within(&self, file_len: u64) -> Option<usize> {
        let is_there = self.start.checked_add(self.bytes).is_some_and(|end| end <= file_len);
        usize::try_from(self.bytes).ok().filter(|_| is_there)
    }
}

/// A section in a file. Each piece is checked when it is read to be used.
pub(super) struct FileSection {
    read: Arc<ReadAt>,
    /// Where it begins in the file, and how long it is.
    start: u64,
    len: usize,
    size: PieceSize,
    hashes: Box<[blake3::Hash]>,
    pieces: LazyTable<Box<[u8]>>,
}

/// A section that is being written, and hashed by pieces.
pub(super) struct SectionWriter<'f, F> {
    file: &'f mut F,
    /// What has not been written: less than a stretch.
    rest: Vec<u8>,
    /// How many bytes it has.
    len: usize,
    size: PieceSize,
    hashes: Vec<u8>,
}

impl<'f, F: Write> SectionWriter<'f, F> {
    /// Begins one of that many bytes.
    pub(super) fn new(file: &'f mut F, size: PieceSize, bytes: usize) -> Self {
        let hashes = Vec::with_capacity(size.hash_bytes(bytes as u64));
        Self { file, rest: Vec::with_capacity(bytes.min(STRETCH)), len: 0, size, hashes }
    }

    /// Adds zeros up to where code may begin.
    pub(super) fn align(&mut self) -> io::Result<()> {
        let missing = self.len.next_multiple_of(ALIGNMENT) - self.len;
        self.write(&[0; ALIGNMENT][..missing])
    }

    /// Adds bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.len += bytes.len();
        let mut bytes = bytes;
        if !self.rest.is_empty() || bytes.len() < STRETCH {
            let (first, others) = bytes.split_at(bytes.len().min(STRETCH - self.rest.len()));
            self.rest.extend_from_slice(first);
            bytes = others;
            if self.rest.len() == STRETCH {
                let full = std::mem::take(&mut self.rest);
                self.pass_on(&full)?;
                self.rest = full;
                self.rest.clear();
            }
        }
        let (stretches, rest) = bytes.split_at(bytes.len() / STRETCH * STRETCH);
        self.rest.extend_from_slice(rest);
        stretches.chunks(STRETCH).try_for_each(|stretch| self.pass_on(stretch))
    }

    fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hashes.extend(self.size.hashes(bytes));
        self.file.write_all(bytes)
    }

    /// Writes the rest; returns the hashes of its pieces.
    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        let rest = std::mem::take(&mut self.rest);
        self.pass_on(&rest)?;
        Ok(self.hashes)
    }
}

impl FileSection {
    /// Finds a section in a file of that length by the hashes of its pieces.
    ///
    /// # Errors
    /// When it goes beyond the end, or these are not its hashes.
    pub(super) fn find(
        read: Arc<ReadAt>,
        section: SectionEntry,
        size: PieceSize,
        file_len: u64,
        hashes: &[u8],
    ) -> Result<Self, Damage> {
        let len = section.len_within(file_len).ok_or(MISSING)?;
        let (hashes, rest) = hashes.as_chunks();
        let hashes: Box<[_]> = hashes.iter().map(|hash| blake3::Hash::from_bytes(*hash)).collect();
        if !rest.is_empty() || hashes.len() != len.div_ceil(size.0) {
            return Err(DAMAGED);
        }
        Self::of_hashes(read, section, size, len, hashes)
    }

    /// Checks all of a section in a file.
    ///
    /// # Errors
    /// When it does not have that hash.
    pub(super) fn check(read: Arc<ReadAt>, section: SectionEntry, size: PieceSize) -> Result<Self, Damage> {
        let len = usize::try_from(section.bytes).map_err(|_| MISSING)?;
        let hashes = Self::hashes(&read, section.start, size, len).ok_or(MISSING)?;
        Self::of_hashes(read, section, size, len, hashes.into())
    }

    /// Returns a section of that length, if these are the hashes of its pieces.
    fn of_hashes(
        read: Arc<ReadAt>,
        section: SectionEntry,
        size: PieceSize,
        len: usize,
        hashes: Box<[blake3::Hash]>,
    ) -> Result<Self, Damage> {
        if hash_of(&hashes) != section.hash {
            return Err(DAMAGED);
        }
        let pieces = LazyTable::new(hashes.len());
        Ok(Self { read, start: section.start, len, size, hashes, pieces })
    }

    /// Returns the hashes of the pieces as they are in the file now; `None` if they are not
    /// there.
    fn hashes(read: &ReadAt, start: u64, size: PieceSize, len: usize) -> Option<Vec<blake3::Hash>> {
        let (mut hashes, mut stretch) = (Vec::new(), vec![0; STRETCH]);
        for at in (0..len).step_by(STRETCH) {
            let stretch = &mut stretch[..STRETCH.min(len - at)];
            read(stretch, start + at as u64)?;
            hashes.extend(stretch.chunks(size.0).map(blake3::hash));
        }
        Some(hashes)
    }

    /// Returns whether all of it is as it should be.
    #[cfg(any(test, feature = "cli"))]
    pub(super) fn is_whole(&self) -> bool {
        Self::hashes(&self.read, self.start, self.size, self.len)
            .is_some_and(|hashes| *hashes == *self.hashes)
    }

    /// Copies all of it to memory of its size. Returns whether it is not damaged.
    pub(super) fn copy(&self, memory: &mut [u8]) -> bool {
        let is_read = memory.len() == self.len && (self.read)(memory, self.start).is_some();
        is_read
            && memory.chunks(self.size.0).zip(&self.hashes).all(|(piece, hash)| blake3::hash(piece) == *hash)
    }

    fn piece(&self, number: usize) -> Option<&[u8]> {
        let read = || {
            let at = number * self.size.0;
            let mut bytes = vec![0; self.size.0.min(self.len - at)].into_boxed_slice();
            (self.read)(&mut bytes, self.start + at as u64).ok_or(())?;
            if blake3::hash(&bytes) == self.hashes[number] { Ok(bytes) } else { Err(()) }
        };
        self.pieces.get_or_make(number, read).map(|piece| &**piece)
    }
}

/// A section in a file that is read as a whole when it is first needed, and checked then.
pub(super) struct LateSection {
    read: Arc<ReadAt>,
    start: u64,
    len: usize,
    hash: blake3::Hash,
    /// Nothing if it is damaged.
    contents: SteadyCell<Option<Box<[u8]>>>,
}

impl LateSection {
    /// Finds a section in a file of that length.
    ///
    /// # Errors
    /// When it goes beyond the end.
    pub(super) fn find(read: Arc<ReadAt>, section: SectionEntry, file_len: u64) -> Result<Self, Damage> {
        let SectionEntry { start, hash, .. } = section;
        let len = section.len_within(file_len).ok_or(MISSING)?;
        Ok(Self { read, start, len, hash, contents: SteadyCell::new() })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns what is in it; `None` if it is damaged.
    pub(super) fn get(&self) -> Option<&[u8]> {
        let read = || {
            let mut contents = vec![0; self.len].into_boxed_slice();
            (self.read)(&mut contents, self.start)?;
            (blake3::hash(&contents) == self.hash).then_some(contents)
        };
        self.contents.get_or_make(read).as_deref()
    }
}

fn hash_of(hashes: &[blake3::Hash]) -> blake3::Hash {
    let mut whole = blake3::Hasher::new();
    hashes.iter().for_each(|hash| _ = whole.update(hash.as_bytes()));
    whole.finalize()
}

impl Parts for FileSection {
    fn len(&self) -> usize {
        self.len
    }

    fn part(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        if range.start > range.end || range.end > self.len {
            return None;
        }
        let size = self.size.0;
        let (first, from) = (range.start / size, range.start % size);
        if range.is_empty() {
            return Some(Cow::Borrowed(&[]));
        }
        if range.end <= (first + 1) * size {
            return Some(Cow::Borrowed(self.piece(first)?.get(from..from + range.len())?));
        }
        let mut bytes = Vec::with_capacity(range.len());
        for number in first..range.end.div_ceil(size) {
            let piece = self.piece(number)?;
            let until = piece.len().min(range.end - number * size);
            bytes.extend_from_slice(piece.get(if number == first { from } else { 0 }..until)?);
        }
        Some(Cow::Owned(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    const SIZE: PieceSize = PieceSize::OF_TEXT;
    const PIECE: usize = SIZE.0;

    /// Returns a way to read these bytes, which are after seven others.
    fn reader(file: &Arc<Mutex<Vec<u8>>>) -> Arc<ReadAt> {
        let file = file.clone();
        Arc::new(Box::new(move |buffer: &mut [u8], at| {
            let at = usize::try_from(at).ok()?.checked_sub(7)?;
            buffer.copy_from_slice(file.lock().get(at..at + buffer.len())?);
            Some(())
        }))
    }

    #[test]
    fn a_section_is_written_and_hashed_however_it_comes() {
        let bytes: Vec<u8> = (0..3 * STRETCH + 100).map(|at| (at * 31 / 7) as u8).collect();
        for parts in [&[0][..], &[1, PIECE], &[STRETCH - 1, STRETCH + 1, STRETCH], &[5, 2 * STRETCH + 7]] {
            let mut file = Vec::new();
            let mut section = SectionWriter::new(&mut file, SIZE, bytes.len());
            let mut from = 0;
            for until in parts.iter().copied().chain([bytes.len()]) {
                section.write(&bytes[from..until.max(from)]).expect("there is room");
                from = until.max(from);
            }
            assert_eq!(section.finish().expect("there is room"), SIZE.hashes(&bytes));
            assert!(file == bytes);
        }
        let mut file = Vec::new();
        let mut section = SectionWriter::new(&mut file, PieceSize::OF_CODE, 0);
        for length in [3, 64, 0, 65] {
            section.align().expect("there is room");
            section.write(&vec![1; length]).expect("there is room");
        }
        let hashed = section.finish().expect("there is room");
        assert_eq!((file.len(), file[3], file[63], file[64], file[127], file[128]), (193, 0, 0, 1, 1, 1));
        assert_eq!(hashed, PieceSize::OF_CODE.hashes(&file));
    }

    #[test]
    fn parts_of_a_text_are_what_is_there() {
        for len in [0, 1, PIECE - 1, PIECE, STRETCH, 2 * STRETCH + PIECE + 5] {
            let bytes: Vec<u8> = (0..len).map(|at| (at * 31 / 7) as u8).collect();
            let file = Arc::new(Mutex::new(bytes.clone()));
            let section = SectionEntry { start: 7, bytes: len as u64, hash: SIZE.hash(&bytes) };
            let text = FileSection::check(reader(&file), section, SIZE).expect("it is whole");
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
    fn a_section_that_is_found_is_checked_when_it_is_used() {
        let bytes: Vec<u8> = (0..3 * STRETCH + 100).map(|at| (at * 31 / 7) as u8).collect();
        let file = Arc::new(Mutex::new(bytes.clone()));
        let section = |bytes: u64| SectionEntry { start: 7, bytes, hash: SIZE.hash(&file.lock()) };
        let (len, known) = (bytes.len() as u64, SIZE.hashes(&bytes));
        let find = |len, hashes: &[u8]| {
            let found = FileSection::find(reader(&file), section(len), SIZE, bytes.len() as u64 + 7, hashes);
            found.map_err(|damage| damage.what)
        };
        let found = find(len, &known).expect("it is whole");
        let mut memory = vec![0; bytes.len()];
        assert!(found.copy(&mut memory) && memory == bytes);
        assert!(!found.copy(&mut vec![0; bytes.len() - 1]));
        assert_eq!(find(len + 1, &known).err(), Some("a section beyond the end"));
        let mut others = known.clone();
        others[40] ^= 1;
        for wrong in [&others[..], &known[..known.len() - 32], &known[1..], &[]] {
            assert_eq!(find(len, wrong).err(), Some("a damaged section"));
        }
        file.lock()[PIECE] ^= 1;
        assert!(!found.copy(&mut memory));
        assert_eq!(found.part(0..5).as_deref(), bytes.get(..5));
        assert_eq!(found.part(PIECE..PIECE + 5), None);
    }

    #[test]
    fn a_text_that_changes_is_refused_at_once_or_when_it_is_used() {
        let bytes = vec![5; 3 * STRETCH];
        let file = Arc::new(Mutex::new(bytes.clone()));
        let section = |len: u64| SectionEntry { start: 7, bytes: len, hash: SIZE.hash(&bytes) };
        let check = |len: u64| FileSection::check(reader(&file), section(len), SIZE);
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
