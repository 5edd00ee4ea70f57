//! Sessions at a terminal, with rustyline.

use super::completer::Completion;
use super::highlighter::Highlight;
use super::history_file::{self, HistoryFile};
use super::palette::{PROMPT as PROMPT_COLOR, paint};
use super::session::{Flow, Session};
use super::{CONTINUATION, PROMPT, hinter, input, places, watch};
use crate::cli::Exit;
use parking_lot::Mutex;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::{History, MemHistory};
use rustyline::validate::Validator;
use rustyline::{
    ColorMode, CompletionType, Config, Context, Editor, ExternalPrinter, Helper as RustylineHelper,
};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

/// Answers what is typed until Ctrl-D or `:quit`.
pub(super) fn run(session: &Mutex<Session<'_>>, changed: Receiver<PathBuf>) -> Exit {
    let _ = session.lock().screen.settle();
    let history = places::history().map(HistoryFile::new);
    let mut editor = match editor(session, history.as_ref()) {
        Ok(editor) => editor,
        Err(error) => {
            session.lock().problem(&format!("the terminal cannot be used: {error}"));
            return Exit::Failed;
        }
    };
    let printer = editor.create_external_printer().ok();
    std::thread::scope(|scope| {
        if let Some(printer) = printer {
            scope.spawn(move || reload(session, &changed, printer));
        }
        let exit = prompt(session, &mut editor, history.as_ref());
        // This ends the thread that waits for changes.
        session.lock().watches.close();
        exit
    })
}

type PromptEditor<'s, 'c> = Editor<Helper<'s, 'c>, MemHistory>;

fn editor<'s, 'c>(
    session: &'s Mutex<Session<'c>>,
    history: Option<&HistoryFile>,
) -> rustyline::Result<PromptEditor<'s, 'c>> {
    let has_color = session.lock().reporter.colors().stdout;
    let config = Config::builder()
        .max_history_size(history_file::MOST)?
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .color_mode(if has_color { ColorMode::Forced } else { ColorMode::Disabled })
        .build();
    let mut entries = MemHistory::with_config(&config);
    for entry in history.map(HistoryFile::entries).unwrap_or_default() {
        entries.add_owned(entry)?;
    }
    let mut editor = Editor::with_history(config, entries)?;
    editor.set_helper(Some(Helper {
        session,
        highlight: Highlight::default(),
        completion: Completion::new(),
    }));
    Ok(editor)
}

fn prompt(
    session: &Mutex<Session<'_>>,
    editor: &mut PromptEditor<'_, '_>,
    history: Option<&HistoryFile>,
) -> Exit {
    let mut text = String::new();
    loop {
        if let Some(helper) = editor.helper_mut() {
            helper.highlight.follow(&text);
        }
        let prompt = if text.is_empty() { PROMPT } else { CONTINUATION };
        match editor.readline(&(prompt, paint(PROMPT_COLOR, prompt))) {
            Ok(line) => text.push_str(&line),
            Err(ReadlineError::Interrupted) => {
                text.clear();
                continue;
            }
            // What is unfinished is answered: that says what is missing.
            Err(ReadlineError::Eof) if !text.is_empty() => {}
            Err(ReadlineError::Eof) => return Exit::Fine,
            Err(error) => {
                session.lock().problem(&format!("the terminal cannot be read: {error}"));
                return Exit::Failed;
            }
        }
        let complete = input::without_prompts(&text);
        let mut session = session.lock();
        if !text.ends_with('\n') && session.is_incomplete(&complete) {
            text.push('\n');
            continue;
        }
        text.clear();
        remember(editor, history, complete.trim_end());
        session.width = editor.dimensions().map_or(session.width, |(columns, _)| usize::from(columns));
        match session.answer(&complete) {
            Flow::Continue => {}
            Flow::Leave => return Exit::Fine,
            Flow::BrokenPipe => return Exit::BrokenPipe,
            Flow::OutOfTime => return Exit::Deadline,
        }
    }
}

fn remember(editor: &mut PromptEditor<'_, '_>, history: Option<&HistoryFile>, entry: &str) {
    let is_new = !entry.is_empty() && editor.add_history_entry(entry).unwrap_or(false);
    if let (true, Some(history)) = (is_new, history) {
        history.append(entry);
    }
}

/// Loads watched files again when they change, while the prompt waits.
fn reload(session: &Mutex<Session<'_>>, changed: &Receiver<PathBuf>, mut printer: impl ExternalPrinter) {
    while let Some(paths) = watch::next_changes(changed) {
        let mut session = session.lock();
        let said = session.screen.clone();
        said.capture();
        let lines = said.clone();
        let before = session.reporter.redirect(Some(Box::new(move |text| lines.line(text))));
        watch::reload(&mut session, &paths);
        session.reporter.redirect(before);
        let said = said.release();
        drop(session);
        if !said.is_empty() {
            let _ = printer.print(said);
        }
    }
}

/// What rustyline asks while a line is edited.
struct Helper<'s, 'c> {
    session: &'s Mutex<Session<'c>>,
    highlight: Highlight,
    completion: Completion,
}

impl RustylineHelper for Helper<'_, '_> {}

/// The parser says whether an input is complete, between lines.
impl Validator for Helper<'_, '_> {}

impl Highlighter for Helper<'_, '_> {
    fn highlight<'l>(&self, line: &'l str, pos: usize) -> Cow<'l, str> {
        let session = self.session.try_lock();
        self.highlight
            .line(line, pos, |name| session.as_ref().is_none_or(|session| session.context.is_function(name)))
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(paint(super::palette::FAINT, hint))
    }

    fn highlight_char(&self, line: &str, _pos: usize, kind: CmdKind) -> bool {
        self.highlight.note(kind);
        line.len() <= Highlight::LONGEST_WHILE_TYPING
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
        hinter::from_history(line, pos, context)
            .or_else(|| hinter::from_signature(line, pos, self.session.try_lock()?.context))
    }
}
