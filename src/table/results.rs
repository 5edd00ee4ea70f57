//! The results of rows, and writing them as CSV.

use super::csv::{HeaderRow, TableRows};
use super::field::write_field;
use super::number::write_number;
use super::output::TableOutput;
use crate::terminal::replacement::Replacement;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// The results of some rows.
#[derive(Default)]
pub(super) struct RowResults {
    pub(super) values: Vec<f64>,
    /// The bits of rows that have failed.
    pub(super) failed: Vec<u8>,
}

impl RowResults {
    /// Makes place for the results of as many rows; no row has failed.
    pub(super) fn reset(&mut self, rows: usize) {
        self.values.resize(rows, 0.0);
        self.failed.clear();
        self.failed.resize(rows.div_ceil(8), 0);
    }

    /// Returns the number of rows that have failed.
    pub(super) fn failures(&self) -> usize {
        self.failed.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// Returns whether a row has failed.
    pub(super) fn has_failed(&self, row: usize) -> bool {
        self.failed[row / 8] >> (row % 8) & 1 == 1
    }
}

/// A table that is being written.
pub(super) struct CsvWriter {
    target: CsvTarget,
    delimiter: u8,
    line_end: &'static [u8],
    /// Whether it has the results and no other column.
    is_alone: bool,
    text: Vec<u8>,
}

/// Where a table is written.
enum CsvTarget {
    Stream(Box<dyn Write>),
    File(Replacement),
    Gzip(Box<GzEncoder<Replacement>>),
}

impl CsvWriter {
    /// Creates the table with a header that ends with the
    /// name of the results.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn new(
        output: TableOutput<'_>,
        delimiter: u8,
        header: &HeaderRow,
        name: &str,
        is_alone: bool,
    ) -> io::Result<Self> {
        let target = match output {
            TableOutput::File(path) if output.is_gzip() => {
                CsvTarget::Gzip(Box::new(GzEncoder::new(Replacement::of(path)?, Compression::default())))
            }
            TableOutput::File(path) => CsvTarget::File(Replacement::of(path)?),
            TableOutput::Stream(stream) => CsvTarget::Stream(stream),
        };
        let mut writer = Self { target, delimiter, line_end: header.line_end, is_alone, text: Vec::new() };
        writer.begin(&header.bytes);
        write_field(name, delimiter, &mut writer.text);
        writer.text.extend_from_slice(writer.line_end);
        writer.send()?;
        Ok(writer)
    }

    /// Writes the first `count` of some rows with their results.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn rows(&mut self, rows: &TableRows, results: &RowResults, count: usize) -> io::Result<()> {
        let has_failures = results.failures() > 0;
        for row in 0..count {
            self.begin(rows.row(row));
            let has_failed = has_failures && results.has_failed(row);
            if rows.has_numbers(row) && !has_failed {
                write_number(results.values[row], &mut self.text);
            } else if self.is_alone {
                // An empty line would be no row.
                self.text.extend_from_slice(b"\"\"");
            }
            self.text.extend_from_slice(self.line_end);
        }
        self.send()
    }

    /// Puts a file in its place: it is complete.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn finish(self) -> io::Result<()> {
        match self.target {
            CsvTarget::Stream(mut stream) => stream.flush(),
            CsvTarget::File(file) => file.commit(),
            CsvTarget::Gzip(encoder) => encoder.finish()?.commit(),
        }
    }

    /// Writes the other columns of a row.
    fn begin(&mut self, row: &[u8]) {
        if !self.is_alone {
            self.text.extend_from_slice(row);
            self.text.push(self.delimiter);
        }
    }

    /// Hands over what was written.
    fn send(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        match &mut self.target {
            CsvTarget::Stream(stream) => stream.write_all(&text).and_then(|()| stream.flush()),
            CsvTarget::File(file) => file.write_all(&text),
            CsvTarget::Gzip(encoder) => encoder.write_all(&text),
        }?;
        self.text = text;
        self.text.clear();
        Ok(())
    }
}
