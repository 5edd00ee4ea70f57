//! From text to syntax trees: lexer, operator table, parser, printer.
//!
//! Pure: text and tables in, values and diagnostics out.

pub mod ast;
pub mod operator;
