//! `kal map`: a formula over the columns of a table.

mod definitions;
mod number;
mod field;
mod table;
mod error;
mod header;
mod formula;
mod results;
#[cfg_attr(not(feature = "parquet"), path = "map/parquet/absent.rs")]
mod parquet;
mod input;
mod writer;
mod progress;
mod mapping;

use super::given::Given;
use crate::context::Context;
use crate::kernel::Run;
use crate::terminal::exit::Exit;
use crate::terminal::interrupt::Idle;
use crate::terminal::report::Reporter;
use clap::{Args, ValueEnum, ValueHint};
use definitions::define;
use error::MapError;
use formula::RowFormula;
use header::TableHeader;
use input::TableInput;
use mapping::TableMapping;
use parquet::{ParquetReader, ParquetWriter, is_parquet};
use progress::ProgressLine;
use results::CsvWriter;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Instant;
use table::TableReader;
use writer::TableWriter;

#[derive(Args, Debug)]
#[command(after_help = "A column is a variable of its name in the header. Where that is no name of Kal,
each character that cannot be in a name is `_`, and a digit or a keyword has `_`
before it: \"unit price\" is `unit_price`, \"2020\" is `_2020`. Columns that
FORMULA does not use may hold anything. A row in which a field that it uses is
empty has an empty result.

Examples:
  kal map 'price * (1 + rate)' --in sales.csv --out gross.csv --name gross
  kal map tax --load tax.kal --in incomes.csv | head")]
pub(super) struct MapArguments {
    #[command(flatten)]
    pub(super) given: Given,
    /// An expression of columns, or the name of a function whose parameters are columns
    #[arg(allow_hyphen_values = true)]
    formula: String,
    /// The table: CSV with a header, or Parquet; `-` is standard input
    #[arg(long = "in", value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    input: PathBuf,
    /// Where the table is written with the results: as Parquet if it ends with `.parquet`, else
    /// as CSV; `-` is standard output. A file is replaced when all is written, and may be the
    /// one that is read
    #[arg(long = "out", value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// Run a file of definitions before, after the texts of -e; may be given several times
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    load: Vec<PathBuf>,
    /// The name of the column of results; FORMULA if not given
    #[arg(long, value_name = "COLUMN")]
    name: Option<String>,
    /// Write the results only
    #[arg(long)]
    alone: bool,
    /// How many threads compute; another one reads
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = threads)]
    threads: usize,
    /// What is between two fields: one character, or `\t`
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = delimiter)]
    delimiter: u8,
    /// What to do in a row with a field that is no number, or in which the function fails
    #[arg(long, value_name = "WHAT", default_value = "stop")]
    on_error: OnRowError,
    /// Say on standard error how FORMULA is computed: many rows at once, or why not
    #[arg(long)]
    explain: bool,
}

/// What to do in a row without a result.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum OnRowError {
    /// End with an error that names the line
    Stop,
    /// Leave the result empty, and count such rows
    Empty,
}

fn threads(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=1024).contains(count));
    count.ok_or_else(|| "a number of threads is between 1 and 1024".into())
}

fn delimiter(text: &str) -> Result<u8, String> {
    let is_fitting = |byte: &u8| {
        let is_in_numbers = byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
        byte.is_ascii() && !is_in_numbers && !b"\"\r\n".contains(byte)
    };
    match text.as_bytes() {
        [byte] if is_fitting(byte) => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err("it is one ASCII character that is not in numbers, such as `;`, or `\\t`".into()),
    }
}

/// Executes `kal map`.
pub(super) fn map(
    arguments: &MapArguments,
    deadline: Option<Instant>,
    context: &mut Context,
    reporter: &mut Reporter,
    idle: &Idle,
) -> Exit {
    context.heed_earlier_interrupts();
    match mapped(arguments, deadline, context, reporter, idle) {
        Ok(()) => Exit::Fine,
        Err(error) => error.report(context, reporter),
    }
}

fn mapped(
    arguments: &MapArguments,
    deadline: Option<Instant>,
    context: &mut Context,
    reporter: &mut Reporter,
    idle: &Idle,
) -> Result<(), MapError> {
    define(&arguments.given.sources(), &arguments.load, context, reporter, idle)?;
    let mut reader = open(&arguments.input, arguments.delimiter)?;
    let (header_row, header) = idle.during(|| reader.header(arguments.delimiter))?;
    let RowFormula { kernel, columns } = RowFormula::new(&arguments.formula, &header, context)?;
    if arguments.explain {
        kernel.explain().iter().for_each(|remark| reporter.line(&format!("note: {remark}")));
    }
    let name = arguments.result_name(&header)?;
    let skips_failures = arguments.on_error == OnRowError::Empty;
    let parameters = columns.iter().map(|column| column.name.clone()).collect();
    let writes_parquet = arguments.writes_parquet();
    let writes_text = !writes_parquet && !arguments.alone;
    reader.read_numbers(columns, skips_failures, writes_text.then_some(arguments.delimiter))?;

    let mut run = Run::new();
    (run.threads, run.deadline) = (arguments.threads, deadline);
    idle.interrupt_instead(run.interrupt_handle());
    let path = path(&arguments.output);
    let (input, output) = (reader.name().to_owned(), shown(path, "standard output"));
    let failed = |error| MapError::Write(output.clone(), error);
    let writer = if let (Some(path), true) = (path, writes_parquet) {
        let source = match &reader {
            _ if arguments.alone => None,
            TableInput::Parquet(reader) => Some(reader.source()),
            TableInput::Csv(_) => return Err(MapError::NoTypes(output)),
        };
        ParquetWriter::new(path, source, name).map(Box::new).map(TableWriter::Parquet)
    } else {
        let (delimiter, alone) = (arguments.delimiter, arguments.alone);
        CsvWriter::new(path, delimiter, &header_row, name, alone).map(TableWriter::Csv)
    };
    let (writer, progress) = (writer.map_err(failed)?, ProgressLine::new(path.is_none()));
    let output = output.clone();
    let mapping =
        TableMapping { kernel: &kernel, run, parameters, input, writer, output, skips_failures, progress };
    if let Some(note) = mapping.run(reader)?.described() {
        reporter.line(&format!("note: {note}"));
    }
    // What the definitions have printed.
    context.output().flush().map_err(failed)
}

impl MapArguments {
    /// Returns the name of the column of results.
    fn result_name(&self, header: &TableHeader) -> Result<&str, MapError> {
        let name = self.name.as_deref().unwrap_or(self.formula.trim());
        if !self.alone && header.has(name) {
            return Err(MapError::TakenName(name.to_owned()));
        }
        Ok(name)
    }

    /// Returns whether the table is written as Parquet.
    fn writes_parquet(&self) -> bool {
        self.output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
    }
}

/// Returns the path of an argument; `None` for `-`.
fn path(argument: &Path) -> Option<&Path> {
    Some(argument).filter(|path| path.as_os_str() != "-")
}

fn shown(path: Option<&Path>, otherwise: &str) -> String {
    path.map_or(otherwise.into(), |path| path.display().to_string())
}

/// Opens the table.
fn open(argument: &Path, delimiter: u8) -> Result<TableInput, MapError> {
    let path = path(argument);
    let name = shown(path, "standard input");
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
