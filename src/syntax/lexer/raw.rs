//! Lexing a source, without its names.

use super::super::number;
use super::super::text;
use super::super::token::{FaultKind, KEYWORDS, LONGEST_ITEM, RawTokens, Terminal};
use crate::source::{Source, Span};
use crate::stop::Poll;
use logos::Logos;
use rustc_hash::FxHashMap;

/// The fewest tokens of a piece, except for the last.
pub(super) const PIECE: usize = 1 << 15;

/// The tokens of a source one piece at a time, before their words are names.
pub(super) struct RawPieces<'s> {
    lexer: logos::Lexer<'s, Terminal>,
    collector: Collector<'s>,
    pub(super) size: usize,
    /// The keyword that ended the last piece and begins the next.
    carried: Option<(Terminal, Span)>,
    at_end: bool,
    pub(super) poll: Poll,
}

impl<'s> RawPieces<'s> {
    pub(super) fn new(source: &'s Source) -> Self {
        let mut lexer = Terminal::lexer(source.text());
        lexer.bump(if source.text().starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 });
        let collector = Collector::default();
        Self { lexer, collector, size: PIECE, carried: None, at_end: false, poll: Poll::default() }
    }

    /// Returns the offset of what has not been read.
    pub(super) fn offset(&self) -> usize {
        self.carried.map_or(self.lexer.span().end, |(_, span)| span.start as usize)
    }

    /// Continues at an offset, if that is further on.
    pub(super) fn skip_to(&mut self, offset: u32) {
        let between = (offset as usize).saturating_sub(self.lexer.span().end);
        if self.carried.is_none() && self.lexer.source().is_char_boundary(offset as usize) {
            self.lexer.bump(between);
        }
    }

    /// Continues behind a piece that has been read elsewhere.
    pub(super) fn pass(&mut self, piece: &RawTokens) {
        let last = piece.spans.last();
        let next = last.map(|span| if piece.lookahead == 0 { span.end } else { span.start });
        next.into_iter().for_each(|next| self.skip_to(next));
        self.at_end = piece.is_last;
    }

    /// Returns whether the item that is being read is too long.
    fn is_too_long(&self) -> bool {
        self.collector.tokens.len() >= self.size.saturating_add(LONGEST_ITEM)
    }
}

impl Iterator for RawPieces<'_> {
    type Item = RawTokens;

    fn next(&mut self) -> Option<RawTokens> {
        if self.at_end {
            return None;
        }
        if let Some((terminal, span)) = self.carried.take() {
            self.collector.tokens.push(terminal, span, 0);
        }
        while let Some(terminal) = self.lexer.next() {
            let span = Span::new(self.lexer.span().start, self.lexer.span().end);
            if let Some(request) = self.poll.step() {
                self.collector.tokens.push_end(FaultKind::Stopped(request), span);
                break;
            }
            let is_full = self.collector.tokens.len() >= self.size;
            let quoted = || text::typographic(self.lexer.slice(), self.lexer.remainder());
            let (terminal, span) = match terminal.map_err(|()| quoted()) {
                Ok(terminal) => (terminal, span),
                Err(Some(more)) => {
                    self.lexer.bump(more);
                    (Terminal::Text, Span { end: span.end + more as u32, ..span })
                }
                Err(None) => {
                    if !self.is_too_long() {
                        self.collector.push_unknown(span);
                    }
                    continue;
                }
            };
            let ends = is_full && (terminal == Terminal::Semicolon || terminal.begins_item());
            if !ends && self.is_too_long() {
                self.collector.push_too_long(span);
                continue;
            }
            self.collector.push(terminal, span, self.lexer.slice());
            if is_full && terminal.begins_item() {
                self.carried = Some((terminal, span));
                return Some(self.collector.take(1));
            }
            if is_full && terminal == Terminal::Semicolon {
                return Some(self.collector.take(0));
            }
        }
        self.at_end = true;
        self.collector.tokens.is_last = true;
        Some(self.collector.take(0))
    }
}

/// The tokens of a piece found so far, and the words in it.
struct Collector<'s> {
    tokens: RawTokens,
    known: FxHashMap<&'s str, u32>,
    /// The same for single ASCII characters, plus one; 0 if not seen yet.
    known_ascii: [u32; 128],
}

impl Default for Collector<'_> {
    fn default() -> Self {
        Self { tokens: RawTokens::default(), known: FxHashMap::default(), known_ascii: [0; 128] }
    }
}

impl<'s> Collector<'s> {
    /// Returns the piece, whose last `lookahead` tokens belong to the next.
    fn take(&mut self, lookahead: usize) -> RawTokens {
        self.known.clear();
        self.known_ascii = [0; 128];
        let mut tokens = std::mem::take(&mut self.tokens);
        if !tokens.is_last {
            // The next one is nearly as long.
            self.tokens.reserve(tokens.len() + tokens.len() / 16);
        }
        tokens.lookahead = lookahead;
        tokens
    }

    fn push(&mut self, terminal: Terminal, span: Span, text: &'s str) {
        let terminal = match terminal {
            Terminal::As if !self.is_behind_import() => Terminal::Identifier,
            other => other,
        };
        let payload = match terminal {
            Terminal::Qualified => {
                if text.split('.').any(is_keyword) {
                    self.tokens.push_fault(FaultKind::KeywordInName);
                }
                self.word(text, span)
            }
            Terminal::Identifier | Terminal::Operator | Terminal::Equals => self.word(text, span),
            Terminal::Number => self.number(text),
            Terminal::Text => {
                if let Err(malformed) = text::value(text) {
                    self.tokens.push_fault(FaultKind::MalformedText(malformed));
                }
                self.word(text, span)
            }
            _ => 0,
        };
        self.tokens.push(terminal, span, payload);
    }

    /// Returns whether the last two tokens are `import` and the name of a module:
    /// only behind them, `as` is a keyword.
    fn is_behind_import(&self) -> bool {
        matches!(*self.tokens.terminals, [.., Terminal::Import, name] if name.is_name())
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
        self.tokens.push_fault(FaultKind::UnknownCharacter);
        self.tokens.push(Terminal::Unknown, span, 0);
    }

    /// Abandons an item that is too long: one mistake, however much of it
    /// follows.
    fn push_too_long(&mut self, span: Span) {
        if self.tokens.faults.last().is_none_or(|last| last.kind != FaultKind::TooLong) {
            self.tokens.push_fault(FaultKind::TooLong);
            self.tokens.push(Terminal::Unknown, span, 0);
        }
    }

    fn number(&mut self, text: &str) -> u32 {
        let value = number::value(text).unwrap_or_else(|malformed| {
            self.tokens.push_fault(FaultKind::MalformedNumber(malformed));
            0.0
        });
        self.tokens.numbers.push(value);
        self.tokens.numbers.len() as u32 - 1
    }

    /// Returns the index of a word; adds it if it is new.
    fn word(&mut self, text: &'s str, span: Span) -> u32 {
        if let [byte @ 0..128] = text.as_bytes() {
            let slot = usize::from(*byte);
            if self.known_ascii[slot] == 0 {
                self.known_ascii[slot] = self.new_word(span) + 1;
            }
            return self.known_ascii[slot] - 1;
        }
        let next = self.tokens.words.len() as u32;
        let word = *self.known.entry(text).or_insert(next);
        if word == next { self.new_word(span) } else { word }
    }

    fn new_word(&mut self, span: Span) -> u32 {
        self.tokens.words.push(span);
        self.tokens.words.len() as u32 - 1
    }
}

fn is_keyword(text: &str) -> bool {
    KEYWORDS.iter().any(|entry| entry.0 != Terminal::As && entry.1 == text)
}
