//! Tables: a formula over their columns, from a file to another one.

mod number;
mod field;
mod format;
mod csv;
mod error;
mod header;
mod formula;
mod output;
mod results;
#[cfg_attr(not(feature = "parquet"), path = "table/parquet/absent.rs")]
mod parquet;
mod input;
mod writer;
mod progress;
mod mapping;

use crate::context::Context;
use crate::kernel::Run;
use crate::terminal::interrupt::Idle;
use csv::TableReader;
pub(crate) use error::MapError;
use formula::RowFormula;
use header::TableHeader;
use input::TableInput;
use mapping::TableMapping;
pub(crate) use output::TableOutput;
use parquet::{ParquetReader, ParquetWriter, is_parquet};
use progress::ProgressLine;
use results::CsvWriter;
use std::fs::File;
use std::io::{self, IsTerminal, Write as _};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Instant;
use writer::TableWriter;

/// What is computed of which table.
pub(crate) struct TableRequest<'a> {
    /// An expression of columns, or the name of a function whose parameters are columns.
    pub(crate) formula: &'a str,
    /// The file of the table; standard input if `None`.
    pub(crate) input: Option<&'a Path>,
    pub(crate) output: TableOutput<'a>,
    /// The name of the column of results; the formula if `None`.
    pub(crate) name: Option<&'a str>,
    /// Whether the results are written only.
    pub(crate) is_alone: bool,
    /// The number of threads that compute.
    pub(crate) threads: usize,
    /// What is between two fields.
    pub(crate) delimiter: u8,
    /// Whether the result of a row with a mistake is empty.
    pub(crate) skips_failures: bool,
    /// Whether is said how the formula is computed.
    pub(crate) explains: bool,
    /// How many rows are computed; all if `None`.
    pub(crate) rows: Option<usize>,
    pub(crate) deadline: Option<Instant>,
}

impl TableRequest<'_> {
    /// Reads a number of threads.
    ///
    /// # Errors
    /// What it should be.
    pub(crate) fn read_threads(text: &str) -> Result<usize, &'static str> {
        let count = text.parse().ok().filter(|count| (1..=1024).contains(count));
        count.ok_or("a number of threads is between 1 and 1024")
    }

    /// Reads what is between two fields.
    ///
    /// # Errors
    /// What it should be.
    pub(crate) fn read_delimiter(text: &str) -> Result<u8, &'static str> {
        let is_fitting = |byte: &u8| {
            let is_in_numbers = byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
            byte.is_ascii() && !is_in_numbers && !b"\"\r\n".contains(byte)
        };
        match text.as_bytes() {
            [byte] if is_fitting(byte) => Ok(*byte),
            b"\\t" => Ok(b'\t'),
            _ => Err("it is one ASCII character that is not in numbers, such as `;`, or `\\t`"),
        }
    }
}

/// Computes a formula in the rows of a table, and writes the table with the results. What
/// interrupts the context stops it; `idle` is told while it waits for input. Returns the
/// number of rows, and whether there are more.
///
/// # Errors
/// The first thing that is wrong.
pub(crate) fn compute(
    request: TableRequest<'_>,
    context: &mut Context,
    note: &mut dyn FnMut(&str),
    idle: Option<&Idle>,
) -> Result<(usize, bool), MapError> {
    let TableRequest { delimiter, is_alone, skips_failures, .. } = request;
    let mut input = open(request.input, delimiter).map_err(|error| error.swapped(request.formula))?;
    let mut read = || input.header(delimiter);
    let (header_row, header) = match idle {
        Some(idle) => idle.during(read)?,
        None => read()?,
    };
    let RowFormula { kernel, columns } = RowFormula::new(request.formula, &header, context)?;
    if request.explains {
        kernel.explain().iter().for_each(|remark| note(&format!("note: {remark}")));
    }
    let name = request.result_name(&header)?;
    let parameters = columns.iter().map(|column| column.name.clone()).collect();
    let writes_parquet = request.output.is_parquet();
    let writes_text = !writes_parquet && !is_alone;
    input.read_numbers(columns, skips_failures, writes_text.then_some(delimiter))?;

    let mut run = Run::new();
    (run.threads, run.deadline) = (request.threads, request.deadline);
    run.stop_with(context);
    let path = match &request.output {
        TableOutput::File(path) => Some(*path),
        TableOutput::Stream(_) => None,
    };
    let output = path.map(|path| path.display().to_string());
    let failed = |error| MapError::Write { file: output.clone(), error };
    let writer = if let (Some(path), Some(file), true) = (path, &output, writes_parquet) {
        let source = match &input {
            _ if is_alone => None,
            TableInput::Parquet(reader) => Some(reader.source()),
            TableInput::Csv(_) => return Err(MapError::NoTypes(file.clone())),
        };
        ParquetWriter::new(path, source, name).map(Box::new).map(TableWriter::Parquet)
    } else {
        let name = name.to_owned();
        CsvWriter::new(request.output, delimiter, &header_row, &name, is_alone).map(TableWriter::Csv)
    };
    let (writer, progress) = (writer.map_err(failed)?, ProgressLine::new(path.is_none()));
    let (output, input_name) = (output.clone(), input.name().to_owned());
    let mapping = TableMapping {
        kernel: &kernel,
        run,
        parameters,
        input: input_name,
        writer,
        output,
        skips_failures,
        rows: request.rows.unwrap_or(usize::MAX),
        progress,
    };
    let done = mapping.run(input)?;
    if let Some(text) = done.described() {
        note(&format!("note: {text}"));
    }
    Ok((done.rows, done.has_more))
}

impl<'a> TableRequest<'a> {
    /// Returns the name of the column of results.
    fn result_name(&self, header: &TableHeader) -> Result<&'a str, MapError> {
        let name = self.name.unwrap_or(self.formula.trim());
        if !self.is_alone && header.has(name) {
            return Err(MapError::TakenName(name.to_owned()));
        }
        Ok(name)
    }
}

/// Opens the table.
fn open(path: Option<&Path>, delimiter: u8) -> Result<TableInput, MapError> {
    let name = path.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string());
    let file = match path {
        Some(path) => File::open(path),
        None => {
            if io::stdin().is_terminal() && io::stderr().is_terminal() {
                let _ = writeln!(io::stderr(), "The table is read from the terminal; Ctrl-D ends it.");
            }
            io::stdin().as_fd().try_clone_to_owned().map(File::from)
        }
    };
    match file {
        Ok(file) if is_parquet(&file) => Ok(TableInput::Parquet(Box::new(ParquetReader::open(file, name)?))),
        Ok(file) => Ok(TableInput::Csv(Box::new(TableReader::new(file, name, delimiter)))),
        Err(error) => Err(MapError::Open(name, error)),
    }
}
