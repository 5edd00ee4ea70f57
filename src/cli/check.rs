//! `kal check`: everything wrong with a program, without running it.

use super::report::Reporter;
use super::run::read;
use super::{Exit, Options};
use crate::diagnostic::{Diagnostic, Severity, draw};
use crate::draft::Draft;
use crate::source::Source;
use clap::Args;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(super) struct CheckArguments {
    /// Print one JSON object a line on standard output instead
    #[arg(long)]
    json: bool,
    /// The program; `-` is standard input
    file: PathBuf,
}

/// Checks a program.
pub(super) fn check(arguments: &CheckArguments, options: &Options, reporter: &mut Reporter) -> Exit {
    let prepared = open(&arguments.file)
        .and_then(|source| Ok((source, options.engine().map_err(|error| error.to_string())?)));
    let (source, engine) = match prepared {
        Ok(prepared) => prepared,
        Err(message) => {
            reporter.problem(&message);
            return Exit::Failed;
        }
    };
    let draft = Draft::new(&source, &engine);
    let findings = draft.findings();
    let failed = findings.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    let exit = if failed { Exit::Failed } else { Exit::Fine };
    if arguments.json {
        return reporter.printed(print(&findings), exit);
    }
    reporter.diagnostics(&findings);
    exit
}

/// Prints JSON, an object a line.
fn print(diagnostics: &[Diagnostic]) -> io::Result<()> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    diagnostics.iter().try_for_each(|diagnostic| writeln!(output, "{}", draw::json(diagnostic)))?;
    output.flush()
}

/// Reads a file, or standard input for `-`.
pub(super) fn open(path: &Path) -> Result<Source, String> {
    if path.as_os_str() != "-" {
        return read(path);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| format!("standard input: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| "standard input is not UTF-8 text".to_owned())?;
    Ok(Source::new("<stdin>", text))
}
