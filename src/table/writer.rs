//! Writing a table with the results, in its format.

use super::csv::TableRows;
use super::parquet::ParquetWriter;
use super::results::{CsvWriter, RowResults};
use std::io;

/// A table that is being written.
pub(super) enum TableWriter {
    Csv(CsvWriter),
    Parquet(Box<ParquetWriter>),
}

impl TableWriter {
    /// Writes the first `count` of some rows with their results.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn rows(&mut self, rows: &TableRows, results: &RowResults, count: usize) -> io::Result<()> {
        match self {
            Self::Csv(writer) => writer.rows(rows, results, count),
            Self::Parquet(writer) => writer.rows(rows, results, count),
        }
    }

    /// Puts a file in its place: it is complete.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv(writer) => writer.finish(),
            Self::Parquet(writer) => writer.finish(),
        }
    }
}
