//! Where the items of a text may end, seen from its tokens alone.
//!
//! The grammar never has an operand behind an operand, but in the heads of
//! definitions. So where one stands, or an operator that is not binary, or a
//! keyword that begins an item, an item may have ended before it; whether it
//! has, the parser says. Nowhere else has one ended, mistakes aside. This is
//! found in one pass over a text that grows.

use super::operator::Operators;
use super::token::Terminal;
use crate::name::Names;
use logos::Logos;

/// The search, as far as it has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seams {
    /// How many bytes of the text have been looked at.
    seen: usize,
    before: Before,
}

/// What stands before the next token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Before {
    /// Nothing, or what an operand goes on from.
    #[default]
    Open,
    /// A name, which `(` makes a call.
    Name,
    /// The end of another operand.
    Operand,
}

impl Seams {
    /// Whether an item may have ended in what is new of `text`: what it had
    /// before, whole lines, has not changed.
    pub fn any(&mut self, text: &str, operators: &Operators, names: &Names) -> bool {
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

    /// Whether an item may have ended before a token.
    fn token(&mut self, terminal: Terminal, is_binary: impl Fn() -> bool) -> bool {
        let is_behind_operand = self.before != Before::Open;
        let (ends, before) = match terminal {
            Terminal::Identifier => (is_behind_operand, Before::Name),
            Terminal::Number => (is_behind_operand, Before::Operand),
            Terminal::If | Terminal::For | Terminal::Var => (is_behind_operand, Before::Open),
            Terminal::LeftParenthesis => (self.before == Before::Operand, Before::Open),
            Terminal::RightParenthesis => (false, Before::Operand),
            Terminal::Operator => (is_behind_operand && !is_binary(), Before::Open),
            Terminal::Def | Terminal::Extern | Terminal::Import | Terminal::Semicolon | Terminal::Unknown => {
                (true, Before::Open)
            }
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
