//! Printing the outcomes of a program's items.

use super::exit::Exit;
use super::report::Reporter;
use crate::context::{Context, Outcome};
use crate::diagnostic::ErrorCode;
use crate::error::Error;
use std::io::{self, ErrorKind, IsTerminal};

/// Prints the outcome of one item: a value, or what is wrong. Returns how a program ends in
/// which it is the last.
pub(crate) fn printed(
    context: &mut Context,
    outcome: Result<Outcome, Error>,
    reporter: &mut Reporter,
) -> Exit {
    match outcome {
        Ok(Outcome::Value(value)) => reporter.printed(context.output().value(value), Exit::Fine),
        Ok(Outcome::Defined { warnings, .. }) => {
            if !warnings.is_empty() {
                let _ = make_way(context, None);
            }
            reporter.diagnostics(&warnings);
            Exit::Fine
        }
        Ok(
            Outcome::Unchanged { .. }
            | Outcome::Extern { .. }
            | Outcome::Imported { .. }
            | Outcome::Declared { .. }
            | Outcome::Done,
        ) => Exit::Fine,
        Err(error) => {
            let code = error.diagnostics().first().map(|diagnostic| diagnostic.code);
            let shown = make_way(context, Some(&error));
            let is_closed = shown.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
            // That the output cannot be written is why `printd` failed.
            if is_closed || shown.is_err() && code == Some(ErrorCode::HostFailure) {
                return reporter.printed(shown, Exit::Failed);
            }
            reporter.error(&error);
            match code {
                Some(ErrorCode::Interrupted) => Exit::Interrupted,
                Some(ErrorCode::DeadlineExceeded) => Exit::Deadline,
                Some(ErrorCode::Internal) => Exit::Bug,
                _ => Exit::Failed,
            }
        }
    }
}

/// Flushes the program's output before a diagnostic is shown. If both go to a
/// terminal, an unfinished line is ended; other readers get nothing that the
/// program has not printed.
fn make_way(context: &mut Context, error: Option<&Error>) -> io::Result<()> {
    if io::stdout().is_terminal() && io::stderr().is_terminal() {
        match error {
            // The terminal has shown `^C`.
            Some(error) if error.is_interrupt() => context.output().byte(b'\n')?,
            Some(_) | None => context.output().end_line()?,
        }
    }
    context.output().flush()
}
