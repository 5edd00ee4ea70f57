//! `kal debug`: a program that stops.

use super::Exit;
use super::interrupt::Idle;
use super::report::Reporter;
use super::run::{self, AfterError, read};
use crate::context::Context;
use crate::repl::console::LineConsole;
use crate::repl::screen::Screen;
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(super) struct DebugArguments {
    /// Stop there: a function, LINE, LINE:COLUMN, with ` if EXPR` only when
    /// that is true; may be given several times. Without one, the program stops
    /// at its first expression
    #[arg(short, long = "break", value_name = "PLACE")]
    breakpoints: Vec<String>,
    /// The program
    file: PathBuf,
}

/// Runs a program that stops at breakpoints, and asks there how to go on.
pub(super) fn debug(
    arguments: &DebugArguments,
    context: &mut Context,
    reporter: &mut Reporter,
    idle: &Idle,
) -> Exit {
    let source = match idle.during(|| read(&arguments.file)) {
        Ok(source) => source,
        Err(message) => {
            reporter.problem(&message);
            return Exit::Failed;
        }
    };
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
