//! A session: one context, and the answers to what is typed.

use super::command::{self, CommandError};
use super::denotation::Denotation;
use super::input;
use super::places;
use super::session_file::SessionFile;
use super::watches::Watches;
use crate::context::{Change, Context, Outcome};
use crate::debugger::Ending;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::engine::Engine;
use crate::error::Error;
use crate::source::Source;
use crate::terminal::exit::Exit;
use crate::terminal::file;
use crate::terminal::mistakes::{other_mistakes, syntax_errors};
use crate::terminal::palette::{FAINT, paint};
use crate::terminal::read::read;
use crate::terminal::report::Reporter;
use crate::terminal::screen::Screen;
use rustc_hash::FxHashSet;
use rustyline::EditMode;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// The variable that holds the last value.
pub(super) const ANS: &str = "ans";

/// How many steps can be undone.
const HISTORY: usize = 1000;

/// What happens after an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SessionFlow {
    Continue,
    Leave,
    /// Standard output was closed.
    BrokenPipe,
    /// The time limit of the session was reached.
    OutOfTime,
}

/// One context and where its answers go.
pub(super) struct ReplSession<'c> {
    pub(super) context: &'c mut Context,
    pub(super) reporter: &'c mut Reporter,
    pub(super) screen: Screen,
    pub(super) watches: Watches,
    /// The width of the terminal in columns.
    pub(super) width: usize,
    /// The file that `:reload` runs again.
    pub(super) loaded: Option<PathBuf>,
    /// The number of failures so far.
    failures: usize,
    /// The source that was typed last.
    pub(super) last_input: Option<String>,
    /// The last edited text that failed.
    pub(super) draft: Option<FailedEdit>,
    /// Whether the user's own file is run, first and after `:reset`.
    pub(super) runs_init: bool,
    /// Whether the program has a variable `ans` of its own, which no value replaces.
    pub(super) has_own_ans: bool,
    is_out_of_time: bool,
    /// How long each input may take, if the time is not for the whole session.
    time_for_each: Option<Duration>,
    /// Whether the input that is answered was interrupted: the rest is left out.
    is_interrupted: bool,
    /// Whether prompts and inputs are printed, too.
    pub(super) is_transcript: bool,
    /// The keys of the debugger's prompt.
    pub(super) edit_mode: EditMode,
    /// Where it is saved.
    pub(super) file: SessionFile,
}

/// A text that came from the editor and failed.
pub(super) struct FailedEdit {
    /// What was edited; empty for the last input.
    pub(super) name: String,
    /// The text that was offered for editing.
    pub(super) before: String,
    pub(super) text: String,
}

/// What running a source has defined, and how often it failed.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct RunSummary {
    pub(super) defined: usize,
    pub(super) redefined: usize,
    pub(super) unchanged: usize,
    pub(super) failed: usize,
    /// Variables that were known before.
    set_again: usize,
}

/// What is printed about definitions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Feedback {
    /// A line for each.
    Each,
    /// Nothing: the caller counts them.
    Count,
}

impl<'c> ReplSession<'c> {
    pub(super) fn new(
        context: &'c mut Context,
        reporter: &'c mut Reporter,
        screen: Screen,
        changes: Sender<PathBuf>,
    ) -> Self {
        context.set_output(Box::new(screen.clone()));
        let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(80);
        let watches = Watches::new(changes);
        let mut session = Self {
            context,
            reporter,
            screen,
            watches,
            width,
            loaded: None,
            failures: 0,
            last_input: None,
            draft: None,
            runs_init: false,
            has_own_ans: false,
            is_out_of_time: false,
            time_for_each: None,
            is_interrupted: false,
            is_transcript: false,
            edit_mode: EditMode::Emacs,
            file: SessionFile::default(),
        };
        session.declare_ans();
        session
    }

    /// Prints the banner.
    pub(super) fn banner(&self) {
        let version = env!("CARGO_PKG_VERSION");
        let llvm = Engine::llvm_version().map_or_else(String::new, |llvm| format!(" on LLVM {llvm}"));
        let line = format!("Kal {version}{llvm}. :help shows the commands, Ctrl-D leaves.");
        self.screen.line(&self.faint(&line));
    }

    /// Runs the user's init file, if there is one and it is to run.
    pub(super) fn run_init(&mut self) {
        let _ = self.init();
        let _ = self.screen.settle();
    }

    /// Records what ran before the first prompt.
    pub(super) fn begin_with(&mut self, file: Option<&Path>, exit: Exit) {
        self.failures += usize::from(exit != Exit::Fine);
        self.loaded = file.map(Path::to_owned);
        let _ = self.screen.settle();
    }

    fn init(&mut self) -> Option<RunSummary> {
        let path = places::init().filter(|path| self.runs_init && path.exists())?;
        match read(&path) {
            Ok(source) => Some(self.run(&source, Feedback::Count)),
            Err(error) => {
                self.problem(&error.to_string());
                None
            }
        }
    }

    /// Makes changes from now on undoable.
    pub(super) fn begin_history(&mut self) {
        self.context.keep_history(HISTORY);
        self.context.keep_failures();
    }

    /// Returns whether more input is needed before the text can be answered.
    pub(super) fn is_incomplete(&self, text: &str) -> bool {
        input::is_incomplete(self.context, text)
    }

    /// Limits the time of each input from now on, instead of the session's:
    /// waiting for the user takes none of it.
    pub(super) fn limit_each(&mut self, time: Option<Duration>) {
        self.time_for_each = time;
        self.lift_deadline();
    }

    /// Lifts the deadline of the input that is answered.
    pub(super) fn lift_deadline(&mut self) {
        if self.time_for_each.is_some() {
            self.context.set_deadline(None);
        }
    }

    /// Does the work for one input, or one reload, with the time for that. An
    /// interrupt that came while nothing ran is not for it.
    pub(super) fn attend<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.context.interrupt_handle().clear();
        self.is_interrupted = false;
        if let Some(time) = self.time_for_each {
            self.is_out_of_time = false;
            self.context.set_deadline(Instant::now().checked_add(time));
        }
        let result = work(self);
        self.lift_deadline();
        result
    }

    /// Returns whether what is being done was interrupted or ran out of time.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_interrupted || self.is_out_of_time
    }

    /// Answers a complete input.
    pub(super) fn answer(&mut self, text: &str) -> SessionFlow {
        let flow = self.attend(|session| session.answer_parts(text));
        self.save_automatically(flow != SessionFlow::Continue);
        flow
    }

    /// Writes the session to its file, if that is to be done after every input.
    pub(super) fn save_automatically(&mut self, is_at_end: bool) {
        if let Err(error) = self.file.save_automatically(self.context, is_at_end) {
            self.problem(&format!("{error}; autosave is off"));
        }
    }

    fn answer_parts(&mut self, text: &str) -> SessionFlow {
        for part in input::parts(self.context, text) {
            let flow = match command::split(&part) {
                Some((name, arguments)) => self.command(name, arguments),
                None => self.program(&part),
            };
            let flow = match self.screen.settle() {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => SessionFlow::BrokenPipe,
                Err(error) => {
                    self.problem(&format!("cannot write to standard output: {error}"));
                    SessionFlow::Leave
                }
                Ok(()) if self.is_out_of_time && self.time_for_each.is_none() => SessionFlow::OutOfTime,
                Ok(()) if self.is_stopped() => return SessionFlow::Continue,
                Ok(()) => flow,
            };
            if flow != SessionFlow::Continue {
                return flow;
            }
        }
        SessionFlow::Continue
    }

    /// Answers a complete input; returns also whether any of it failed.
    pub(super) fn attempt(&mut self, text: &str) -> (SessionFlow, bool) {
        let before = self.failures;
        let flow = self.answer(text);
        (flow, self.failures > before)
    }

    /// Returns whether anything has failed so far.
    pub(super) fn has_failed(&self) -> bool {
        self.failures > 0
    }

    /// Runs a source if all of it is correct: a mistake changes nothing.
    /// Returns whether it succeeded.
    pub(super) fn run_checked(&mut self, source: &Source) -> bool {
        self.run_until_left(source, Self::run_with_lints)
    }

    /// Runs a source under the debugger, stopped at the beginning of its first
    /// expression.
    pub(super) fn run_stopping(&mut self, source: &Source) -> bool {
        self.run_until_left(source, |session, source| {
            session.context.stop_runs(true);
            let is_fine = session.run_with_lints(source);
            session.context.stop_runs(false);
            is_fine
        })
    }

    /// Runs a source without mistakes; again whenever it is restarted at the
    /// debugger's prompt.
    fn run_until_left(&mut self, source: &Source, run: impl Fn(&mut Self, &Source) -> bool) -> bool {
        match self.context.mistakes(source) {
            mistakes if mistakes.is_empty() => loop {
                let is_fine = run(self, source);
                if self.context.ending() != Some(Ending::Restart) {
                    break is_fine;
                }
            },
            mistakes => {
                self.error(&Error::Invalid(mistakes));
                false
            }
        }
    }

    fn program(&mut self, text: &str) -> SessionFlow {
        if let Some(advice) = self.advice(text) {
            self.screen.line(&advice);
            return SessionFlow::Continue;
        }
        if !text.trim().is_empty() {
            self.last_input = Some(text.to_owned());
        }
        self.run_checked(&Source::new("<input>", text));
        SessionFlow::Continue
    }

    /// Runs a source, and prints its lints: before it runs, if it might not end.
    fn run_with_lints(&mut self, source: &Source) -> bool {
        let lints = self.context.lints(source).into_iter();
        let (before, after): (Vec<_>, Vec<_>) =
            lints.partition(|lint| lint.code == ErrorCode::ConstantCondition);
        self.warn(&before);
        let is_fine = self.run(source, Feedback::Each).failed == 0;
        if is_fine {
            self.warn(&after);
        }
        is_fine
    }

    fn warn(&mut self, lints: &[Diagnostic]) {
        if !lints.is_empty() {
            let _ = self.screen.settle();
            self.reporter.diagnostics(lints);
        }
    }

    /// Returns the answer to words that leave or explain other prompts, and to
    /// input that looks like a command, unless the program defines it.
    fn advice(&self, text: &str) -> Option<String> {
        let text = text.trim();
        if text.starts_with(':') {
            return command::advice(text).filter(|_| self.context.state("unary:").is_none());
        }
        let word = text.trim_end_matches(';').trim_end();
        let word = word.strip_suffix("()").unwrap_or(word);
        let advice = match word {
            "help" => "type :help for the commands, ?NAME for help on a name",
            "quit" | "exit" => "type :quit or Ctrl-D to leave",
            _ => return None,
        };
        let is_known = self.context.variable(word).is_ok()
            || self.context.function_names().iter().any(|name| name == word);
        (!is_known).then(|| advice.to_owned())
    }

    /// Runs a source; with [`Feedback::Count`], definitions that have not
    /// changed are left alone.
    pub(super) fn run(&mut self, source: &Source, feedback: Feedback) -> RunSummary {
        let mut tally = RunSummary::default();
        let mut misread = Vec::new();
        let known: FxHashSet<String> = self.context.variable_names().into_iter().collect();
        let (screen, reporter) = (self.screen.clone(), &mut *self.reporter);
        let mut each = |context: &mut Context, outcome: Result<Outcome, Error>| {
            match outcome {
                Ok(outcome) => {
                    if let Outcome::Declared { names } = &outcome {
                        tally.set_again += names.iter().filter(|name| known.contains(*name)).count();
                        self.has_own_ans |= names.iter().any(|name| name == ANS);
                    }
                    if let (Outcome::Value(value), false) = (&outcome, self.has_own_ans) {
                        let _ = context.declare(ANS, *value);
                    }
                    report(context, &outcome, feedback, &screen, reporter, &mut tally);
                }
                // Quitting at the debugger's prompt is not an error.
                Err(_) if context.ending().is_some() => return ControlFlow::Break(()),
                Err(error) => {
                    tally.failed += 1;
                    screen.make_way(&error);
                    reporter.error(&error);
                    self.is_out_of_time |= is(&error, ErrorCode::DeadlineExceeded);
                    self.is_interrupted |= is(&error, ErrorCode::Interrupted);
                    let is_stopped = is(&error, ErrorCode::DeadlineExceeded) || error.is_interrupt();
                    // A file stops at its first error, as when it is run by itself.
                    if is_stopped || feedback == Feedback::Count {
                        misread = syntax_errors(&error);
                        return ControlFlow::Break(());
                    }
                }
            }
            ControlFlow::Continue(())
        };
        let _ = match feedback {
            Feedback::Each => self.context.run(source, &mut each),
            Feedback::Count => self.context.update(source, &mut each),
        };
        if feedback == Feedback::Count {
            self.reporter.diagnostics(&other_mistakes(self.context, source, &misread));
        }
        self.failures += tally.failed;
        tally
    }

    /// Runs a file up to its first error, and prints a summary.
    pub(super) fn load(&mut self, path: &Path) -> Result<RunSummary, CommandError> {
        let source = read(path)?;
        let tally = self.run(&source, Feedback::Count);
        self.screen.line(&format!("{}: {}", file::shown(path), tally.text()));
        Ok(tally)
    }

    /// Prints a problem, after the output before it.
    pub(super) fn problem(&mut self, message: &str) {
        self.failures += 1;
        let _ = self.screen.settle();
        self.reporter.problem(message);
    }

    pub(super) fn error(&mut self, error: &Error) {
        self.failures += 1;
        self.is_out_of_time |= is(error, ErrorCode::DeadlineExceeded);
        self.is_interrupted |= is(error, ErrorCode::Interrupted);
        self.screen.make_way(error);
        self.reporter.error(error);
    }

    /// Returns a text in a quiet colour.
    pub(super) fn faint(&self, text: &str) -> String {
        self.painted(FAINT, text)
    }

    /// Returns a text in a colour, where colours are shown.
    pub(super) fn painted(&self, color: &str, text: &str) -> String {
        if self.reporter.colors().stdout { paint(color, text) } else { text.to_owned() }
    }

    fn declare_ans(&mut self) {
        self.has_own_ans = self.context.variable(ANS).is_ok();
        self.keep_answer(0.0);
    }

    /// Keeps a value as the last one.
    pub(super) fn keep_answer(&mut self, value: f64) {
        if !self.has_own_ans {
            // There is always room for it since the session began.
            let _ = self.context.declare(ANS, value);
        }
    }

    /// Returns the variable that is the session's and not the program's.
    pub(super) fn own_variable(&self) -> Option<&'static str> {
        (!self.has_own_ans).then_some(ANS)
    }

    fn changes(&mut self, changes: &[Change], nothing: &str) {
        if changes.is_empty() {
            self.screen.line(nothing);
        }
        for change in changes {
            self.screen.line(&changed(self.context, change));
            for warning in &change.warnings {
                let _ = self.screen.settle();
                self.reporter.diagnostic(warning);
            }
        }
    }
}

impl RunSummary {
    /// Returns the summary, such as `2 defined, 1 redefined`.
    pub(super) fn text(self) -> String {
        let counts = [
            (self.defined, "defined"),
            (self.redefined, "redefined"),
            (self.unchanged, "unchanged"),
            (self.set_again, if self.set_again == 1 { "variable set again" } else { "variables set again" }),
            (self.failed, "failed"),
        ];
        let said = counts.iter().filter(|(count, _)| *count > 0);
        let said: Vec<String> = said.map(|(count, what)| format!("{count} {what}")).collect();
        let stopped = if self.failed > 0 { "; stopped there" } else { "" };
        if said.is_empty() { "loaded".into() } else { said.join(", ") + stopped }
    }
}

/// Returns whether an error has that code.
fn is(error: &Error, code: ErrorCode) -> bool {
    error.diagnostics().first().is_some_and(|diagnostic| diagnostic.code == code)
}

/// Prints the outcome of one item.
fn report(
    context: &mut Context,
    outcome: &Outcome,
    feedback: Feedback,
    screen: &Screen,
    reporter: &mut Reporter,
    tally: &mut RunSummary,
) {
    match outcome {
        Outcome::Value(value) => {
            let _ = context.output().value(*value);
        }
        Outcome::Defined { name, redefined, warnings } => {
            *(if *redefined { &mut tally.redefined } else { &mut tally.defined }) += 1;
            if feedback == Feedback::Each {
                screen.line(&defined(context, name, *redefined));
            }
            for warning in warnings {
                let _ = screen.settle();
                reporter.diagnostic(warning);
            }
        }
        Outcome::Unchanged { .. } => tally.unchanged += 1,
        Outcome::Declared { names } => {
            for name in names.iter().filter(|_| feedback == Feedback::Each) {
                let value = context.variable(name).map(crate::host::decimal::format_number);
                screen.line(&format!("{name} = {}", value.unwrap_or_default()));
            }
        }
        Outcome::Done => {}
        Outcome::Imported { module } => {
            if feedback == Feedback::Each {
                screen.line(&format!("{module} imported"));
            }
        }
        Outcome::Extern { name, declares } => {
            if feedback == Feedback::Each {
                let signature = context.signature(name).unwrap_or_else(|| name.clone());
                let what = match declares {
                    crate::Declaration::Host => "is a host function",
                    crate::Declaration::Defined => "is already defined",
                    crate::Declaration::Forward => "declared, not yet defined",
                };
                screen.line(&format!("{signature} {what}"));
            }
        }
    }
}

/// Describes a change: `fib(n) restored`, `fib dropped`, or that a built-in
/// meaning is back.
fn changed(context: &Context, change: &Change) -> String {
    let name = &change.name;
    if change.is_variable {
        return format!("{name} {}", if change.is_defined { "restored" } else { "dropped" });
    }
    if change.is_import {
        return format!("{name} {}", if change.is_defined { "imported again" } else { "no longer imported" });
    }
    if change.is_declaration {
        return format!("{name} {}", if change.is_defined { "declared again" } else { "no longer declared" });
    }
    if change.is_defined {
        let signature = context.signature(name);
        return format!("{} restored", signature.as_ref().unwrap_or(name));
    }
    match Denotation::of(context, name) {
        Ok(Denotation::Host(name)) => format!("`{name}` is built in again"),
        Ok(Denotation::Manual(entry)) => format!("`{}` is built in again", entry.name),
        Ok(Denotation::Definition(_) | Denotation::Variable(_)) | Err(_) => format!("{name} dropped"),
    }
}

/// Describes a definition: `fib(n) defined`, `fib(n) redefined, 3 callers
/// affected`.
fn defined(context: &Context, name: &str, redefined: bool) -> String {
    let signature = context.signature(name).unwrap_or_else(|| name.to_owned());
    if !redefined {
        return format!("{signature} defined");
    }
    let callers = context.callers(name).iter().filter(|caller| *caller != name).count();
    match callers {
        0 => format!("{signature} redefined"),
        1 => format!("{signature} redefined, 1 caller affected"),
        more => format!("{signature} redefined, {more} callers affected"),
    }
}

pub(super) fn quit(_: &mut ReplSession<'_>, _: &str) -> Result<SessionFlow, CommandError> {
    Ok(SessionFlow::Leave)
}

pub(super) fn load(session: &mut ReplSession<'_>, argument: &str) -> Result<(), CommandError> {
    let path = file::path(argument);
    session.load(&path)?;
    session.loaded = Some(path);
    Ok(())
}

pub(super) fn reload(session: &mut ReplSession<'_>, _: &str) -> Result<(), CommandError> {
    let path = session.loaded.clone().ok_or_else(|| "no file has been loaded".to_owned())?;
    session.load(&path).map(|_| ())
}

pub(super) fn undo(session: &mut ReplSession<'_>, _: &str) -> Result<(), CommandError> {
    let changes = session.context.undo();
    session.changes(&changes, "nothing to undo");
    Ok(())
}

pub(super) fn redo(session: &mut ReplSession<'_>, _: &str) -> Result<(), CommandError> {
    let changes = session.context.redo();
    session.changes(&changes, "nothing to redo");
    Ok(())
}

pub(super) fn drop(session: &mut ReplSession<'_>, name: &str) -> Result<(), CommandError> {
    let name = match Denotation::of(session.context, name)? {
        Denotation::Definition(name) => name,
        Denotation::Variable(name) => {
            session.context.drop_variable(&name)?;
            session.screen.line(&format!("{name} dropped"));
            return Ok(());
        }
        built_in @ (Denotation::Host(_) | Denotation::Manual(_)) => {
            let line = built_in.line(session.context);
            return Err(CommandError::Text(format!("{line} and cannot be dropped")));
        }
    };
    let callers = session.context.callers(&name);
    session.context.drop_function(&name)?;
    let left: Vec<String> = callers.into_iter().filter(|caller| *caller != name).collect();
    match left.as_slice() {
        [] => {
            let change = Change {
                name,
                is_variable: false,
                is_declaration: false,
                is_import: false,
                is_defined: false,
                warnings: Vec::new(),
            };
            session.screen.line(&changed(session.context, &change));
        }
        _ if session.context.is_function(&name) => {
            let described = session.context.describe(&name);
            let next = described.map_or_else(|| "the built-in one".to_owned(), |next| next.name);
            session.screen.line(&format!("{name} dropped; {} will call {next}", left.join(", ")));
        }
        callers => session.screen.line(&format!("{name} dropped; {} will fail", callers.join(", "))),
    }
    Ok(())
}

pub(super) fn reset(session: &mut ReplSession<'_>, _: &str) -> Result<(), CommandError> {
    // What was saved is not replaced by nothing.
    session.save_automatically(true);
    let kept = session.file.end_automatic().map(file::shown);
    session.context.reset();
    session.watches.clear();
    session.loaded = None;
    session.draft = None;
    session.declare_ans();
    // Changes made by the user's init file cannot be undone.
    session.context.keep_history(0);
    let again = session.init();
    session.begin_history();
    session.screen.line(&match again {
        Some(tally) => format!("everything was removed; init.kal ran again: {}", tally.text()),
        None => "everything was removed".into(),
    });
    if let Some(kept) = kept {
        session.screen.line(&format!("{kept} keeps what was saved; autosave is off"));
    }
    Ok(())
}
