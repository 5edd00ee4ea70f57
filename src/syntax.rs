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
