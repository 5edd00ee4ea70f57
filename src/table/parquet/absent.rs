//! What stands for tables in Parquet in builds without them: there are none.

use super::csv::{NumberColumn, TableError, TableRows};
use super::format::PARQUET;
use super::results::RowResults;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Returns whether a file begins as tables in Parquet do; a pipe does not.
pub(super) fn is_parquet(file: &File) -> bool {
    let mut magic = [0; 4];
    file.read_exact_at(&mut magic, 0).is_ok() && &magic == PARQUET
}

pub(super) struct ParquetReader(Infallible);

impl ParquetReader {
    pub(super) fn open(_: File, name: String) -> Result<Self, TableError> {
        Err(TableError::Parquet(name, "this build of Kal has no support for Parquet".into()))
    }

    pub(super) fn name(&self) -> &str {
        match self.0 {}
    }

    pub(super) fn names(&self) -> std::iter::Empty<&str> {
        match self.0 {}
    }

    pub(super) fn source(&self) -> ParquetSource {
        match self.0 {}
    }

    pub(super) fn read_numbers(&mut self, _: Vec<NumberColumn>, _: Option<u8>) -> Result<(), TableError> {
        match self.0 {}
    }

    pub(super) fn fill(&mut self, _: &mut TableRows) {
        match self.0 {}
    }
}

pub(super) struct ParquetSource(Infallible);

pub(super) struct ParquetWriter(Infallible);

impl ParquetWriter {
    pub(super) fn new(_: &Path, _: Option<ParquetSource>, _: &str) -> io::Result<Self> {
        Err(io::Error::other("this build of Kal has no support for Parquet"))
    }

    pub(super) fn rows(&mut self, _: &TableRows, _: &RowResults, _: usize) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self.0 {}
    }
}
