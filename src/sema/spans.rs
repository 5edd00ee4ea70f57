//! The places of the nodes of a body, packed.
//!
//! Successive nodes are close to each other in the source, so a span is stored
//! as its distance from the one before and its length, seven bits a byte: two
//! bytes for nearly every node.

use crate::source::Span;

/// A sequence of spans, which can be appended to and read from the start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Spans {
    bytes: Vec<u8>,
    last: u32,
}

impl Spans {
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

    /// Returns the spans in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        let mut bytes = self.bytes.iter();
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
        let mut packed = Spans::default();
        spans.iter().for_each(|&(start, end)| packed.push(Span { start, end }));
        let unpacked: Vec<_> = packed.iter().map(|span| (span.start, span.end)).collect();
        assert_eq!(unpacked, spans);
    }

    #[test]
    fn near_spans_take_two_bytes() {
        let mut packed = Spans::default();
        (0..100).for_each(|at| packed.push(Span { start: at, end: at + 1 }));
        assert_eq!(packed.bytes.len(), 200);
    }
}
