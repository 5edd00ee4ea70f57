//! A program on standard input, run as it arrives.
//!
//! An item is handed out as soon as no further input can change it: after its
//! `;`, or when a later line begins another item. The parser decides that. At a
//! terminal, a complete line is handed out at once, as at the prompt.

use super::seams::Seams;
use crate::context::Context;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::source::{Source, Span};
use std::io::{self, IsTerminal, Read, Write};

/// An item may take this many bytes, comments before and inside it included.
const LONGEST: usize = 1 << 26;

/// Up to this many bytes are parsed again whenever more arrives; longer input
/// only when an item may have ended, so that a long item takes linear time.
const SHORT: usize = 1 << 12;

/// The items that arrive from a stream.
pub(super) struct Items<R> {
    stream: R,
    /// Whether the input comes from a terminal.
    at_terminal: bool,
    /// The input after the last line end and the last `;`.
    unfinished: Vec<u8>,
    in_comment: bool,
    /// Whether the input ends inside a text in quotes, and whether behind a `\` there.
    in_text: Option<bool>,
    /// The input before that which has not been handed out.
    text: String,
    /// Line and column that `text` begins at, from 1.
    place: (usize, usize),
    /// One past the last `;` in `text`.
    semicolon: Option<usize>,
    seams: Seams,
    has_news: bool,
    at_end: bool,
}

/// Announces on a terminal that the program is read from there.
pub(super) fn announce_terminal() {
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "The program is read from the terminal; Ctrl-D ends it.");
    }
}

/// Why nothing more can be read.
pub(super) enum StdinError {
    Io(io::Error),
    TooLong(Box<Diagnostic>),
}

impl<R: Read> Items<R> {
    pub(super) fn new(stream: R, at_terminal: bool) -> Self {
        Self {
            stream,
            at_terminal,
            unfinished: Vec::new(),
            in_comment: false,
            in_text: None,
            text: String::new(),
            place: (1, 1),
            semicolon: None,
            seams: Seams::default(),
            has_news: false,
            at_end: false,
        }
    }

    /// Returns whether the stream has ended, so that [`fill`](Self::fill) adds
    /// nothing.
    pub(super) fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Waits for more of the stream.
    ///
    /// # Errors
    /// When the stream cannot be read, or an item in it is too long.
    pub(super) fn fill(&mut self) -> Result<(), StdinError> {
        let mut chunk = [0; 1 << 16];
        let length = loop {
            match self.stream.read(&mut chunk) {
                Ok(length) => break length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(StdinError::Io(error)),
            }
        };
        self.at_end = length == 0;
        self.arrive(&chunk[..length]);
        self.check_length()
    }

    fn arrive(&mut self, bytes: &[u8]) {
        let (semicolon, line) = self.ends(bytes);
        if let Some(end) = semicolon {
            self.finish(&bytes[..end]);
            self.semicolon = Some(self.text.len());
        }
        let done = semicolon.unwrap_or(0);
        let end = if self.at_end { bytes.len() } else { line.unwrap_or(0).max(done) };
        self.finish(&bytes[done..end]);
        self.unfinished.extend_from_slice(&bytes[end..]);
    }

    /// Returns the offsets after the last `;` that ends an item, and after the
    /// last line feed.
    fn ends(&mut self, bytes: &[u8]) -> (Option<usize>, Option<usize>) {
        let (mut semicolon, mut line) = (None, None);
        for (end, byte) in (1..).zip(bytes) {
            match byte {
                b'\n' => {
                    (self.in_comment, self.in_text) = (false, None);
                    line = Some(end);
                }
                _ if self.in_comment => {}
                b'"' if self.in_text == Some(false) => self.in_text = None,
                _ if self.in_text.is_some() => {
                    self.in_text = Some(*byte == b'\\' && self.in_text == Some(false));
                }
                b'"' => self.in_text = Some(false),
                b'#' => self.in_comment = true,
                b';' => semicolon = Some(end),
                _ => {}
            }
        }
        (semicolon, line)
    }

    /// Adds the unfinished input, which ends with `bytes`, to the text. Invalid
    /// UTF-8 becomes a character that no token begins with, so that it is
    /// reported in place.
    fn finish(&mut self, bytes: &[u8]) {
        if bytes.is_empty() && !self.at_end {
            return;
        }
        self.unfinished.extend_from_slice(bytes);
        let text = String::from_utf8_lossy(&self.unfinished);
        self.has_news |= !text.is_empty();
        self.text.push_str(&text);
        self.unfinished.clear();
    }

    fn check_length(&self) -> Result<(), StdinError> {
        if self.text.len() + self.unfinished.len() <= LONGEST {
            return Ok(());
        }
        let source = Source::starting_at("<stdin>", "", self.place);
        let message = format!("no item ends in {LONGEST} bytes of standard input");
        let diagnostic = Diagnostic::error(ErrorCode::SourceTooLong, &source, Span::default(), message);
        Err(StdinError::TooLong(Box::new(diagnostic)))
    }

    /// Takes the items that are complete.
    pub(super) fn ready(&mut self, context: &Context) -> Option<Source> {
        if let Some(end) = self.semicolon.take() {
            return Some(self.take(end));
        }
        if !std::mem::take(&mut self.has_news) && !self.at_end {
            return None;
        }
        let end = if self.at_end { self.text.len() } else { self.complete(context) };
        let source = (end > 0).then(|| self.take(end));
        // The rest begins an item, and does not end it.
        self.has_news = false;
        source
    }

    /// Returns the length of the items that no further input can change, in
    /// bytes.
    fn complete(&mut self, context: &Context) -> usize {
        if self.at_terminal {
            return if self.ends_line(context) { self.text.len() } else { 0 };
        }
        let may_end = self.seams.any(&self.text, context.operators(), context.engine().names());
        if self.text.len() > SHORT && !may_end {
            return 0;
        }
        context.complete_items(&Source::new("", self.text.as_str()))
    }

    /// Returns whether the prompt would answer the input so far. Documentation
    /// comments wait for their definition.
    fn ends_line(&self, context: &Context) -> bool {
        let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        !self.text.lines().all(is_comment) && !context.is_incomplete(&Source::new("", self.text.as_str()))
    }

    /// Takes the first `length` bytes of the text.
    fn take(&mut self, length: usize) -> Source {
        let rest = self.text.split_off(length);
        let text = std::mem::replace(&mut self.text, rest);
        self.seams = Seams::default();
        self.has_news = !self.text.is_empty();
        let source = match self.place {
            (1, 1) => Source::read("<stdin>", text),
            place => Source::starting_at("<stdin>", text, place),
        };
        self.place = source.position(source.text().len() as u32);
        source
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Engine, Mode};

    /// A stream that returns one prepared piece at each read.
    struct Chunks<'p>(std::slice::Iter<'p, &'p str>);

    impl Read for Chunks<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.next().map_or("", |piece| piece).as_bytes();
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    fn context() -> Context {
        let engine = Engine::with_config(Config::new().mode(Mode::Interpret)).expect("an engine starts");
        engine.context().expect("a context starts")
    }

    /// Returns what is handed out after each piece, and where it begins.
    fn handed_out(pieces: &[&str], at_terminal: bool) -> Vec<Vec<(String, (usize, usize))>> {
        let context = context();
        let mut items = Items::new(Chunks(pieces.iter()), at_terminal);
        let mut all = Vec::new();
        while !items.is_at_end() {
            assert!(items.fill().is_ok());
            let sources = std::iter::from_fn(|| items.ready(&context));
            all.push(sources.map(|source| (source.text().to_owned(), source.position(0))).collect());
        }
        all
    }

    fn texts(pieces: &[&str]) -> Vec<Vec<String>> {
        let all = handed_out(pieces, false);
        all.into_iter().map(|sources| sources.into_iter().map(|source| source.0).collect()).collect()
    }

    #[test]
    fn items_come_as_soon_as_they_end() {
        let all = handed_out(&["1+", "1; 2;\n3", "\n; # no; not\n", "4"], false);
        let expected: [&[_]; 5] =
            [&[], &[("1+1; 2;", (1, 1))], &[("\n3\n;", (1, 8))], &[], &[(" # no; not\n4", (3, 2))]];
        let expected = expected.map(|sources| {
            sources.iter().map(|(text, place)| ((*text).to_owned(), *place)).collect::<Vec<_>>()
        });
        assert_eq!(all, expected);
    }

    #[test]
    fn an_item_ends_where_a_later_line_begins_another() {
        let none: [&str; 0] = [];
        assert_eq!(texts(&["3*3\n", "4*4\n", "5"]), [&none[..], &["3*3"], &none, &["\n4*4\n5"]]);
        // The next line may continue it, and may not have arrived completely.
        assert_eq!(texts(&["3\n", "+ 4\n", "(5)\n"]), [&none[..], &none, &["3\n+ 4"], &["\n(5)\n"]]);
        assert_eq!(
            texts(&["if 1 then 2\n", "el", "se 3\n", "de", "f f(x)\n"]),
            [&none[..], &none, &none, &none, &["if 1 then 2\nelse 3"], &["\ndef f(x)\n"]]
        );
        // Documentation comments stay with their definition, a mistake is one
        // item.
        assert_eq!(
            texts(&["1\n## d\n", "def f(x) x\n", "1 + )\n", "2\n"]),
            [&none[..], &["1"], &["\n## d\ndef f(x) x"], &["\n1 + )"], &["\n2\n"]]
        );
    }

    #[test]
    fn at_a_terminal_a_line_is_enough() {
        let all = handed_out(&["3*3\n", "def f(x)\n", " x\n", "## d\n", "def g(x) x\n"], true);
        let texts: Vec<Vec<&str>> =
            all.iter().map(|sources| sources.iter().map(|source| source.0.as_str()).collect()).collect();
        let none: [&str; 0] = [];
        assert_eq!(
            texts,
            [&["3*3\n"][..], &none, &["def f(x)\n x\n"], &none, &["## d\ndef g(x) x\n"], &none]
        );
    }

    #[test]
    fn a_long_item_is_not_parsed_at_each_piece() {
        let context = context();
        let line = "1 +\n".repeat(1 << 14);
        let pieces = vec![line.as_str(); 100];
        let mut items = Items::new(Chunks(pieces.iter()), false);
        for _ in &pieces {
            assert!(items.fill().is_ok());
            assert!(!items.seams.any(&items.text, context.operators(), context.engine().names()));
            assert!(items.ready(&context).is_none());
        }
        assert_eq!(items.text.len(), 100 << 16);
    }

    #[test]
    fn a_stream_without_items_is_given_up() {
        let line = "1 +\n".repeat(1 << 14);
        let pieces = vec![line.as_str(); (LONGEST >> 16) + 1];
        let mut items = Items::new(Chunks(pieces.iter()), false);
        let fills = pieces.iter().map(|_| items.fill()).collect::<Vec<_>>();
        let (last, before) = fills.split_last().expect("there are some");
        assert!(before.iter().all(Result::is_ok));
        assert!(
            matches!(last, Err(StdinError::TooLong(diagnostic)) if diagnostic.code == ErrorCode::SourceTooLong)
        );
    }

    #[test]
    fn an_empty_stream_has_no_items() {
        assert_eq!(texts(&[]), [[""; 0]]);
    }
}
