//! Sessions at a terminal, with rustyline.

use super::arguments::ReplArguments;
use super::completer::Completion;
use super::edit::in_editor;
use super::history_file::{self, HistoryFile};
use super::input::Grammar;
use super::keys::{self, Intent, Keys};
use super::manual::ManualEntry;
use super::recall::Recall;
use super::session::{ReplSession, SessionFlow};
use super::{command, hinter, input, places, watch};
use crate::InterruptHandle;
use crate::terminal::exit::Exit;
use crate::terminal::highlighter::Highlight;
use crate::terminal::margin::{self, PROMPT};
use crate::terminal::palette::{FAINT, PROMPT as PROMPT_COLOR, paint};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::{History, MemHistory};
use rustyline::validate::Validator;
use rustyline::{
    Behavior, ColorMode, CompletionType, Config, Context, Editor, ExternalPrinter, Helper as RustylineHelper,
};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Returns whether the terminal can move its cursor, which editing requires.
pub(super) fn is_possible() -> bool {
    let terminal = std::env::var("TERM").unwrap_or_default();
    !["", "dumb", "cons25", "emacs"].contains(&terminal.as_str())
}

/// Answers what is typed until Ctrl-D or `:quit`.
pub(super) fn run(
    arguments: &ReplArguments,
    session: &Mutex<ReplSession<'_>>,
    changed: Receiver<PathBuf>,
) -> Exit {
    let _ = session.lock().screen.settle();
    let mut prompt = match Prompt::new(arguments, session) {
        Ok(prompt) => prompt,
        Err(error) => {
            session.lock().problem(&format!("cannot use the terminal: {error}"));
            return Exit::Failed;
        }
    };
    let printer = prompt.editor.create_external_printer().ok();
    let keys = prompt.keys.clone();
    std::thread::scope(|scope| {
        if let Some(printer) = printer {
            scope.spawn(move || reload(session, &keys, &changed, printer));
        }
        let _closing = Closing(session);
        prompt.run()
    })
}

/// Stops watching files when it is dropped, also by a panic: that ends the
/// thread that waits for changes, which the process otherwise waits for.
struct Closing<'s, 'c>(&'s Mutex<ReplSession<'c>>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().watches.close();
    }
}

/// The line editor and what it works on.
struct Prompt<'s, 'c> {
    session: &'s Mutex<ReplSession<'c>>,
    editor: Editor<Helper<'s, 'c>, Recall>,
    keys: Arc<Keys>,
    history: Option<HistoryFile>,
    interrupts: InterruptHandle,
}

impl<'s, 'c> Prompt<'s, 'c> {
    fn new(arguments: &ReplArguments, session: &'s Mutex<ReplSession<'c>>) -> rustyline::Result<Self> {
        let history = places::history().map(HistoryFile::new);
        let keys = Arc::new(Keys::new(Grammar::of(session.lock().context)));
        let config = config(arguments)?;
        let mut entries = MemHistory::with_config(&config);
        let mut failed = FxHashSet::default();
        for entry in history.as_ref().map(HistoryFile::entries).unwrap_or_default() {
            let text = margin::added(&entry.text);
            if entry.has_failed {
                failed.insert(text.clone());
            } else {
                failed.remove(&text);
            }
            entries.add_owned(text)?;
        }
        let mut editor = Editor::with_history(config, Recall::new(entries, keys.walk.clone()))?;
        let has_color = session.lock().reporter.colors().stdout;
        editor.set_helper(Some(Helper {
            session,
            highlight: Highlight::new(has_color, command::head),
            completion: Completion::new(),
            // Without colours, a hint would look like a part of the line.
            has_preview: has_color && !arguments.no_preview,
            failed: RefCell::new(failed),
            size: Cell::new((usize::MAX, usize::MAX)),
        }));
        for (key, action) in keys::bindings(&keys) {
            editor.bind_sequence(key, action);
        }
        let interrupts = session.lock().context.interrupt_handle();
        Ok(Self { session, editor, keys, history, interrupts })
    }

    fn run(&mut self) -> Exit {
        let mut draft = String::new();
        loop {
            self.keys.follow(Grammar::of(self.session.lock().context));
            let size = self.editor.dimensions();
            if let (Some(helper), Some((columns, rows))) = (self.editor.helper(), size) {
                helper.size.set((usize::from(columns), usize::from(rows)));
            }
            let prompt = (PROMPT, self.session.lock().painted(PROMPT_COLOR, PROMPT));
            let text = match self.editor.readline_with_initial(&prompt, (&draft, "")) {
                Ok(buffer) => margin::removed(&buffer),
                Err(ReadlineError::Interrupted) => {
                    draft.clear();
                    self.interrupt_reload();
                    continue;
                }
                Err(ReadlineError::Eof) => {
                    self.interrupt_reload();
                    return Exit::Fine;
                }
                Err(error) => {
                    self.session.lock().problem(&format!("the terminal cannot be read: {error}"));
                    return Exit::Failed;
                }
            };
            draft.clear();
            match self.keys.take_intent() {
                Intent::Answer => {}
                Intent::Abandon => {
                    self.interrupt_reload();
                    continue;
                }
                Intent::Edit => {
                    draft = margin::added(&self.edited(text));
                    continue;
                }
            }
            match self.answer(&input::without_prompts(&text)) {
                SessionFlow::Continue => {}
                SessionFlow::Leave => return Exit::Fine,
                SessionFlow::BrokenPipe => return Exit::BrokenPipe,
                SessionFlow::OutOfTime => return Exit::Deadline,
            }
        }
    }

    /// Interrupts the reload that is in progress, if there is one: while a line
    /// is edited, Ctrl-C is only a key.
    fn interrupt_reload(&self) {
        if self.session.is_locked() {
            self.interrupts.interrupt();
        }
    }

    /// Opens a text in the user's editor; returns what it saved.
    fn edited(&self, text: String) -> String {
        match in_editor(&text) {
            Ok(edited) => edited.trim_end().to_owned(),
            Err(trouble) => {
                self.session.lock().problem(&trouble.to_string());
                text
            }
        }
    }

    /// Answers an input, after adding it to the history.
    fn answer(&mut self, input: &str) -> SessionFlow {
        let entry = input.trim_end();
        let buffer = margin::added(entry);
        let is_new = !entry.is_empty() && self.editor.add_history_entry(buffer.as_str()).unwrap_or(false);
        let had_failed = self.failed().is_some_and(|mut failed| failed.remove(&buffer));
        if is_new || had_failed {
            self.history.iter().for_each(|history| history.append(entry));
        }
        let (flow, has_failed) = {
            let mut session = self.session.lock();
            let columns = self.editor.dimensions().map(|(columns, _)| usize::from(columns));
            session.width = columns.unwrap_or(session.width);
            session.attempt(input)
        };
        if has_failed && !entry.is_empty() {
            self.failed().map(|mut failed| failed.insert(buffer));
            self.history.iter().for_each(|history| history.append_failed(entry));
        }
        flow
    }

    fn failed(&self) -> Option<std::cell::RefMut<'_, FxHashSet<String>>> {
        Some(self.editor.helper()?.failed.borrow_mut())
    }
}

fn config(arguments: &ReplArguments) -> rustyline::Result<Config> {
    // With output to a file, the prompt still belongs on the terminal.
    let behavior = if std::io::stdout().is_terminal() { Behavior::Stdio } else { Behavior::PreferTerm };
    Ok(Config::builder()
        .max_history_size(history_file::MOST)?
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .edit_mode(arguments.edit_mode())
        // The highlighter is needed without colours, too: for margins.
        .color_mode(ColorMode::Forced)
        .behavior(behavior)
        .build())
}

/// Loads watched files again when they change, while the prompt waits.
fn reload(
    session: &Mutex<ReplSession<'_>>,
    keys: &Keys,
    changed: &Receiver<PathBuf>,
    mut printer: impl ExternalPrinter,
) {
    while let Some(paths) = watch::next_changes(changed) {
        let mut session = session.lock();
        let said = session.screen.clone();
        said.capture();
        let lines = said.clone();
        let before = session.reporter.redirect(Some(Box::new(move |text| lines.line(text))));
        session.attend(|session| watch::reload(session, &paths));
        session.reporter.redirect(before);
        keys.follow(Grammar::of(session.context));
        let said = said.release();
        drop(session);
        if !said.is_empty() {
            let _ = printer.print(said);
        }
    }
}

/// What rustyline calls while a line is edited.
struct Helper<'s, 'c> {
    session: &'s Mutex<ReplSession<'c>>,
    highlight: Highlight,
    completion: Completion,
    has_preview: bool,
    /// The entries of the history that failed when they were last run.
    failed: RefCell<FxHashSet<String>>,
    /// The columns and rows of the terminal when the line was begun.
    size: Cell<(usize, usize)>,
}

impl RustylineHelper for Helper<'_, '_> {}

/// The binding of Enter checks whether an input is complete.
impl Validator for Helper<'_, '_> {}

impl Highlighter for Helper<'_, '_> {
    fn highlight<'l>(&self, line: &'l str, pos: usize) -> Cow<'l, str> {
        let session = self.session.try_lock();
        let is_function = |name: &str| {
            session.as_ref().is_none_or(|session| session.context.is_function(name))
                || ManualEntry::called_words().any(|word| word.name == name)
        };
        self.highlight.line(line, pos, is_function)
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        if self.highlight.has_color() { Cow::Owned(paint(FAINT, hint)) } else { Cow::Borrowed(hint) }
    }

    fn highlight_char(&self, line: &str, _pos: usize, kind: CmdKind) -> bool {
        self.highlight.note(kind);
        self.highlight.is_drawn_while_typing(line)
    }
}

impl Completer for Helper<'_, '_> {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        match self.session.try_lock() {
            Some(session) => self.completion.candidates(session.context, line, pos),
            None => Ok((pos, Vec::new())),
        }
    }
}

impl Hinter for Helper<'_, '_> {
    type Hint = hinter::Hint;

    fn hint(&self, line: &str, pos: usize, context: &Context<'_>) -> Option<hinter::Hint> {
        if pos < line.len() {
            return None;
        }
        let session = self.session.try_lock();
        let context_of = || session.as_ref().map(|session| &*session.context);
        hinter::out_of_sight(line, self.size.get())
            .or_else(|| hinter::way_out(line))
            .or_else(|| hinter::from_signature(line, context_of()?))
            .or_else(|| hinter::from_preview(line, context_of().filter(|_| self.has_preview)?))
            .or_else(|| hinter::from_history(line, context, &self.failed.borrow()))
    }
}
