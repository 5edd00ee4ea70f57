//! Terminals of the grammar, and the token array that the lexer makes of a
//! source.
//!
//! The table below is the only place where a terminal is written down: the
//! enum, the lexer's patterns, and the lists that the grammar files are tested
//! against all come from it.

use super::number;
use crate::diagnostic::visible::is_invisible;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::name::{HeldName, Name, Names, TooManyNames};
use crate::source::{Source, Span};
use crate::stop::StopRequest;
use logos::Logos;

/// The most tokens of an item, up to a few more.
pub const LONGEST_ITEM: usize = 1 << 22;

/// Declares [`Terminal`] with the pattern of each, and the lists of fixed texts.
macro_rules! terminals {
    (
        keywords { $($keyword:ident $keyword_text:tt)+ }
        punctuation { $($mark:ident $mark_text:tt)+ }
        compound_operators { $($compound:tt)+ }
    ) => {
        /// The kind of a token, as the grammar sees it.
        #[derive(Logos, Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[logos(skip r"\s+")]
        #[logos(skip(r"#[^\n\r]*", allow_greedy = true))]
        #[repr(u8)]
        pub enum Terminal {
            $(#[doc = concat!("`", $keyword_text, "`")] #[token($keyword_text)] $keyword,)+
            $(#[doc = concat!("`", $mark_text, "`")] #[token($mark_text)] $mark,)+
            /// A name.
            #[regex(r"[_\p{XID_Start}]\p{XID_Continue}*")]
            Identifier,
            /// A name in a module, `stats.mean`.
            #[regex(r"[_\p{XID_Start}]\p{XID_Continue}*(\.[_\p{XID_Start}]\p{XID_Continue}*)+")]
            Qualified,
            /// A number, well formed or not: the lexer checks that.
            #[regex(r"\.?[0-9]", extend)]
            Number,
            /// A text in quotes, well formed or not: the lexer checks that.
            #[regex(r#""([^"\\\n\r]|\\[^\n\r])*"?"#)]
            Text,
            /// An operator other than `=`.
            $(#[token($compound)])+
            #[regex(r#"[[:punct:]\p{S}&&[^(),;#_="\u{FFFD}\p{XID_Start}]]"#)]
            Operator,
            /// A run of characters that no token starts with.
            Unknown,
        }

        /// Every keyword with its text.
        pub const KEYWORDS: &[(Terminal, &str)] = &[$((Terminal::$keyword, $keyword_text)),+];

        /// Every other terminal of a fixed text.
        pub const PUNCTUATION: &[(Terminal, &str)] = &[$((Terminal::$mark, $mark_text)),+];

        /// The operators of more than one character.
        pub const COMPOUND_OPERATORS: &[&str] = &[$($compound),+];
    };
}

terminals! {
    keywords {
        Def "def"
        Extern "extern"
        Import "import"
        Do "do"
        As "as"
        If "if"
        Then "then"
        Else "else"
        For "for"
        While "while"
        In "in"
        Var "var"
        Unary "unary"
        Binary "binary"
    }
    punctuation {
        LeftParenthesis "("
        RightParenthesis ")"
        Comma ","
        Semicolon ";"
        Equals "="
    }
    compound_operators { "==" "!=" "<=" ">=" "&&" "||" "+=" "-=" "*=" "/=" }
}

impl Terminal {
    /// Returns the text, for terminals that have only one.
    pub fn fixed_text(self) -> Option<&'static str> {
        KEYWORDS.iter().chain(PUNCTUATION).find(|entry| entry.0 == self).map(|entry| entry.1)
    }

    /// Returns whether the grammar takes it as an operator.
    pub fn is_operator(self) -> bool {
        matches!(self, Self::Operator | Self::Equals)
    }

    /// Returns whether it is a name, of whatever module.
    pub fn is_name(self) -> bool {
        matches!(self, Self::Identifier | Self::Qualified)
    }

    /// Returns whether its tokens are words: names, operators and texts.
    pub(super) fn has_word(self) -> bool {
        self.is_name() || self.is_operator() || self == Self::Text
    }

    /// Returns whether it can only begin an item, never continue one.
    pub fn begins_item(self) -> bool {
        matches!(self, Self::Def | Self::Extern | Self::Import | Self::Do)
    }

    /// Returns whether it is a word that cannot be a name.
    pub fn is_keyword(self) -> bool {
        KEYWORDS.iter().any(|entry| entry.0 == self)
    }

    /// Returns the name of the kind, as `emit tokens` shows it.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Identifier | Self::Qualified => "identifier",
            Self::Number => "number",
            Self::Text => "text",
            Self::Operator | Self::Equals => "operator",
            Self::Unknown => "unknown",
            Self::LeftParenthesis | Self::RightParenthesis | Self::Comma | Self::Semicolon => "punctuation",
            Self::Def
            | Self::Extern
            | Self::Import
            | Self::Do
            | Self::As
            | Self::If
            | Self::Then
            | Self::Else
            | Self::For
            | Self::While
            | Self::In
            | Self::Var
            | Self::Unary
            | Self::Binary => "keyword",
        }
    }
}

/// Extends a match that begins like a number over all that belongs to it.
fn extend(lexer: &mut logos::Lexer<'_, Terminal>) {
    lexer.bump(number::extent(lexer.slice(), lexer.remainder()));
}

/// What is wrong with a token; the diagnostic is created on request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TokenFault {
    /// The token.
    pub(super) token: u32,
    /// What is wrong with it.
    pub(super) kind: FaultKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FaultKind {
    UnknownCharacter,
    MalformedNumber(super::number::Malformed),
    MalformedText(super::text::MalformedText),
    /// A part of a qualified name is a keyword.
    KeywordInName,
    /// Here the lexer gave up on an item.
    TooLong,
    /// Here the lexer found a name that the engine has no room for.
    TooManyNames(TooManyNames),
    /// Here the lexer was asked to stop.
    Stopped(StopRequest),
}

/// The tokens of one source, as parallel arrays.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub(super) source: Source,
    pub(super) terminals: Vec<Terminal>,
    pub(super) spans: Vec<Span>,
    /// For names, operators and texts an index into `vocabulary`, for numbers an index
    /// into `numbers`, else 0.
    pub(super) payloads: Vec<u32>,
    pub(super) vocabulary: Vec<HeldName>,
    pub(super) numbers: Vec<f64>,
    pub(super) faults: Vec<TokenFault>,
    /// How many tokens at the end are only lookahead: the item they begin is in
    /// the next piece.
    pub(super) lookahead: usize,
}

/// The tokens of a piece of a source, before its words are names.
#[derive(Debug, Default)]
pub(super) struct RawTokens {
    pub(super) terminals: Vec<Terminal>,
    pub(super) spans: Vec<Span>,
    /// As those of [`Tokens`], with indices into `words`.
    pub(super) payloads: Vec<u32>,
    /// Where each word is first.
    pub(super) words: Vec<Span>,
    pub(super) numbers: Vec<f64>,
    pub(super) faults: Vec<TokenFault>,
    pub(super) lookahead: usize,
    /// Whether nothing follows.
    pub(super) is_last: bool,
}

impl RawTokens {
    pub(super) fn len(&self) -> usize {
        self.terminals.len()
    }

    pub(super) fn push(&mut self, terminal: Terminal, span: Span, payload: u32) {
        self.terminals.push(terminal);
        self.spans.push(span);
        self.payloads.push(payload);
    }

    pub(super) fn push_fault(&mut self, kind: FaultKind) {
        self.faults.push(TokenFault { token: self.len() as u32, kind });
    }

    /// Ends the tokens: what follows is not read.
    pub(super) fn push_end(&mut self, why: FaultKind, span: Span) {
        self.push_fault(why);
        self.push(Terminal::Unknown, span, 0);
        (self.lookahead, self.is_last) = (0, true);
    }

    /// Replaces a token and all that follow it by a mistake.
    pub(super) fn cut(&mut self, token: usize, why: FaultKind) {
        let span = self.spans.get(token).copied().unwrap_or_default();
        self.terminals.truncate(token);
        self.spans.truncate(token);
        self.payloads.truncate(token);
        self.faults.retain(|fault| (fault.token as usize) < token);
        self.push_end(why, span);
    }

    pub(super) fn reserve(&mut self, tokens: usize) {
        self.terminals.reserve(tokens);
        self.spans.reserve(tokens);
        self.payloads.reserve(tokens);
    }

    /// Makes names of the words, up to the first for which there is no room. Returns the tokens,
    /// and whether nothing follows.
    pub(super) fn with_names(mut self, source: &Source, names: &Names) -> (Tokens, bool) {
        let words = self.words.iter().map(|span| source.slice(*span));
        let (vocabulary, full) = names.hold_most(words);
        if let Some(full) = full {
            let missing = vocabulary.len() as u32;
            let has_it = |(terminal, word): (&Terminal, &u32)| terminal.has_word() && *word == missing;
            let first = self.terminals.iter().zip(&self.payloads).position(has_it);
            self.cut(first.unwrap_or(self.len()), FaultKind::TooManyNames(full));
        }
        let Self { terminals, spans, payloads, numbers, faults, lookahead, is_last, .. } = self;
        let source = source.clone();
        (Tokens { source, terminals, spans, payloads, vocabulary, numbers, faults, lookahead }, is_last)
    }
}

impl Tokens {
    /// Returns the source they are from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the number of tokens.
    pub fn len(&self) -> usize {
        self.terminals.len()
    }

    /// Returns whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.terminals.is_empty()
    }

    /// Returns the terminals, in order.
    pub fn terminals(&self) -> &[Terminal] {
        &self.terminals
    }

    /// Returns the place of a token; past the last one, the empty place after
    /// it.
    pub fn span(&self, token: usize) -> Span {
        self.spans.get(token).copied().unwrap_or_else(|| {
            let end = self.spans.last().map_or(0, |last| last.end);
            Span { start: end, end }
        })
    }

    /// Returns the text of a token.
    pub fn text(&self, token: usize) -> &str {
        self.source.slice(self.span(token))
    }

    /// Returns the words of a range of tokens, as indices into the vocabulary.
    pub(super) fn words(&self, tokens: std::ops::Range<usize>) -> impl Iterator<Item = u32> {
        let all = self.terminals[tokens.clone()].iter().zip(&self.payloads[tokens]);
        all.filter(|(terminal, _)| terminal.has_word()).map(|(_, word)| *word)
    }

    /// Returns the name of a token that is an identifier or an operator, or the text of one
    /// in quotes.
    pub fn name(&self, token: usize) -> Name {
        self.vocabulary[self.payloads[token] as usize].name()
    }

    /// Returns the value of a token that is a number; 0 if it is malformed.
    pub fn number(&self, token: usize) -> f64 {
        self.numbers[self.payloads[token] as usize]
    }

    /// Returns the lexer's diagnostics for a range of tokens.
    pub fn diagnostics(&self, tokens: std::ops::Range<usize>) -> impl Iterator<Item = Diagnostic> {
        let first = self.faults.partition_point(|fault| (fault.token as usize) < tokens.start);
        let in_range =
            self.faults[first..].iter().take_while(move |fault| (fault.token as usize) < tokens.end);
        in_range.map(|fault| self.diagnostic(*fault))
    }

    /// Returns whether a token stands for source that is not read.
    pub fn is_unread(&self, token: usize) -> bool {
        let fault = self.faults.binary_search_by_key(&token, |fault| fault.token as usize);
        fault.is_ok_and(|fault| match self.faults[fault].kind {
            FaultKind::TooLong | FaultKind::TooManyNames(_) | FaultKind::Stopped(_) => true,
            FaultKind::UnknownCharacter
            | FaultKind::MalformedNumber(_)
            | FaultKind::MalformedText(_)
            | FaultKind::KeywordInName => false,
        })
    }

    fn diagnostic(&self, fault: TokenFault) -> Diagnostic {
        let token = fault.token as usize;
        match fault.kind {
            FaultKind::UnknownCharacter => self.unknown_characters(token),
            FaultKind::KeywordInName => {
                let message = format!("`{}` is not a name", shortened(self.text(token)));
                Diagnostic::error(ErrorCode::UnexpectedToken, &self.source, self.span(token), message)
                    .with_note("a part of it is a keyword")
            }
            FaultKind::TooLong => {
                let message = format!("an item of more than {LONGEST_ITEM} tokens");
                Diagnostic::error(ErrorCode::SourceTooLong, &self.source, self.span(token), message)
                    .with_note("the limit is reached")
                    .with_help("divide it into functions, or pass the data in another way")
            }
            FaultKind::TooManyNames(full) => {
                let message = full.to_string();
                Diagnostic::error(ErrorCode::TooMany, &self.source, self.span(token), message)
                    .with_note("one name too many; what follows is not read")
            }
            FaultKind::Stopped(request) => request.while_reading(&self.source, self.span(token)),
            FaultKind::MalformedText(malformed) => {
                let message = format!("`{}` is not a well-formed text", shortened(self.text(token)));
                let whole = self.span(token);
                let within =
                    |part: Span| Span { start: whole.start + part.start, end: whole.start + part.end };
                let place = malformed.place().map_or(whole, within);
                Diagnostic::error(ErrorCode::MalformedText, &self.source, place, message)
                    .with_note(malformed.reason())
                    .with_help(malformed.advice())
            }
            FaultKind::MalformedNumber(malformed) => {
                let message = format!("`{}` is not a well-formed number", shortened(self.text(token)));
                Diagnostic::error(ErrorCode::MalformedNumber, &self.source, self.span(token), message)
                    .with_note(malformed.reason())
                    .with_help(malformed.advice(self.text(token)))
            }
        }
    }

    fn unknown_characters(&self, token: usize) -> Diagnostic {
        let text = self.text(token);
        let first = text.chars().next().unwrap_or('\0');
        let message = match text.chars().count() {
            0 | 1 => format!("unknown character {}", described(first)),
            more => format!("{more} unknown characters, the first is {}", described(first)),
        };
        let diagnostic =
            Diagnostic::error(ErrorCode::UnknownCharacter, &self.source, self.span(token), message)
                .with_note("has no meaning in Kaleidoscope");
        match look_alike(first) {
            None if first == '²' => diagnostic.with_help("write `x ^ 2`"),
            None if first == '³' => diagnostic.with_help("write `x ^ 3`"),
            None if first == '⌊' => diagnostic.with_help("write `floor(x)`"),
            None if first == '⌈' => diagnostic.with_help("write `ceil(x)`"),
            Some(ascii) => diagnostic.with_help(format!("did you mean `{ascii}`?")),
            None => diagnostic,
        }
    }

    /// Returns the token that closes what opens at token `first`, of at most
    /// `most` tokens.
    ///
    /// # Errors
    /// The token at which the search ended: one that begins an item, or the end.
    pub fn closing(&self, first: usize, (open, close): (&str, &str), most: usize) -> Result<usize, usize> {
        let terminals = self.terminals();
        let mut depth = 0_u32;
        for (at, terminal) in terminals.iter().enumerate().skip(first).take(most) {
            if terminal.begins_item() {
                return Err(at);
            }
            match self.text(at) {
                text if text == open => depth += 1,
                text if text == close && depth == 1 => return Ok(at),
                text if text == close => depth -= 1,
                _ => {}
            }
        }
        Err(terminals.len())
    }
}

/// Returns a text from the program, cut to a length that fits into a message.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn described(character: char) -> String {
    let code = character as u32;
    if character.is_control() || character.is_whitespace() || is_invisible(character) {
        format!("U+{code:04X}")
    } else {
        format!("`{character}` (U+{code:04X})")
    }
}

/// Returns the ASCII character that a typographic one was probably meant to be.
fn look_alike(character: char) -> Option<char> {
    Some(match character {
        '\u{2010}'..='\u{2015}' | '\u{FE63}' | '\u{FF0D}' => '-',
        '（' => '(',
        '）' => ')',
        '，' | '、' => ',',
        '；' | ';' => ';',
        '！' => '!',
        '＊' => '*',
        '／' => '/',
        '％' => '%',
        '＆' => '&',
        '·' => '*',
        '．' => '.',
        '＃' => '#',
        _ => return None,
    })
}
