//! What a formula may use besides the columns: the texts of -e, and files of definitions.

use crate::context::{Context, Each, Outcome};
use crate::program::Program;
use crate::source::Source;
use crate::table::MapError;
use crate::terminal::exit::Exit;
use crate::terminal::interrupt::Idle;
use crate::terminal::mistakes::{other_mistakes, syntax_errors};
use crate::terminal::outcome::printed;
use crate::terminal::read::{ReadError, load, text};
use crate::terminal::report::Reporter;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Runs texts, then files, up to the first item that fails.
pub(super) fn define(
    sources: &[Source],
    files: &[PathBuf],
    context: &mut Context,
    reporter: &mut Reporter,
    idle: &Idle,
) -> Result<(), MapError> {
    for source in sources {
        define_source(source, context, reporter)?;
    }
    for path in files {
        let bytes = idle.during(|| load(path))?;
        if Program::is_stored(bytes.get()) {
            let program = Program::from_bytes(context.engine(), bytes.get());
            let program = program.map_err(|error| ReadError::Stored(path.display().to_string(), error))?;
            define_all(None, context, reporter, |context, each| context.run_program(&program, each))?;
        } else {
            define_source(&text(path, bytes)?, context, reporter)?;
        }
    }
    Ok(())
}

fn define_source(source: &Source, context: &mut Context, reporter: &mut Reporter) -> Result<(), MapError> {
    define_all(Some(source), context, reporter, |context, each| context.run_for_values(source, each))
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
