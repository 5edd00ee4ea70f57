//! The prompt: what people type, and the answers.
//!
//! A [`ReplSession`] takes complete inputs, program text or commands, and
//! answers on a [`Screen`]; it does not depend on a terminal. Three loops feed
//! it: [`editor`] reads from a terminal with rustyline, [`plain`] from one
//! without cursor movement, [`pipe`] reads lines from anything else, which
//! makes sessions scriptable and testable. All use the embedding API and
//! nothing below it.
//!
//! [`Screen`]: crate::terminal::screen::Screen

mod arguments;
mod bench;
mod command;
mod completer;
mod curve;
mod debug;
mod denotation;
mod dispatch;
mod edit;
mod editor;
mod help;
mod hinter;
mod history_file;
mod indent;
mod input;
mod inspect;
mod keys;
mod manual;
mod map;
mod pipe;
mod places;
mod plain;
mod plot;
mod recall;
mod saved;
mod session;
mod session_file;
mod svg;
mod trace;
mod watch;
mod watches;

use crate::config::Mode;
use crate::context::{Context, Resumed};
use crate::engine::Engine;
use crate::error::Error;
use crate::host::decimal::counted;
use crate::terminal;
use crate::terminal::exit::Exit;
use crate::terminal::interrupt::Idle;
use crate::terminal::report::Reporter;
use crate::terminal::screen::Screen;
pub(crate) use arguments::ReplArguments;
use command::CommandError;
use parking_lot::Mutex;
use session::ReplSession;
use session_file::SessionFile;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// What runs before the first prompt.
pub(crate) struct First<'f> {
    /// Runs it; returns how it ended.
    pub(crate) run: &'f dyn Fn(&mut Context, &mut Reporter) -> Exit,
    /// The file in it, which `:reload` runs again.
    pub(crate) file: Option<&'f Path>,
    /// How long it may take; afterwards, each input at a terminal.
    pub(crate) timeout: Option<Duration>,
}

/// Reads and answers inputs until their end.
pub(crate) fn start(
    arguments: &ReplArguments,
    context: &mut Context,
    reporter: &mut Reporter,
    idle: &Idle,
    first: First<'_>,
) -> Exit {
    match context.engine().mode() {
        Mode::Lazy | Mode::Eager => Engine::warm_up(),
        Mode::Interpret | Mode::Tiered => {}
    }
    let at_terminal = std::io::stdin().is_terminal();
    let is_shown = at_terminal && std::io::stdout().is_terminal();
    let screen = Screen::stdout();
    let file = arguments.resume.as_deref();
    let begun = file.map(|file| SessionFile::resume(context, file)).transpose();
    let (session_file, resumed) = match begun {
        Ok(begun) => begun.unwrap_or_default(),
        // The prompt does not start, so that nothing takes the place of the session.
        Err(error) => {
            match (&error, file) {
                (CommandError::Program(error @ Error::DamagedSession(_)), Some(file)) => {
                    reporter.problem(&format!("{}: {error}", terminal::file::shown(file)));
                }
                (CommandError::Program(error), _) => reporter.error(error),
                (other, _) => reporter.problem(&other.to_string()),
            }
            return Exit::Failed;
        }
    };
    if arguments.transcript {
        let screen = screen.clone();
        reporter.redirect(Some(Box::new(move |text| screen.line(text))));
    }
    let (changes, changed) = mpsc::channel();
    let mut session = ReplSession::new(context, reporter, screen, changes);
    session.is_transcript = arguments.transcript;
    session.edit_mode = arguments.edit_mode();
    session.file = session_file;
    // That of a saved session is the last value.
    session.has_own_ans &= resumed.is_none();
    if is_shown && !arguments.quiet {
        session.banner();
    }
    session.runs_init = !arguments.no_init;
    match resumed.as_ref().zip(file) {
        // What the user's own file defines is in it.
        Some((resumed, file)) => tell(&mut session, resumed, file),
        None => session.run_init(),
    }
    let exit = (first.run)(session.context, session.reporter);
    match exit {
        Exit::Fine | Exit::Failed | Exit::Bug | Exit::Interrupted => session.begin_with(first.file, exit),
        Exit::Usage | Exit::Deadline | Exit::BrokenPipe => return exit,
    }
    session.begin_history();
    let is_edited = at_terminal && editor::is_possible();
    if is_edited || is_shown {
        session.limit_each(first.timeout);
    }
    let session = Mutex::new(session);
    let exit = if is_edited {
        editor::run(arguments, &session, changed)
    } else if is_shown {
        plain::run(&mut session.lock(), &changed)
    } else {
        pipe::run(&mut session.lock(), &changed, arguments.transcript, idle)
    };
    session.lock().save_automatically(true);
    exit
}

/// Says what was resumed.
fn tell(session: &mut ReplSession<'_>, resumed: &Resumed, file: &Path) {
    let file = terminal::file::shown(file);
    if !resumed.left_out.is_empty() {
        session.error(&Error::Invalid(resumed.left_out.clone()));
        session.screen.line(&format!("{file} is resumed without these items, and keeps them"));
    }
    if let Some(reason) = &resumed.without_code {
        let line = format!("{file} is resumed without its code ({reason}): what is called is compiled again");
        session.screen.line(&line);
    }
    let count = counted(session.context.definition_count(), "definition");
    session.screen.line(&format!("{file}: {count} resumed"));
}
