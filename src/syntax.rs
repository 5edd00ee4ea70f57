//! From source to syntax trees: lexer, operator table, parser, printer.
//!
//! Pure: text and tables in, values and diagnostics out.

pub mod ast;
pub(crate) mod comment;
pub mod foreign;
pub mod lexer;
pub mod lint;
mod number;
pub mod operator;
pub mod parser;
pub mod printer;
pub(crate) mod text;
pub mod token;
mod tree;

use crate::name::Names;
use crate::source::Source;
use token::Terminal;

/// Returns whether a text is an identifier, not a keyword.
pub fn is_identifier(text: &str) -> bool {
    is_identifier_in(text, &Names::new())
}

/// Returns whether a text is an identifier, not a keyword; uses an existing
/// table of names.
pub fn is_identifier_in(text: &str, names: &Names) -> bool {
    only_token(text, names) == Some(Terminal::Identifier)
}

/// Returns whether a text is a name, of the program or of a module.
pub fn is_name(text: &str) -> bool {
    is_name_in(text, &Names::new())
}

/// Returns whether a text is a name; uses an existing table of names.
pub fn is_name_in(text: &str, names: &Names) -> bool {
    let is_keyword = |part| only_token(part, names) != Some(Terminal::Identifier);
    only_token(text, names).is_some_and(Terminal::is_name) && !text.split('.').any(is_keyword)
}

/// Returns whether a text is an operator.
pub fn is_operator_in(text: &str, names: &Names) -> bool {
    only_token(text, names).is_some_and(Terminal::is_operator)
}

/// Returns the value of a number as programs write it: without a sign.
#[cfg(feature = "cli")]
pub(crate) fn number(text: &str) -> Option<f64> {
    // The lexer asks only for what begins like one.
    number::value(text).ok().filter(|_| text.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Returns the only token of a text; `None` if there are more or none.
fn only_token(text: &str, names: &Names) -> Option<Terminal> {
    let has_more = text.contains(|character: char| character.is_whitespace() || character == '#');
    let tokens = lexer::lex(&Source::new("", text), names).ok().filter(|_| !has_more)?;
    match *tokens.terminals() {
        [token] => Some(token),
        _ => None,
    }
}
