//! Where the items of a source may end, judging by its tokens alone.
//!
//! In the grammar, an operand never follows an operand, except in the heads of
//! definitions. So where one does, or an operator that is not binary, or a
//! keyword that begins an item, an item may have ended before it; the parser
//! decides whether it has. Mistakes aside, items end nowhere else. This takes
//! one pass over a growing text.

use crate::name::Names;
use crate::syntax::operator::Operators;
use crate::syntax::token::Terminal;
use logos::Logos;

/// The state of the search.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seams {
    /// How many bytes of the text have been examined.
    seen: usize,
    before: Before,
}

/// What is before the next token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Before {
    /// Nothing, or something that an operand may follow.
    #[default]
    Open,
    /// A name, which `(` makes a call.
    Name,
    /// The end of another operand.
    Operand,
}

impl Seams {
    /// Returns whether an item may have ended in the new part of `text`; the
    /// earlier part, whole lines, must not have changed.
    pub(super) fn any(&mut self, text: &str, operators: &Operators, names: &Names) -> bool {
        let mut found = false;
        let mut tokens = Terminal::lexer(&text[self.seen..]);
        self.seen = text.len();
        while let Some(terminal) = tokens.next() {
            let is_binary = || {
                let name = names.get(tokens.slice());
                name.is_some_and(|name| operators.binary(name).is_some())
            };
            found |= self.token(terminal.unwrap_or(Terminal::Unknown), is_binary);
        }
        found
    }

    /// Returns whether an item may have ended before a token.
    fn token(&mut self, terminal: Terminal, is_binary: impl Fn() -> bool) -> bool {
        let is_behind_operand = self.before != Before::Open;
        let (ends, before) = match terminal {
            Terminal::Identifier | Terminal::Qualified => (is_behind_operand, Before::Name),
            Terminal::As => (false, Before::Name),
            Terminal::Number | Terminal::Text => (is_behind_operand, Before::Operand),
            Terminal::If | Terminal::For | Terminal::While | Terminal::Var => {
                (is_behind_operand, Before::Open)
            }
            Terminal::LeftParenthesis => (self.before == Before::Operand, Before::Open),
            Terminal::RightParenthesis => (false, Before::Operand),
            Terminal::Operator => (is_behind_operand && !is_binary(), Before::Open),
            Terminal::Def
            | Terminal::Do
            | Terminal::Extern
            | Terminal::Import
            | Terminal::Semicolon
            | Terminal::Unknown => (true, Before::Open),
            Terminal::Equals
            | Terminal::Comma
            | Terminal::Then
            | Terminal::Else
            | Terminal::In
            | Terminal::Unary
            | Terminal::Binary => (false, Before::Open),
        };
        self.before = before;
        ends
    }
}
