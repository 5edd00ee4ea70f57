//! The stages that `kal emit` prints, and why it does not.

use crate::error::Error;
use crate::terminal::read::ReadError;
use clap::ValueEnum;

/// What to print.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmitStage {
    /// One token a line, with its place
    Tokens,
    /// The syntax trees
    Ast,
    /// Interpreted instructions, with the places they were made for; with -o,
    /// a stored program that `kal` runs
    Tape,
    /// LLVM IR, optimised
    Ir,
    /// Assembly
    Asm,
    /// An object file
    Obj,
}

/// Why nothing is emitted.
pub(super) enum Problem {
    /// The diagnostics have been drawn.
    Reported,
    Message(String),
    BrokenPipe,
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        Self::Message(error.to_string())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Message(error.to_string())
    }
}
