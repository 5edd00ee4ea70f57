//! Standard input, a few items at a time.
//!
//! A program on a pipe is run as it arrives: whenever a `;` ends an item,
//! everything up to it is handed out. The rest comes at the end of the input.

use crate::source::Source;
use std::io::{self, Read};

/// The texts that arrive from a stream, cut after a `;`.
pub(super) struct Items<R> {
    stream: R,
    pending: Vec<u8>,
    /// How much of `pending` has been looked at.
    scanned: usize,
    in_comment: bool,
    /// Line and column that `pending` begins at, from 1.
    place: (usize, usize),
    at_end: bool,
}

impl<R: Read> Items<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream, pending: Vec::new(), scanned: 0, in_comment: false, place: (1, 1), at_end: false }
    }

    /// One past the last `;` of what has arrived, if there is one.
    fn cut(&mut self) -> Option<usize> {
        let mut cut = None;
        for (index, byte) in self.pending.iter().enumerate().skip(self.scanned) {
            match byte {
                b'\n' => self.in_comment = false,
                b'#' => self.in_comment = true,
                b';' if !self.in_comment => cut = Some(index + 1),
                _ => {}
            }
        }
        self.scanned = self.pending.len();
        cut
    }

    /// Takes the first `length` bytes. What is not UTF-8 in them becomes a
    /// character that no token begins with, so that it is reported in place.
    fn take(&mut self, length: usize) -> Source {
        let rest = self.pending.split_off(length);
        let bytes = std::mem::replace(&mut self.pending, rest);
        self.scanned = self.pending.len();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let end = text.len() as u32;
        let source = Source::starting_at("<stdin>", text, self.place);
        self.place = source.position(end);
        source
    }
}

impl<R: Read> Iterator for Items<R> {
    type Item = io::Result<Source>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut chunk = [0; 1 << 16];
        while !self.at_end {
            match self.stream.read(&mut chunk) {
                Ok(0) => self.at_end = true,
                Ok(length) => {
                    self.pending.extend_from_slice(&chunk[..length]);
                    if let Some(cut) = self.cut() {
                        return Some(Ok(self.take(cut)));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.at_end = true;
                    return Some(Err(error));
                }
            }
        }
        let rest = self.pending.len();
        (rest > 0).then(|| Ok(self.take(rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that gives one prepared piece at each read.
    struct Pieces(std::vec::IntoIter<&'static str>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.next().unwrap_or("").as_bytes();
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    fn cut(pieces: &[&'static str]) -> Vec<(String, (usize, usize))> {
        let items = Items::new(Pieces(Vec::from(pieces).into_iter()));
        let sources = items.map(|source| source.expect("these streams do not fail"));
        sources.map(|source| (source.text().to_owned(), source.position(0))).collect()
    }

    #[test]
    fn items_come_as_soon_as_they_end() {
        let texts = cut(&["1+", "1; 2;\n3", "\n; # no; not\n", "4"]);
        let expected = [("1+1; 2;", (1, 1)), ("\n3\n;", (1, 8)), (" # no; not\n4", (3, 2))]
            .map(|(text, at)| (text.to_owned(), at));
        assert_eq!(texts, expected);
    }

    #[test]
    fn an_empty_stream_has_no_items() {
        assert_eq!(cut(&[]), []);
    }
}
