//! `kal debug`: a program that stops at breakpoints.

use super::given::{Given, MISSING};
use super::run::{self, AfterError};
use crate::context::Context;
use crate::debugger::Ending;
use crate::error::Error;
use crate::program::Program;
use crate::source::Source;
use crate::terminal::console::LineConsole;
use crate::terminal::exit::Exit;
use crate::terminal::interrupt::Idle;
use crate::terminal::read::{self, ReadError};
use crate::terminal::report::Reporter;
use crate::terminal::screen::Screen;
use clap::{Args, ValueHint};
use rustyline::EditMode;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(super) struct DebugArguments {
    #[command(flatten)]
    pub(super) given: Given,
    /// Stop there: FUNCTION, LINE, LINE:COLUMN or FUNCTION:LINE, with ` if EXPR`
    /// only when that is true; `error` and `nan` stop at errors and where a NaN
    /// or infinity appears. May be given several times. Without one, the program
    /// stops at its first expression
    #[arg(short, long = "break", value_name = "PLACE")]
    breakpoints: Vec<String>,
    /// The program, as source or stored
    #[arg(value_hint = ValueHint::FilePath)]
    pub(super) file: Option<PathBuf>,
    /// What `arg(1)`, `arg(2)`, … of the program return
    #[arg(value_name = "NUMBER", allow_negative_numbers = true)]
    numbers: Vec<String>,
}

/// A program that has been loaded.
enum Loaded {
    Text(Source),
    Stored(Program),
}

/// Why there is no program to debug.
#[derive(Debug, thiserror::Error)]
enum LoadError {
    #[error("{MISSING}")]
    Missing,
    #[error("standard input is where the debugger reads its commands; name a FILE")]
    StandardInput,
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Runs a program under the debugger.
pub(super) fn debug(
    arguments: &DebugArguments,
    edit_mode: EditMode,
    context: &mut Context,
    reporter: &mut Reporter,
    idle: &Idle,
) -> Exit {
    context.set_arguments(arguments.numbers.clone());
    // Without a file, the last `-e` is the program.
    let mut before = arguments.given.sources();
    let program = match &arguments.file {
        Some(file) => idle.during(|| load(file, context)),
        None => before.pop().map(Loaded::Text).ok_or(LoadError::Missing),
    };
    let program = match program {
        Ok(program) => program,
        Err(error) => {
            reporter.problem(&error.to_string());
            return Exit::Failed;
        }
    };
    let exit = run::texts(before.clone(), context, reporter);
    if exit != Exit::Fine {
        return exit;
    }
    if let Err(error) = attach(arguments, edit_mode, &program, context, reporter) {
        reporter.error(&error);
        return Exit::Usage;
    }
    loop {
        context.follow(arguments.breakpoints.is_empty());
        let exit = match &program {
            Loaded::Text(source) => run::evaluate(context, source, AfterError::Stop, reporter),
            Loaded::Stored(program) => run::evaluate_stored(context, program, reporter),
        };
        let shown = context.output().end_line().and_then(|()| context.output().flush());
        let exit = reporter.printed(shown, exit);
        if context.ending() != Some(Ending::Restart) {
            return exit;
        }
        let forgotten = context.forget_definitions();
        if !forgotten.is_empty() {
            reporter.line(&format!("restarted, without what was defined here: {}", forgotten.join(", ")));
        }
        let exit = run::texts(before.clone(), context, reporter);
        if exit != Exit::Fine {
            return exit;
        }
    }
}

fn load(path: &Path, context: &Context) -> Result<Loaded, LoadError> {
    if path.as_os_str() == "-" {
        return Err(LoadError::StandardInput);
    }
    let bytes = read::load(path)?;
    if Program::is_stored(bytes.get()) {
        let program = Program::from_bytes(context.engine(), bytes.get());
        let program = program.map_err(|error| ReadError::Stored(path.display().to_string(), error))?;
        return Ok(Loaded::Stored(program));
    }
    Ok(Loaded::Text(read::text(path, bytes)?))
}

/// Attaches the debugger, and sets the breakpoints of the arguments.
fn attach(
    arguments: &DebugArguments,
    edit_mode: EditMode,
    program: &Loaded,
    context: &mut Context,
    reporter: &Reporter,
) -> Result<(), Error> {
    let screen = Screen::stdout();
    context.set_output(Box::new(screen.clone()));
    let console = LineConsole::new(screen.clone(), false, reporter.colors().stdout, edit_mode);
    context.debug(Box::new(console))?;
    match program {
        Loaded::Text(source) => context.expect_source(source),
        Loaded::Stored(program) => context.expect(program.parts.iter().map(|part| &part.item)),
    }
    for place in &arguments.breakpoints {
        screen.line(&context.breakpoints(place)?);
    }
    Ok(())
}
