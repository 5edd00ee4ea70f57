//! `kal build`: executables, and libraries for C.

use super::image::{AheadArguments, ahead};
use super::linking::{LinkArguments, Linked, link};
use super::options::CommonOptions;
use crate::terminal::exit::Exit;
use crate::terminal::read::read;
use crate::terminal::report::Reporter;
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(super) struct BuildArguments {
    #[command(flatten)]
    ahead: AheadArguments,
    #[command(flatten)]
    linking: LinkArguments,
    /// The file to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// The program
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
}

/// Executes `kal build`.
pub(super) fn build(arguments: &BuildArguments, options: &CommonOptions, reporter: &mut Reporter) -> Exit {
    let source = match read(&arguments.file) {
        Ok(source) => source,
        Err(error) => {
            reporter.problem(&error.to_string());
            return Exit::Failed;
        }
    };
    let Some(built) = ahead(&arguments.ahead, &[source], true, options, reporter) else {
        return Exit::Failed;
    };
    match link(&built.bytes, Linked::Executable, &arguments.output, &arguments.linking) {
        Ok(()) => Exit::Fine,
        Err(error) => {
            reporter.problem(&error.to_string());
            Exit::Failed
        }
    }
}
