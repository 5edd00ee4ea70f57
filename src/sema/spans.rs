//! The places of the nodes of a body, packed.
//!
//! Successive nodes are close to each other in the source, so a span is stored
//! as its distance from the one before and its length, seven bits a byte: two
//! bytes for nearly every node.

use crate::bytes::{Damage, Reader, Writer};
use crate::source::{Source, Span};

/// A sequence of spans.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Spans(Box<[u8]>);

/// Packs spans.
#[derive(Debug)]
pub struct SpanPacker {
    bytes: Vec<u8>,
    last: u32,
}

impl Default for SpanPacker {
    /// Creates a packer with room for the spans of most functions.
    fn default() -> Self {
        Self { bytes: Vec::with_capacity(64), last: 0 }
    }
}

impl SpanPacker {
    /// Adds a span.
    pub fn push(&mut self, span: Span) {
        let distance = i64::from(span.start) - i64::from(self.last);
        self.number(((distance << 1) ^ (distance >> 63)).cast_unsigned());
        self.number(u64::from(span.end.saturating_sub(span.start)));
        self.last = span.start;
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Returns the spans that were added.
    pub fn finish(self) -> Spans {
        Spans(self.bytes.into())
    }
}

impl FromIterator<Span> for Spans {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        let mut packer = SpanPacker::default();
        spans.into_iter().for_each(|span| packer.push(span));
        packer.finish()
    }
}

impl Spans {
    /// Writes the spans, counted from an offset.
    pub fn write(&self, writer: &mut Writer, base: u32) {
        let (first, rest) = self.moved(base.wrapping_neg()).unwrap_or((Vec::new(), &self.0));
        writer.count(first.len() + rest.len());
        writer.bytes(&first);
        writer.bytes(rest);
    }

    /// Returns the bytes of the spans with that added to each place: those of the first
    /// place, from which the others are counted, and the rest; `None` if nothing changes.
    fn moved(&self, by: u32) -> Option<(Vec<u8>, &[u8])> {
        let first = self.iter().next().filter(|_| by != 0)?;
        let length = self.0.iter().position(|byte| *byte < 0x80)? + 1;
        let mut packer = SpanPacker { bytes: Vec::with_capacity(8), last: 0 };
        packer.number((i64::from(first.start.wrapping_add(by)) << 1).cast_unsigned());
        Some((packer.bytes, &self.0[length..]))
    }

    /// Reads as many spans of a source as are wanted, counted from an offset.
    ///
    /// # Errors
    /// When there are more or less, or one is not within that source.
    pub fn read(reader: &mut Reader<'_>, count: usize, source: &Source, base: u32) -> Result<Self, Damage> {
        let length = reader.count()?;
        let stored = Self(reader.bytes(length)?.into());
        let moved = stored.moved(base).map(|(first, rest)| Self([&first, rest].concat().into()));
        let spans = moved.unwrap_or(stored);
        let mut all = spans.iter();
        let is_within = |span: &Span| source.text().get(span.range()).is_some();
        let within = all.by_ref().take(count).filter(is_within).count();
        reader.expect(within == count && all.next().is_none(), "a place outside the text")?;
        drop(all);
        Ok(spans)
    }

    /// Returns the spans in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        let mut bytes = self.0.iter();
        let mut last = 0u32;
        let mut number = move || {
            let (mut number, mut shift) = (0u64, 0);
            loop {
                let byte = *bytes.next()?;
                number |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return Some(number);
                }
                // No distance has more bits.
                if shift > 28 {
                    return None;
                }
            }
        };
        std::iter::from_fn(move || {
            let (distance, length) = (number()?, number()?);
            let distance = (distance >> 1) ^ (distance & 1).wrapping_neg();
            last = last.wrapping_add(distance as u32);
            Some(Span { start: last, end: last.saturating_add(length as u32) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_survive_packing() {
        let spans =
            [(5, 6), (0, 3), (0, 0), (1_000_000, 1_000_001), (7, 4_000_000_000), (u32::MAX, u32::MAX)];
        let packed: Spans = spans.iter().map(|&(start, end)| Span { start, end }).collect();
        let unpacked: Vec<_> = packed.iter().map(|span| (span.start, span.end)).collect();
        assert_eq!(unpacked, spans);
    }

    #[test]
    fn near_spans_take_two_bytes() {
        let packed: Spans = (0..100).map(|at| Span { start: at, end: at + 1 }).collect();
        assert_eq!(packed.0.len(), 200);
    }
}
