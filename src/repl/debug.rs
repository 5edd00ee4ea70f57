//! `:debug` and `:bp`: running an expression step by step, breakpoints, and
//! inspecting a failure.

use super::command::CommandError;
use super::session::ReplSession;
use crate::debugger::Ending;
use crate::error::Error;
use crate::host::Output;
use crate::source::Source;
use crate::terminal::console::LineConsole;

/// Runs an expression step by step; without one, inspects the last failure.
pub(super) fn debug(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    attach(session)?;
    // The user's time at the debugger's prompt is not the run's.
    session.lift_deadline();
    if text.is_empty() {
        return post_mortem(session);
    }
    session.run_stopping(&Source::new("<input>", text));
    Ok(())
}

/// Shows the frames of the evaluation that failed last; runs it again if they
/// are gone.
fn post_mortem(session: &mut ReplSession<'_>) -> Result<(), CommandError> {
    let Some(failed) = session.context.failed_text().map(str::to_owned) else {
        return Err("nothing has failed yet; :debug EXPR runs an expression step by step".to_owned().into());
    };
    let is_restarted = |session: &ReplSession<'_>| session.context.ending() == Some(Ending::Restart);
    if session.context.examine() && !is_restarted(session) {
        return Ok(());
    }
    let failed = failed.lines().next().unwrap_or_default().to_owned();
    session.screen.line(&format!(
        "running `{failed}` again, interpreted, up to its error; what it prints or assigns happens again"
    ));
    while let Some(result) = session.context.run_failed_again() {
        if !is_restarted(session) {
            return finish(session, result);
        }
    }
    Ok(())
}

/// Prints the result of an evaluation, unless the user has ended it.
fn finish(session: &mut ReplSession<'_>, result: Result<f64, Error>) -> Result<(), CommandError> {
    if result.is_err() && session.context.ending().is_some() {
        return Ok(());
    }
    let value = result?;
    let _ = session.screen.value(value);
    session.keep_answer(value);
    Ok(())
}

pub(super) fn breakpoints(session: &mut ReplSession<'_>, text: &str) -> Result<(), CommandError> {
    attach(session)?;
    let said = session.context.breakpoints(text)?;
    session.screen.line(&said);
    Ok(())
}

fn attach(session: &mut ReplSession<'_>) -> Result<(), CommandError> {
    if !session.context.is_debugged() {
        let colors = session.reporter.colors();
        let console =
            LineConsole::new(session.screen.clone(), session.is_transcript, colors.stdout, session.edit_mode);
        session.context.debug(Box::new(console))?;
    }
    Ok(())
}
