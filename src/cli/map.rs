//! `kal map`: a formula over the columns of a table.
//!
//! One thread reads rows and their numbers, a piece of the table at a time; this one computes
//! and writes them. So memory does not depend on the length of the table.

mod formula;
mod header;
mod number;
mod progress;
mod results;
mod table;

use super::given::Given;
use crate::context::{Context, Each, Outcome};
use crate::error::Error;
use crate::kernel::{Failing, Kernel, Run, Validity};
use crate::process;
use crate::program::Program;
use crate::source::Source;
use crate::terminal::exit::Exit;
use crate::terminal::interrupt::Idle;
use crate::terminal::mistakes::{other_mistakes, syntax_errors};
use crate::terminal::outcome::printed;
use crate::terminal::read::{ReadError, load, text};
use crate::terminal::report::Reporter;
use clap::{Args, ValueEnum, ValueHint};
use formula::RowFormula;
use header::TableHeader;
use progress::ProgressLine;
use results::{RowResults, TableWriter};
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};
use table::{TableError, TableReader, TableRows};

/// Pieces that are read ahead of the one that is computed.
const AHEAD: usize = 2;

/// How often a request to stop is looked for while nothing arrives.
const TICK: Duration = Duration::from_millis(20);

/// At most this many columns of a row that fails are shown.
const SHOWN: usize = 8;

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
    /// The table: CSV with a header; `-` is standard input
    #[arg(long = "in", value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    input: PathBuf,
    /// Where the table is written with the results; `-` is standard output. A file is replaced
    /// when all is written, and may be the one that is read
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

/// Why a table is not written to its end.
#[derive(Debug, thiserror::Error)]
enum MapError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Table(#[from] TableError),
    #[error("{0}: {1}")]
    Open(String, io::Error),
    #[error("{0}: {1}")]
    Write(String, io::Error),
    #[error("the table has a column `{0}`: give the results another name with --name")]
    TakenName(String),
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
        Err(MapError::Reported(exit)) => exit,
        Err(MapError::Write(_, error)) if error.kind() == ErrorKind::BrokenPipe => Exit::BrokenPipe,
        Err(MapError::Kal(error, place)) => {
            let exit = printed(context, Err(error), reporter);
            if let Some(place) = place {
                reporter.line(&place);
            }
            exit
        }
        Err(error) => {
            reporter.problem(&error.to_string());
            if matches!(error, MapError::Deadline) { Exit::Deadline } else { Exit::Failed }
        }
    }
}

fn mapped(
    arguments: &MapArguments,
    deadline: Option<Instant>,
    context: &mut Context,
    reporter: &mut Reporter,
    idle: &Idle,
) -> Result<(), MapError> {
    define(arguments, context, reporter, idle)?;
    let (file, file_name) = open(&arguments.input)?;
    let mut reader = TableReader::new(file, file_name.clone(), arguments.delimiter);
    let (header_row, header) = idle.during(|| reader.header(|fields| TableHeader::new(fields)))?;
    let RowFormula { kernel, columns } = RowFormula::new(&arguments.formula, &header, context)?;
    if arguments.explain {
        kernel.explain().iter().for_each(|remark| reporter.line(&format!("note: {remark}")));
    }
    let name = arguments.name.as_deref().unwrap_or(arguments.formula.trim());
    if !arguments.alone && header.has(name) {
        return Err(MapError::TakenName(name.to_owned()));
    }
    let parameters = columns.iter().map(|column| column.name.clone()).collect();
    reader.read_numbers(columns, arguments.on_error == OnRowError::Empty);

    let mut run = Run::new();
    (run.threads, run.deadline) = (arguments.threads, deadline);
    idle.interrupt_instead(run.interrupt_handle());
    let output = path(&arguments.output);
    let failed = |error| MapError::Write(shown(output, "standard output"), error);
    let writer = TableWriter::new(output, arguments.delimiter, &header_row, name, arguments.alone);
    let mapping = TableMapping {
        kernel: &kernel,
        run,
        parameters,
        file: file_name,
        writer: writer.map_err(failed)?,
        on_error: arguments.on_error,
        progress: ProgressLine::new(output.is_none()),
        unreadable: 0,
        failures: 0,
    };
    let (unreadable, failures) = mapping.run(reader, &failed)?;
    if unreadable + failures > 0 {
        reporter.line(&format!("note: {}", without_result(unreadable, failures)));
    }
    // What the function has printed.
    context.output().flush().map_err(failed)
}

/// Runs the texts of -e and the files of definitions.
fn define(
    arguments: &MapArguments,
    context: &mut Context,
    reporter: &mut Reporter,
    idle: &Idle,
) -> Result<(), MapError> {
    for source in arguments.given.sources() {
        define_all(Some(&source), context, reporter, |context, each| context.run_for_values(&source, each))?;
    }
    for path in &arguments.load {
        let bytes = idle.during(|| load(path))?;
        if Program::is_stored(&bytes) {
            let program = Program::from_bytes(context.engine(), &bytes);
            let program = program.map_err(|error| ReadError::Stored(path.display().to_string(), error))?;
            define_all(None, context, reporter, |context, each| context.run_program(&program, each))?;
        } else {
            let source = text(path, bytes)?;
            define_all(Some(&source), context, reporter, |context, each| {
                context.run_for_values(&source, each)
            })?;
        }
    }
    Ok(())
}

/// Runs items up to the first that fails. Values are not printed: standard output may be the
/// table.
fn define_all(
    source: Option<&Source>,
    context: &mut Context,
    reporter: &mut Reporter,
    run: impl FnOnce(&mut Context, &mut Each<'_>) -> ControlFlow<()>,
) -> Result<(), MapError> {
    let (mut exit, mut misread) = (Exit::Fine, Vec::new());
    let _ = run(context, &mut |context, outcome| {
        if let Ok(Outcome::Value(_)) = outcome {
            return ControlFlow::Continue(());
        }
        misread = outcome.as_ref().err().map(syntax_errors).unwrap_or_default();
        exit = printed(context, outcome, reporter);
        if exit == Exit::Fine { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if let Some(source) = source {
        reporter.diagnostics(&other_mistakes(context, source, &misread));
    }
    if exit == Exit::Fine { Ok(()) } else { Err(MapError::Reported(exit)) }
}

/// Returns the path of an argument; `None` for `-`.
fn path(argument: &Path) -> Option<&Path> {
    Some(argument).filter(|path| path.as_os_str() != "-")
}

fn shown(path: Option<&Path>, otherwise: &str) -> String {
    path.map_or(otherwise.into(), |path| path.display().to_string())
}

/// Opens the table, and returns what errors call it.
fn open(argument: &Path) -> Result<(File, String), MapError> {
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
        Ok(file) => Ok((file, name)),
        Err(error) => Err(MapError::Open(name, error)),
    }
}

/// Returns a sentence on the rows whose results are empty.
fn without_result(unreadable: usize, failures: usize) -> String {
    let rows = |count| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
    let unread = format!("{} with a field that is not a number", rows(unreadable));
    let failed = format!("{} in which the function failed", rows(failures));
    let what = match (unreadable, failures) {
        (_, 0) => unread,
        (0, _) => failed,
        (_, _) => format!("{unread}, {failed}"),
    };
    format!("results are empty: {what}")
}

/// A table on its way.
struct TableMapping<'a> {
    kernel: &'a Kernel,
    run: Run<'static>,
    /// The columns of the parameters, by their names in the header.
    parameters: Vec<String>,
    file: String,
    writer: TableWriter,
    on_error: OnRowError,
    progress: ProgressLine,
    unreadable: usize,
    failures: usize,
}

impl TableMapping<'_> {
    /// Maps all rows. Returns how many have a field that is no number, and how many have
    /// failed.
    fn run(
        mut self,
        reader: TableReader,
        failed: &dyn Fn(io::Error) -> MapError,
    ) -> Result<(usize, usize), MapError> {
        let (full_sender, full) = mpsc::sync_channel(AHEAD);
        let (empty, empty_receiver) = mpsc::channel();
        let builder = thread::Builder::new().name("kal table".into());
        // It is not waited for: it may be reading from a pipe in which nothing comes.
        process::spawn(builder, move || read_all(reader, &full_sender, &empty_receiver))
            .map_err(MapError::Thread)?;
        let mut results = RowResults::default();
        loop {
            let mut rows = self.next(&full)?;
            let (complete, error) = self.compute(&rows, &mut results);
            self.writer.rows(&rows, &results, complete).map_err(failed)?;
            if let Some(error) = error.or_else(|| rows.error.take().map(MapError::Table)) {
                return Err(error);
            }
            self.unreadable += rows.unreadable;
            self.failures += results.failures();
            self.progress.add(rows.len());
            if rows.is_last {
                break;
            }
            let _ = empty.send(rows);
        }
        let Self { writer, unreadable, failures, .. } = self;
        writer.finish().map_err(failed)?;
        Ok((unreadable, failures))
    }

    /// Computes some rows. Returns how many of them are complete, and why not all.
    fn compute(&self, rows: &TableRows, results: &mut RowResults) -> (usize, Option<MapError>) {
        results.reset(rows.len());
        let mut run = self.run.next();
        run.valid = (!rows.is_valid).then_some(Validity { bitmap: &rows.valid, offset: 0 });
        run.failing = match self.on_error {
            OnRowError::Stop => Failing::Stop,
            OnRowError::Empty => Failing::Mark(&mut results.failed),
        };
        match self.kernel.apply(&rows.columns(), &mut results.values, &mut run) {
            Ok(()) => (rows.len(), None),
            Err(failure) => {
                let row = failure.row.unwrap_or(0);
                let is_of_row = failure.row.is_some() && !is_stop(&failure.error);
                let place = is_of_row.then(|| self.described(rows, row));
                (row, Some(MapError::Kal(failure.error, place)))
            }
        }
    }

    /// Returns a line that says where a row is and what it holds.
    fn described(&self, rows: &TableRows, row: usize) -> String {
        let number = |(column, name): (usize, &String)| {
            format!("{name} = {}", crate::format_number(rows.number(column, row)))
        };
        let mut numbers: Vec<_> = self.parameters.iter().enumerate().take(SHOWN).map(number).collect();
        if self.parameters.len() > SHOWN {
            numbers.push("…".into());
        }
        let line = format!("{}:{}: the row that failed", self.file, rows.line(row));
        let line = if numbers.is_empty() { line } else { format!("{line}: {}", numbers.join(", ")) };
        format!("note: {}", crate::diagnostic::visible::visible_text(&line))
    }

    /// Waits for the next rows.
    fn next(&self, full: &Receiver<TableRows>) -> Result<TableRows, MapError> {
        loop {
            let rows = full.recv_timeout(TICK);
            if let Some(error) = self.kernel.stop_of(&self.run) {
                return Err(error.into());
            }
            if self.run.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Err(MapError::Deadline);
            }
            match rows {
                Ok(rows) => return Ok(rows),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(MapError::Reported(Exit::Bug)),
            }
        }
    }
}

/// Reads a table to its end, or to what is wrong with it.
fn read_all(mut reader: TableReader, full: &SyncSender<TableRows>, empty: &Receiver<TableRows>) {
    loop {
        let mut rows = empty.try_recv().unwrap_or_default();
        reader.fill(&mut rows);
        let is_last = rows.is_last;
        if full.send(rows).is_err() || is_last {
            return;
        }
    }
}

/// Returns whether an error is no row's own.
fn is_stop(error: &Error) -> bool {
    error.diagnostics().first().is_some_and(|diagnostic| diagnostic.code.is_stop())
}
