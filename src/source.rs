//! Source texts and places in them.
//!
//! A [`Source`] is one text that was read, with the name shown to people; a
//! [`Span`] is a range of its bytes. Lines and columns are computed when a
//! diagnostic is drawn, never stored. Nothing here reads files.

mod content;

use crate::process::SteadyCell;
pub(crate) use content::Content;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A range of bytes of a [`Source`]: `start` is the first, `end` is one past
/// the last. Texts are limited to 4 GiB.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset one past the last byte.
    pub end: u32,
}

impl Span {
    /// Creates the span from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// Returns the smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Returns the span as a range of byte offsets.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A text and the name it is shown under: a path, `<stdin>`, `<eval>`.
/// Cheap to clone; compares by identity.
#[derive(Clone)]
pub struct Source(Arc<Text>);

struct Text {
    name: String,
    content: Content,
    /// Line and column of its beginning.
    first: (usize, usize),
    /// The folder that it was read from.
    folder: Option<PathBuf>,
    /// The number of line feeds before each block of the text; computed when a
    /// position is first requested.
    lines_before: SteadyCell<Vec<usize>>,
}

/// Bytes in a block of `lines_before`.
const BLOCK: usize = 1 << 16;

impl Source {
    /// Creates a source called `name` that reads `text`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::starting_at(name, text, (1, 1))
    }

    /// Creates a source whose text is from a file or a stream: a byte order
    /// mark at its start is removed.
    pub fn read(name: impl Into<String>, text: String) -> Self {
        Self::of_file(name, Content::from(text).without_mark(), None)
    }

    /// Creates a source that is a part of a longer text: it begins there at
    /// this line and column, both counted from 1.
    pub fn starting_at(name: impl Into<String>, text: impl Into<String>, first: (usize, usize)) -> Self {
        let (name, content) = (name.into(), text.into().into());
        Self(Arc::new(Text { name, content, first, folder: None, lines_before: SteadyCell::new() }))
    }

    /// Creates a source from what was read, and the folder that its file is in.
    pub(crate) fn of_file(name: impl Into<String>, content: Content, folder: Option<PathBuf>) -> Self {
        let name = name.into();
        Self(Arc::new(Text { name, content, first: (1, 1), folder, lines_before: SteadyCell::new() }))
    }

    /// Creates the source of a module that is part of Kal.
    pub(crate) fn of_standard_library(module: &str, text: &str) -> Self {
        Self::new(format!("{STANDARD_LIBRARY}/{module}.kal"), text)
    }

    /// Returns whether it is a module that is part of Kal.
    pub(crate) fn is_of_standard_library(&self) -> bool {
        self.folder().is_none() && self.name().starts_with(STANDARD_LIBRARY)
    }

    /// Creates a source from a file of that folder, where the modules that it
    /// imports are looked for first.
    pub fn in_folder(name: impl Into<String>, text: String, folder: impl Into<PathBuf>) -> Self {
        Self::of_file(name, Content::from(text).without_mark(), Some(folder.into()))
    }

    /// Returns the folder that it was read from, if it is from a file.
    pub fn folder(&self) -> Option<&Path> {
        self.0.folder.as_deref()
    }

    /// Returns the name it is shown under.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns line and column of its beginning.
    pub fn first(&self) -> (usize, usize) {
        self.0.first
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.0.content
    }

    /// Returns the part of the text that `span` covers; empty if `span` is not
    /// of this source.
    pub fn slice(&self, span: Span) -> &str {
        self.0.content.get(span.range()).unwrap_or("")
    }

    /// Returns line and column of a byte offset, both from 1; columns count
    /// characters.
    pub fn position(&self, offset: u32) -> (usize, usize) {
        let before = self.before(offset);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let first_column = if line_start == 0 { self.0.first.1 } else { 1 };
        (self.line(offset), before[line_start..].chars().count() + first_column)
    }

    /// Returns the line of a byte offset, from 1.
    pub fn line(&self, offset: u32) -> usize {
        let before = self.before(offset).as_bytes();
        let block = before.len() / BLOCK;
        self.lines_before()[block] + line_feeds(&before[block * BLOCK..]) + self.0.first.0
    }

    /// Returns the text before a byte offset, or before the character that it is inside of.
    fn before(&self, offset: u32) -> &str {
        &self.0.content[..self.0.content.floor_char_boundary(offset as usize)]
    }

    fn lines_before(&self) -> &[usize] {
        self.0.lines_before.get_or_make(|| {
            let mut counts = vec![0];
            for block in self.0.content.as_bytes().chunks(BLOCK) {
                counts.push(counts[counts.len() - 1] + line_feeds(block));
            }
            counts
        })
    }
}

/// What the names of modules that are part of Kal begin with.
const STANDARD_LIBRARY: &str = "<standard library>";

#[expect(clippy::naive_bytecount, reason = "the compiler vectorises it")]
fn line_feeds(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").field(&self.name()).finish()
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Source {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        let source = Source::new("test", "é中\n\nabc\n");
        let offsets = [0, 2, 5, 6, 7, 9, 10, 11, 99];
        let positions = offsets.map(|offset| source.position(offset));
        let expected = [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (3, 3), (3, 4), (4, 1), (4, 1)];
        assert_eq!(positions, expected);
        assert_eq!(source.position(1), (1, 1));
        assert!(offsets.iter().all(|offset| source.line(*offset) == source.position(*offset).0));
        assert_eq!(Source::new("test", "").position(0), (1, 1));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_what_is_read() {
        let texts = ["\u{FEFF}a\u{FEFF}", "a\u{FEFF}", "\u{FEFF}", ""];
        let read = texts.map(|text| Source::read("test", text.to_owned()).text().to_owned());
        assert_eq!(read, ["a\u{FEFF}", "a\u{FEFF}", "", ""]);
    }

    #[test]
    fn positions_in_a_long_text_are_counted_over_blocks() {
        let source = Source::new("test", "ab\n".repeat(BLOCK));
        for line in [0, 1, BLOCK / 3, BLOCK / 3 + 1, BLOCK - 1] {
            assert_eq!(source.position((line * 3 + 1) as u32), (line + 1, 2));
        }
        assert_eq!(source.position(3 * BLOCK as u32), (BLOCK + 1, 1));
        assert_eq!(Source::new("test", "\n".repeat(BLOCK)).position(BLOCK as u32), (BLOCK + 1, 1));
    }
}
