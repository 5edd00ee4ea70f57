//! `kal map`: a formula over the columns of a table.

mod definitions;

use super::given::Given;
use crate::context::Context;
use crate::table::{MapError, TableOutput, TableRequest, compute};
use crate::terminal::exit::Exit;
use crate::terminal::interrupt::Idle;
use crate::terminal::report::Reporter;
use clap::{Args, ValueEnum, ValueHint};
use definitions::define;
use std::path::{Path, PathBuf};
use std::time::Instant;

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
    /// The table, as with --in
    #[arg(value_name = "FILE", conflicts_with = "input", value_hint = ValueHint::FilePath)]
    table: Option<PathBuf>,
    /// The table: CSV with a header, or Parquet, which may be compressed with gzip; `-` is
    /// standard input
    #[arg(long = "in", value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    input: PathBuf,
    /// Where the table is written with the results: as Parquet if it ends with `.parquet`, else
    /// as CSV, compressed if it ends with `.gz`; `-` is standard output: what FORMULA prints then goes to standard error. A file
    /// is replaced when all is written, and may be the one that is read
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
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = TableRequest::read_threads)]
    threads: usize,
    /// What is between two fields: one character, or `\t`
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = TableRequest::read_delimiter)]
    delimiter: u8,
    /// What to do in a row with a field that is no number, or in which the function fails
    #[arg(long, value_name = "WHAT", default_value = "stop")]
    on_error: OnRowError,
    /// Say on standard error how FORMULA is computed: many rows at once, or why not
    #[arg(long)]
    explain: bool,
}

impl MapArguments {
    /// Returns whether the table goes to standard output.
    pub(super) fn writes_stdout(&self) -> bool {
        path(&self.output).is_none()
    }
}

/// What to do in a row without a result.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum OnRowError {
    /// End with an error that names the line
    Stop,
    /// Leave the result empty, and count such rows
    Empty,
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
    // What the definitions have printed comes before what rows print.
    context.output().flush().map_err(MapError::Print)?;
    let output = path(&arguments.output);
    let request = TableRequest {
        formula: &arguments.formula,
        input: path(arguments.table.as_ref().unwrap_or(&arguments.input)),
        output: output.map_or_else(TableOutput::stdout, TableOutput::File),
        name: arguments.name.as_deref(),
        is_alone: arguments.alone,
        threads: arguments.threads,
        delimiter: arguments.delimiter,
        skips_failures: arguments.on_error == OnRowError::Empty,
        explains: arguments.explain,
        rows: None,
        deadline,
    };
    compute(request, context, &mut |line| reporter.line(line), Some(idle)).map(drop)
}

/// Returns the path of an argument; `None` for `-`.
fn path(argument: &Path) -> Option<&Path> {
    Some(argument).filter(|path| path.as_os_str() != "-")
}
