//! Reporting to people on standard error what is wrong.

use super::exit::Exit;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::draw::{self, Style};
use crate::diagnostic::visible::visible_text;
use crate::error::Error;
use std::io::{self, ErrorKind, IsTerminal, Write};
use terminal_size::{Width, terminal_size_of};

/// Which streams get colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Colors {
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
}

impl Colors {
    /// Returns which streams are terminals that show colours, unless `NO_COLOR` is set.
    pub(crate) fn of_terminal() -> Self {
        let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        // One that does not understand escape sequences.
        let is_dumb =
            || std::env::var_os("TERM").is_none_or(|terminal| terminal.is_empty() || terminal == "dumb");
        if is_refused || is_dumb() {
            return Self::default();
        }
        Self { stdout: io::stdout().is_terminal(), stderr: io::stderr().is_terminal() }
    }
}

/// Writes diagnostics and messages to standard error.
pub(crate) struct Reporter {
    colors: Colors,
    elsewhere: Option<Sink>,
    /// Why a report could not be written.
    failure: Option<ErrorKind>,
    /// Whether a bug in Kal was reported.
    has_met_bug: bool,
    /// Whether was reported that standard output cannot be written.
    has_lost_output: bool,
}

/// At most this many mistakes of one source are drawn.
const SHOWN: usize = 100;

/// Receives reports instead of standard error, to show them on standard output.
pub(crate) type Sink = Box<dyn FnMut(&str) + Send>;

impl Reporter {
    pub(crate) fn new(colors: Colors) -> Self {
        Self { colors, elsewhere: None, failure: None, has_met_bug: false, has_lost_output: false }
    }

    /// Returns which streams are written to with colour.
    pub(crate) fn colors(&self) -> Colors {
        self.colors
    }

    /// Writes to `sink` from now on; gives where it wrote before.
    pub(crate) fn redirect(&mut self, sink: Option<Sink>) -> Option<Sink> {
        std::mem::replace(&mut self.elsewhere, sink)
    }

    /// Draws a diagnostic.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        let Colors { stdout, stderr } = self.colors;
        let (colour, size) = match self.elsewhere {
            Some(_) => (stdout, terminal_size_of(io::stdout())),
            None => (stderr, terminal_size_of(io::stderr())),
        };
        let columns = size.map(|(Width(columns), _)| usize::from(columns));
        self.line(draw::draw(diagnostic, Style { colour, columns }).trim_end());
    }

    /// Draws the first [`SHOWN`] diagnostics, and says how many there are more.
    pub(crate) fn diagnostics<'a>(&mut self, diagnostics: impl IntoIterator<Item = &'a Diagnostic>) {
        let mut diagnostics = diagnostics.into_iter();
        diagnostics.by_ref().take(SHOWN).for_each(|diagnostic| self.diagnostic(diagnostic));
        match diagnostics.count() {
            0 => {}
            1 => self.line("One more mistake is not shown."),
            more => self.line(&format!("{more} more mistakes are not shown.")),
        }
    }

    /// Reports an error: its diagnostics, or its one line.
    pub(crate) fn error(&mut self, error: &Error) {
        self.has_met_bug |= matches!(error, Error::Internal(_));
        self.diagnostics(error.diagnostics());
        if error.diagnostics().is_empty() {
            self.problem(&error.to_string());
        }
    }

    /// Reports a problem without a place in a source, on one line.
    pub(crate) fn problem(&mut self, message: &str) {
        self.line(&format!("error: {}", visible_text(message)));
    }

    /// Writes a line. A closed standard error decides how the command ends.
    pub(crate) fn line(&mut self, line: &str) {
        match &mut self.elsewhere {
            Some(sink) => sink(line),
            // In a single write, so that it stays in one piece.
            None => {
                let written = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
                self.failure = self.failure.or(written.err().map(|error| error.kind()));
            }
        }
    }

    /// Returns how a command that has printed something ends: with `exit`, if
    /// all of it could be written. The first error is reported.
    pub(crate) fn printed(&mut self, written: io::Result<()>, exit: Exit) -> Exit {
        match written {
            Ok(()) => exit,
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::BrokenPipe,
            Err(error) => {
                if !std::mem::replace(&mut self.has_lost_output, true) {
                    self.problem(&format!("cannot write to standard output: {error}"));
                }
                Exit::Failed
            }
        }
    }

    /// Returns how a command ends: with `exit`, if it met no bug and all reports
    /// could be written.
    pub(crate) fn ended(&self, exit: Exit) -> Exit {
        match self.failure {
            _ if self.has_met_bug => Exit::Bug,
            Some(ErrorKind::BrokenPipe) => Exit::BrokenPipe,
            Some(_) if exit == Exit::Fine => Exit::Failed,
            Some(_) | None => exit,
        }
    }
}

/// Prints what a command is for, to its last byte.
pub(crate) fn print(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}
