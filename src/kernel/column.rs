//! Columns, and why an output is not complete.

use crate::error::Error;
use std::fmt;

/// The values of an argument.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    /// One for each row.
    Values(&'a [f64]),
    /// The same one for every row.
    Every(f64),
}

/// Why an output is not complete.
#[derive(Clone, Debug)]
pub struct RowError {
    /// The lowest row that failed, or was not complete when the run was stopped: all rows
    /// before it are complete. `None` if the columns do not fit the function or one
    /// another.
    pub row: Option<usize>,
    /// What happened there.
    pub error: Error,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row {
            Some(row) => write!(f, "row {row}: {}", self.error),
            None => self.error.fmt(f),
        }
    }
}

impl std::error::Error for RowError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl From<Error> for RowError {
    fn from(error: Error) -> Self {
        Self { row: None, error }
    }
}
