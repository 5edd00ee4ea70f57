//! From text to tokens.
//!
//! logos finds the tokens; this loop stores them compactly. Names are interned
//! once per text and name: a table of the text's own stands before the shared
//! one. A mistake never stops the lexer: it leaves a token that the parser
//! refuses or, for a malformed number, takes as a number.

use super::number;
use super::token::{Fault, FaultKind, Terminal, Tokens};
use crate::diagnostic::{Code, Diagnostic};
use crate::name::Names;
use crate::source::{Source, Span};
use logos::Logos;
use rustc_hash::FxHashMap;

/// The longest text that spans can describe, in bytes.
pub const LONGEST_SOURCE: u32 = u32::MAX;

/// The tokens of `source`, with names from `names`; a diagnostic if the text
/// is longer than [`LONGEST_SOURCE`].
///
/// # Errors
///
/// `SourceTooLong`. All other mistakes are kept for the parser to report with
/// the item they stand in.
pub fn lex(source: &Source, names: &Names) -> Result<Tokens, Diagnostic> {
    lex_within(source, names, LONGEST_SOURCE)
}

/// The same with a limit of `longest` bytes.
///
/// # Errors
///
/// `SourceTooLong`.
pub fn lex_within(source: &Source, names: &Names, longest: u32) -> Result<Tokens, Diagnostic> {
    if source.text().len() > longest as usize {
        let message = format!("the text is longer than {longest} bytes");
        return Err(Diagnostic::error(Code::SourceTooLong, source, Span::default(), message));
    }
    let mut collector = Collector::new(source, names);
    let mut lexer = Terminal::lexer(source.text());
    lexer.bump(if source.text().starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 });
    while let Some(terminal) = lexer.next() {
        let span = Span::new(lexer.span().start, lexer.span().end);
        match terminal {
            Ok(terminal) => collector.push(terminal, span, lexer.slice()),
            Err(()) => collector.push_unknown(span),
        }
    }
    Ok(collector.tokens)
}

/// The tokens found so far, and the names seen in this text.
struct Collector<'s> {
    tokens: Tokens,
    names: &'s Names,
    known: FxHashMap<&'s str, u32>,
    /// The same for single ASCII characters, plus one; 0 if not seen yet.
    known_ascii: [u32; 128],
}

impl<'s> Collector<'s> {
    fn new(source: &'s Source, names: &'s Names) -> Self {
        let estimate = source.text().len() / 4;
        let tokens = Tokens {
            source: source.clone(),
            terminals: Vec::with_capacity(estimate),
            spans: Vec::with_capacity(estimate),
            payloads: Vec::with_capacity(estimate),
            vocabulary: Vec::new(),
            numbers: Vec::new(),
            faults: Vec::new(),
        };
        Self { tokens, names, known: FxHashMap::default(), known_ascii: [0; 128] }
    }

    fn push(&mut self, terminal: Terminal, span: Span, text: &'s str) {
        let payload = match terminal {
            Terminal::Identifier | Terminal::Operator | Terminal::Equals => self.word(text),
            Terminal::Number => self.number(text),
            _ => 0,
        };
        self.push_raw(terminal, span, payload);
    }

    fn push_raw(&mut self, terminal: Terminal, span: Span, payload: u32) {
        self.tokens.terminals.push(terminal);
        self.tokens.spans.push(span);
        self.tokens.payloads.push(payload);
    }

    /// Lengthens the run of unknown characters before `span`, or begins one.
    fn push_unknown(&mut self, span: Span) {
        if let (Some(Terminal::Unknown), Some(last)) =
            (self.tokens.terminals.last(), self.tokens.spans.last_mut())
            && last.end == span.start
        {
            last.end = span.end;
            return;
        }
        self.push_fault(FaultKind::UnknownCharacter);
        self.push_raw(Terminal::Unknown, span, 0);
    }

    fn push_fault(&mut self, kind: FaultKind) {
        self.tokens.faults.push(Fault { token: self.tokens.len() as u32, kind });
    }

    fn number(&mut self, text: &str) -> u32 {
        let value = number::value(text).unwrap_or_else(|malformed| {
            self.push_fault(FaultKind::MalformedNumber(malformed));
            0.0
        });
        self.tokens.numbers.push(value);
        self.tokens.numbers.len() as u32 - 1
    }

    /// The index of a name in the vocabulary.
    fn word(&mut self, text: &'s str) -> u32 {
        if let [byte @ 0..128] = text.as_bytes() {
            let slot = usize::from(*byte);
            if self.known_ascii[slot] == 0 {
                self.known_ascii[slot] = self.new_word(text) + 1;
            }
            return self.known_ascii[slot] - 1;
        }
        if let Some(&index) = self.known.get(text) {
            return index;
        }
        let index = self.new_word(text);
        self.known.insert(text, index);
        index
    }

    fn new_word(&mut self, text: &str) -> u32 {
        self.tokens.vocabulary.push(self.names.intern(text));
        self.tokens.vocabulary.len() as u32 - 1
    }
}
