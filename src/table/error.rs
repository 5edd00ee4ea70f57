//! Why a table is not written to its end.

use super::csv::TableError;
use crate::context::Context;
use crate::error::Error;
use crate::terminal::exit::Exit;
use crate::terminal::outcome::printed;
use crate::terminal::read::ReadError;
use crate::terminal::report::Reporter;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Why a table is not written to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MapError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Table(#[from] TableError),
    #[error("{0}: {1}")]
    Open(String, io::Error),
    #[error("{0}: {1}; the formula comes first: `kal map FORMULA {2}`")]
    Swapped(String, io::Error, String),
    /// The table cannot be written, to a file or else to standard output.
    #[error("cannot write {}: {error}", .file.as_deref().unwrap_or("to standard output"))]
    Write { file: Option<String>, error: io::Error },
    #[error("cannot write what the program prints: {0}")]
    Print(io::Error),
    #[error("the table has a column `{0}`: give the results another name with --name")]
    TakenName(String),
    #[error("{0}: the columns of a CSV table have no types; with --alone, the results are written")]
    NoTypes(String),
    #[error("cannot start a thread to read the table: {0}")]
    Thread(io::Error),
    /// The formula is refused, or a row failed, which is described.
    #[error("{0}")]
    Kal(Error, Option<String>),
    #[error("timed out")]
    Deadline,
    /// What is wrong has been reported.
    #[error("reported")]
    Reported(Exit),
}

impl From<Error> for MapError {
    fn from(error: Error) -> Self {
        Self::Kal(error, None)
    }
}

impl MapError {
    /// Returns the error for a table that is not there, with what is wrong if it is named where
    /// the formula is expected.
    pub(super) fn swapped(self, formula: &str) -> Self {
        match self {
            Self::Open(name, error) if Path::new(formula).is_file() => {
                Self::Swapped(name, error, formula.to_owned())
            }
            other => other,
        }
    }

    /// Reports what is wrong, and returns how the command ends.
    pub(crate) fn report(self, context: &mut Context, reporter: &mut Reporter) -> Exit {
        match self {
            Self::Reported(exit) => exit,
            Self::Write { error, .. } | Self::Print(error) if error.kind() == ErrorKind::BrokenPipe => {
                Exit::BrokenPipe
            }
            Self::Kal(error, place) => {
                let exit = printed(context, Err(error), reporter);
                place.into_iter().for_each(|place| reporter.line(&place));
                exit
            }
            Self::Deadline => {
                reporter.problem(&self.to_string());
                Exit::Deadline
            }
            Self::Read(_)
            | Self::Table(_)
            | Self::Open(..)
            | Self::Swapped(..)
            | Self::Write { .. }
            | Self::Print(_)
            | Self::TakenName(_)
            | Self::NoTypes(_)
            | Self::Thread(_) => {
                reporter.problem(&self.to_string());
                Exit::Failed
            }
        }
    }
}
