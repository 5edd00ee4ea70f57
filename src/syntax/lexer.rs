//! From source to tokens.
//!
//! logos finds the tokens; this loop stores them compactly. Each word becomes a name
//! once per piece of a source, all of a piece at once, where it is parsed: so the pieces
//! of a long source are lexed ahead. A mistake never stops the lexer: it leaves a
//! token that the parser refuses or, for a malformed number, takes as a number.

mod ahead;
mod raw;

use super::token::Tokens;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::name::Names;
use crate::source::{Source, Span};
use crate::stop::Poll;
use ahead::Ahead;
use raw::RawPieces;

/// The longest source that spans can describe, in bytes.
pub const LONGEST_SOURCE: u32 = u32::MAX;

/// Returns the tokens of `source`, with names from `names`; a diagnostic if it
/// is longer than [`LONGEST_SOURCE`].
///
/// # Errors
///
/// `SourceTooLong`. All other mistakes are kept for the parser to report with
/// their item.
pub fn lex(source: &Source, names: &Names) -> Result<Tokens, Diagnostic> {
    lex_within(source, names, LONGEST_SOURCE)
}

/// Returns the tokens of `source`, which may have at most `longest` bytes.
///
/// # Errors
///
/// `SourceTooLong`.
pub fn lex_within(source: &Source, names: &Names, longest: u32) -> Result<Tokens, Diagnostic> {
    lex_polled(source, names, longest, &Poll::default())
}

/// Returns the tokens of `source`, or of its beginning if `poll` says to stop.
///
/// # Errors
///
/// `SourceTooLong`.
pub(crate) fn lex_polled(
    source: &Source,
    names: &Names,
    longest: u32,
    poll: &Poll,
) -> Result<Tokens, Diagnostic> {
    fitting(source, longest)?;
    let mut pieces = RawPieces::new(source);
    (pieces.size, pieces.poll) = (usize::MAX, poll.clone());
    Ok(pieces.next().unwrap_or_default().with_names(source, names).0)
}

/// Refuses a source of more than `longest` bytes.
///
/// # Errors
///
/// `SourceTooLong`.
pub(crate) fn fitting(source: &Source, longest: u32) -> Result<(), Diagnostic> {
    if source.text().len() <= longest as usize {
        return Ok(());
    }
    let message = format!("the source is longer than {longest} bytes");
    let too_long = Diagnostic::error(ErrorCode::SourceTooLong, source, Span::default(), message);
    Err(too_long.with_note("its beginning"))
}

/// The tokens of a source one piece at a time, cut between items: so a long
/// source takes no more memory than a short one.
pub struct Pieces<'s> {
    source: &'s Source,
    names: &'s Names,
    raw: RawPieces<'s>,
    ahead: Ahead,
    at_end: bool,
}

impl<'s> Pieces<'s> {
    /// Begins reading `source` in pieces.
    ///
    /// # Errors
    ///
    /// `SourceTooLong` for more than `longest` bytes.
    pub fn new(source: &'s Source, names: &'s Names, longest: u32) -> Result<Self, Diagnostic> {
        fitting(source, longest)?;
        Ok(Self { source, names, raw: RawPieces::new(source), ahead: Ahead::NotYet, at_end: false })
    }

    /// Makes reading stop when `poll` says so: the last token is then a
    /// mistake.
    #[must_use]
    pub(crate) fn polled(mut self, poll: &Poll) -> Self {
        self.raw.poll = poll.clone();
        self
    }

    /// Makes a piece end before the next item that a keyword begins.
    #[must_use]
    pub(crate) fn short(mut self) -> Self {
        // A `;` before the keyword is not a piece by itself.
        self.raw.size = 2;
        self.ahead = Ahead::Never;
        self
    }

    /// Continues at an offset, if that is further on. To be called before pieces are read.
    pub(crate) fn skip_to(&mut self, offset: u32) {
        self.raw.skip_to(offset);
    }
}

impl Iterator for Pieces<'_> {
    type Item = Tokens;

    fn next(&mut self) -> Option<Tokens> {
        if self.at_end {
            return None;
        }
        self.ahead.start(&self.raw, self.source);
        let piece = match self.ahead.piece(&self.raw) {
            Some(piece) => {
                self.raw.pass(&piece);
                piece
            }
            None => self.raw.next()?,
        };
        let (tokens, is_last) = piece.with_names(self.source, self.names);
        self.at_end = is_last;
        Some(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::{LONGEST_ITEM, Terminal};
    use super::raw::PIECE;
    use super::*;

    /// Returns kind and text of every token.
    fn kinds(text: &str) -> Vec<(Terminal, String)> {
        let tokens = lex(&Source::new("test", text), &Names::new()).unwrap();
        (0..tokens.len()).map(|token| (tokens.terminals()[token], tokens.text(token).to_owned())).collect()
    }

    fn texts(text: &str) -> Vec<String> {
        kinds(text).into_iter().map(|token| token.1).collect()
    }

    /// Returns code and place of each mistake that the lexer finds.
    fn faults(text: &str) -> Vec<(ErrorCode, String, String)> {
        let source = Source::new("test", text);
        let tokens = lex(&source, &Names::new()).unwrap();
        let diagnostics = tokens.diagnostics(0..tokens.len());
        diagnostics
            .map(|found| (found.code, source.slice(found.labels[0].span).to_owned(), found.message))
            .collect()
    }

    #[test]
    fn words_numbers_and_operators() {
        let expected = [
            (Terminal::Def, "def"),
            (Terminal::Identifier, "défi_1"),
            (Terminal::LeftParenthesis, "("),
            (Terminal::Identifier, "x"),
            (Terminal::RightParenthesis, ")"),
            (Terminal::Identifier, "x"),
            (Terminal::Operator, "<="),
            (Terminal::Number, ".5"),
            (Terminal::Equals, "="),
            (Terminal::Identifier, "ifx"),
            (Terminal::Semicolon, ";"),
        ];
        let expected: Vec<_> = expected.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect();
        assert_eq!(kinds("def défi_1(x) x<=.5=ifx;"), expected);
    }

    #[test]
    fn the_longest_operator_wins() {
        assert_eq!(
            texts("a===b!==c<=>d&&&e|||f"),
            ["a", "==", "=", "b", "!=", "=", "c", "<=", ">", "d", "&&", "&", "e", "||", "|", "f"]
        );
        assert_eq!(texts("binary:1 $x'[{∑∫×"), ["binary", ":", "1", "$", "x", "'", "[", "{", "∑", "∫", "×"]);
        assert_eq!(texts("x.5 . 5"), ["x", ".5", ".", "5"]);
    }

    #[test]
    fn every_punctuation_character_is_a_token() {
        for byte in 0x21..0x7F_u8 {
            let character = char::from(byte);
            if character.is_ascii_punctuation() && character != '#' {
                let expected = match character {
                    '(' => Terminal::LeftParenthesis,
                    ')' => Terminal::RightParenthesis,
                    ',' => Terminal::Comma,
                    ';' => Terminal::Semicolon,
                    '_' => Terminal::Identifier,
                    '=' => Terminal::Equals,
                    '"' => Terminal::Text,
                    _ => Terminal::Operator,
                };
                assert_eq!(kinds(&character.to_string())[0].0, expected, "{character}");
            }
        }
    }

    #[test]
    fn numbers_take_all_that_belongs_to_them() {
        assert_eq!(
            texts("0x1e-3 1e-3-1 1e-x 1.5+2 1-2"),
            ["0x1e", "-", "3", "1e-3", "-", "1", "1e-x", "1.5", "+", "2", "1", "-", "2"]
        );
        assert_eq!(texts("12ab+1.2.3é(5.)"), ["12ab", "+", "1.2.3é", "(", "5.", ")"]);
    }

    #[test]
    fn white_space_and_comments_are_skipped() {
        assert_eq!(texts("\u{FEFF}#!/usr/bin/kal\na # b\r\n#c"), ["a"]);
        assert_eq!(texts("a # b\rc#d\r\re"), ["a", "c", "e"]);
        assert_eq!(texts("a\u{A0}b\u{2003}c\t\x0B\x0Cd"), ["a", "b", "c", "d"]);
        assert_eq!(texts(""), Vec::<String>::new());
        assert_eq!(texts("# no line feed"), Vec::<String>::new());
    }

    #[test]
    fn a_run_of_unknown_characters_is_one_mistake() {
        let found = faults("a “„” \x01\x02 b\u{200B}c");
        let found: Vec<_> =
            found.iter().map(|(_, text, message)| (text.as_str(), message.as_str())).collect();
        assert_eq!(
            found,
            [
                ("“„”", "3 unknown characters, the first is `“` (U+201C)"),
                ("\x01\x02", "2 unknown characters, the first is U+0001"),
                ("\u{200B}", "unknown character U+200B"),
            ]
        );
        assert_eq!(texts("a“b"), ["a", "“", "b"]);
    }

    #[test]
    fn a_malformed_number_is_one_mistake_and_stays_a_number() {
        let found = faults("1.2.3 + 0x * 1e - 12ab");
        let codes: Vec<_> = found.iter().map(|fault| fault.0).collect();
        assert_eq!(codes, [ErrorCode::MalformedNumber; 4]);
        assert_eq!(found[0].2, "`1.2.3` is not a well-formed number");
        assert_eq!(kinds("1.2.3")[0].0, Terminal::Number);
    }

    #[test]
    fn names_are_equal_when_their_texts_are() {
        let names = Names::new();
        let tokens = lex(&Source::new("test", "foo + x + foo + x"), &names).unwrap();
        assert_eq!(tokens.name(0), tokens.name(4));
        assert_eq!(tokens.name(2), tokens.name(6));
        assert_eq!(tokens.name(1), names.intern("+"));
        assert_ne!(tokens.name(0), tokens.name(2));
    }

    #[test]
    fn a_text_over_the_limit_is_refused() {
        let source = Source::new("test", "1 + 1");
        assert!(lex_within(&source, &Names::new(), 5).is_ok());
        let refused = lex_within(&source, &Names::new(), 4).unwrap_err();
        assert_eq!(
            (refused.code, refused.message.as_str()),
            (ErrorCode::SourceTooLong, "the source is longer than 4 bytes")
        );
    }

    #[test]
    fn an_item_without_an_end_is_given_up() {
        let names = Names::new();
        let long = "1+".repeat(LONGEST_ITEM);
        let source = Source::new("test", format!("2; {long} 1; 3; def f(x) {long} x def g(x) x"));
        let pieces: Vec<Tokens> = Pieces::new(&source, &names, LONGEST_SOURCE).unwrap().collect();
        assert!(pieces.iter().all(|piece| piece.len() <= PIECE + LONGEST_ITEM + 4));
        let found: Vec<_> = pieces.iter().flat_map(|piece| piece.diagnostics(0..piece.len())).collect();
        let codes: Vec<_> = found.iter().map(|found| found.code).collect();
        assert_eq!(codes, [ErrorCode::SourceTooLong; 2]);
        assert_eq!(found[0].message, "an item of more than 4194304 tokens");
    }
}
