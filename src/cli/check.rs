//! `kal check`: everything wrong with programs, without running them.

use super::given::Given;
use super::options::CommonOptions;
use super::stdin;
use crate::diagnostic::{Severity, draw};
use crate::draft::Draft;
use crate::error::Error;
use crate::source::Source;
use crate::terminal::exit::Exit;
use crate::terminal::read::{ReadError, read, standard_input};
use crate::terminal::report::Reporter;
use clap::{Args, ValueHint};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(super) struct CheckArguments {
    #[command(flatten)]
    pub(super) given: Given,
    /// Print one JSON object a line on standard output instead, also for a FILE that cannot be read
    #[arg(long)]
    json: bool,
    /// The programs, each checked by itself after the texts of -e; `-` is
    /// standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) files: Vec<PathBuf>,
}

/// Why a program cannot be checked.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum CheckError {
    Read(#[from] ReadError),
    Engine(#[from] Error),
}

/// Executes `kal check`.
pub(super) fn check(arguments: &CheckArguments, options: &CommonOptions, reporter: &mut Reporter) -> Exit {
    let CheckArguments { given, json, files } = arguments;
    let programs: Vec<Option<&Path>> = match files.as_slice() {
        [] => vec![None],
        files => files.iter().map(|file| Some(file.as_path())).collect(),
    };
    let mut exit = Exit::Fine;
    for file in programs {
        match program(given, file, options, reporter, *json) {
            Ok(Exit::Fine) => {}
            Ok(Exit::BrokenPipe) => return Exit::BrokenPipe,
            Ok(_) => exit = Exit::Failed,
            Err(error) => {
                reporter.problem(&error.to_string());
                exit = Exit::Failed;
            }
        }
    }
    exit
}

/// Checks one program, and reports its diagnostics.
fn program(
    given: &Given,
    file: Option<&Path>,
    options: &CommonOptions,
    reporter: &mut Reporter,
    json: bool,
) -> Result<Exit, CheckError> {
    let sources = match (sources(given, file), file) {
        (Err(error), Some(file)) if json => {
            let line = draw::json_of_file(&file.to_string_lossy(), &error.to_string());
            return Ok(reporter.printed(print([line]), Exit::Failed));
        }
        (sources, _) => sources?,
    };
    let engine = options.engine(&given.allow_extern)?;
    let draft = Draft::new(&sources, &engine);
    let findings = draft.findings();
    let failed = findings.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    let exit = if failed { Exit::Failed } else { Exit::Fine };
    if json {
        return Ok(reporter.printed(print(findings.iter().map(draw::json)), exit));
    }
    reporter.diagnostics(&findings);
    Ok(exit)
}

/// Prints JSON objects, one a line.
fn print(objects: impl IntoIterator<Item = String>) -> io::Result<()> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    objects.into_iter().try_for_each(|object| writeln!(output, "{object}"))?;
    output.flush()
}

/// Returns the sources of `-e`, then that of the file.
pub(super) fn sources(given: &Given, file: Option<&Path>) -> Result<Vec<Source>, ReadError> {
    let mut sources = given.sources();
    if let Some(file) = file {
        sources.push(open(file)?);
    }
    Ok(sources)
}

/// Reads a file, or standard input for `-`.
fn open(path: &Path) -> Result<Source, ReadError> {
    if path.as_os_str() != "-" {
        return read(path);
    }
    stdin::announce_terminal();
    standard_input()
}
