//! `kal debug`: a program that stops.

use super::Exit;
use super::arguments::{Given, MISSING};
use super::interrupt::Idle;
use super::report::Reporter;
use super::run::{self, AfterError, read};
use crate::context::Context;
use crate::repl::console::LineConsole;
use crate::repl::screen::Screen;
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(super) struct DebugArguments {
    #[command(flatten)]
    pub(super) given: Given,
    /// Stop there: a function, LINE, LINE:COLUMN, with ` if EXPR` only when
    /// that is true; may be given several times. Without one, the program stops
    /// at its first expression
    #[arg(short, long = "break", value_name = "PLACE")]
    breakpoints: Vec<String>,
    /// The program
    #[arg(value_hint = ValueHint::FilePath)]
    pub(super) file: Option<PathBuf>,
}

/// Runs a program that stops at breakpoints, and asks there how to go on.
pub(super) fn debug(
    arguments: &DebugArguments,
    context: &mut Context,
    reporter: &mut Reporter,
    idle: &Idle,
) -> Exit {
    // Without a file, the last text is the program.
    let mut before = arguments.given.sources();
    let source = match &arguments.file {
        Some(file) => idle.during(|| read(file)),
        None => before.pop().ok_or_else(|| MISSING.to_owned()),
    };
    let source = match source {
        Ok(source) => source,
        Err(message) => {
            reporter.problem(&message);
            return Exit::Failed;
        }
    };
    let exit = run::texts(before, context, reporter);
    if exit != Exit::Fine {
        return exit;
    }
    let screen = Screen::stdout();
    context.set_output(Box::new(screen.clone()));
    let mut attached = context.debug(Box::new(LineConsole::new(screen, false)));
    for place in &arguments.breakpoints {
        attached = attached.and_then(|()| context.breakpoints(place).map(drop));
    }
    if let Err(error) = attached {
        reporter.error(&error);
        return Exit::Usage;
    }
    context.follow(arguments.breakpoints.is_empty());
    let exit = run::evaluate(context, &source, AfterError::Stop, reporter);
    let _ = context.output().end_line().and_then(|()| context.output().flush());
    exit
}
