//! From text to syntax trees: lexer, operator table, parser, printer.
//!
//! Pure: text and tables in, values and diagnostics out.

pub mod ast;
pub mod lexer;
mod number;
pub mod operator;
pub mod parser;
pub mod printer;
pub mod token;
mod tree;

/// Whether a text is an identifier, and no keyword.
pub fn is_identifier(text: &str) -> bool {
    let names = crate::name::Names::new();
    let source = crate::source::Source::new("", text);
    lexer::lex(&source, &names).is_ok_and(|tokens| tokens.terminals() == [token::Terminal::Identifier])
}
