//! Source texts and places in them.
//!
//! A [`Source`] is one text that was read, with the name people know it by; a
//! [`Span`] is a range of its bytes. Lines and columns are worked out when a
//! diagnostic is drawn, never stored. Nothing here reads files.

use std::ops::Range;
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
    /// The span from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// The smallest span that holds both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The same as a range of offsets.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A text and the name it is shown under: a path, `<stdin>`, `<eval>`.
/// Cheap to clone; compares by identity.
#[derive(Clone, Debug)]
pub struct Source(Arc<Text>);

#[derive(Debug)]
struct Text {
    name: String,
    text: String,
    first_line: usize,
}

impl Source {
    /// A source called `name` that reads `text`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::starting_at(name, text, 1)
    }

    /// A source that is a part of a longer text: its first line has the number
    /// `first_line` there, counted from 1.
    pub fn starting_at(name: impl Into<String>, text: impl Into<String>, first_line: usize) -> Self {
        Self(Arc::new(Text { name: name.into(), text: text.into(), first_line }))
    }

    /// The number of its first line.
    pub fn first_line(&self) -> usize {
        self.0.first_line
    }

    /// The name it is shown under.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The part of the text that `span` covers; empty if `span` is not of
    /// this source.
    pub fn slice(&self, span: Span) -> &str {
        self.0.text.get(span.range()).unwrap_or("")
    }

    /// Line and column of a byte offset, both from 1; columns count characters.
    pub fn position(&self, offset: u32) -> (usize, usize) {
        let before = self.0.text.get(..offset as usize).unwrap_or(&self.0.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + self.0.first_line;
        (line, before[line_start..].chars().count() + 1)
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Source {}
