//! `:debug` and `:bp`: running an expression step by step, breakpoints.

use super::command::Trouble;
use super::console::LineConsole;
use super::session::{ANS, Session};
use crate::host::Output;
use crate::source::Source;

pub(super) fn debug(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    attach(session)?;
    if let Some(value) = session.context.eval_stopping(&Source::new("<input>", text))? {
        let _ = session.screen.value(value);
        session.context.declare(ANS, value)?;
    }
    Ok(())
}

pub(super) fn breakpoints(session: &mut Session<'_>, text: &str) -> Result<(), Trouble> {
    attach(session)?;
    let said = session.context.breakpoints(text)?;
    session.screen.line(&said);
    Ok(())
}

fn attach(session: &mut Session<'_>) -> Result<(), Trouble> {
    if !session.context.is_debugged() {
        let console = LineConsole::new(session.screen.clone(), session.is_transcript);
        session.context.debug(Box::new(console))?;
    }
    Ok(())
}
