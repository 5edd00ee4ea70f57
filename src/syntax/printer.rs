//! Writing tokens and trees back as text.
//!
//! Three forms: a list of tokens, trees as S-expressions, and Kaleidoscope
//! source that reads back as the same tree. None of them recurses, so a tree
//! may be as deep as the parser allows.

mod source;
mod symbolic;

pub use source::source;
pub use symbolic::symbolic;

use super::token::Tokens;
use crate::diagnostic::visible::visible;
use std::fmt::Write;

/// One line per token: `line:column kind text`.
pub fn token_list(tokens: &Tokens) -> String {
    let text = tokens.source().text();
    let mut list = String::new();
    let (mut offset, mut line, mut column) = (0, 1, 1);
    for token in 0..tokens.len() {
        let start = tokens.span(token).start as usize;
        for character in text.get(offset..start).unwrap_or_default().chars() {
            (line, column) = if character == '\n' { (line + 1, 1) } else { (line, column + 1) };
        }
        offset = start;
        let kind = tokens.terminals()[token].kind();
        let _ = write!(list, "{line}:{column} {kind} ");
        list.extend(tokens.text(token).chars().map(visible));
        list.push('\n');
    }
    list
}

/// A number as the lexer reads it back.
fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude.is_infinite() {
        "1e999".to_owned()
    } else if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}
