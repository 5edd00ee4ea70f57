//! Where the debugger reads its commands: the terminal, or lines from a pipe.

use super::highlighter::Highlight;
use super::palette::{COMMAND, paint};
use super::screen::Screen;
use crate::debugger::{self, Console};
use crate::diagnostic::visible::visible_lines;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{ColorMode, CompletionType, Config, Context, EditMode, Editor, Helper};
use std::borrow::Cow;
use std::io::{self, BufRead, IsTerminal};

/// The console of a session, or of `kal debug`.
pub(crate) struct LineConsole {
    screen: Screen,
    /// Whether prompts and input are printed, as a terminal would show them.
    is_transcript: bool,
    has_color: bool,
    edit_mode: EditMode,
    /// `None` before the first line is read.
    editor: Option<Editor<Words, MemHistory>>,
    words: Vec<String>,
}

/// The words for completing and colouring a line.
struct Words {
    all: Vec<String>,
    highlight: Highlight,
}

impl LineConsole {
    pub(crate) fn new(screen: Screen, is_transcript: bool, has_color: bool, edit_mode: EditMode) -> Self {
        Self { screen, is_transcript, has_color, edit_mode, editor: None, words: Vec::new() }
    }

    fn editor(&mut self) -> Option<&mut Editor<Words, MemHistory>> {
        if self.editor.is_none() {
            let color = if self.has_color { ColorMode::Forced } else { ColorMode::Disabled };
            let config = Config::builder()
                .completion_type(CompletionType::List)
                .color_mode(color)
                .edit_mode(self.edit_mode)
                .build();
            let mut editor = Editor::with_history(config.clone(), MemHistory::with_config(&config)).ok()?;
            editor.set_helper(Some(Words {
                all: Vec::new(),
                highlight: Highlight::new(self.has_color, command_head),
            }));
            self.editor = Some(editor);
        }
        self.editor.as_mut()
    }

    /// Reads a line; Ctrl-C clears it, or leaves the lines before it, too.
    fn read_terminal(&mut self, prompt: &str, is_first: bool) -> Option<String> {
        let words = std::mem::take(&mut self.words);
        let editor = self.editor()?;
        editor.helper_mut()?.all = words;
        let line = loop {
            match editor.readline(prompt) {
                Ok(line) => break line,
                Err(ReadlineError::Interrupted) if is_first => {}
                Err(_) => return None,
            }
        };
        let _ = editor.add_history_entry(&line);
        Some(line)
    }

    fn read_pipe(&mut self, prompt: &str) -> Option<String> {
        let mut line = Vec::new();
        let length = io::stdin().lock().read_until(b'\n', &mut line).ok()?;
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if self.is_transcript && length > 0 {
            self.screen.line(&format!("{prompt}{line}"));
        }
        (length > 0).then_some(line)
    }
}

impl Console for LineConsole {
    fn read(&mut self, prompt: &str) -> Option<String> {
        let _ = self.screen.settle();
        if io::stdin().is_terminal() { self.read_terminal(prompt, true) } else { self.read_pipe(prompt) }
    }

    fn read_more(&mut self, prompt: &str) -> Option<String> {
        if io::stdin().is_terminal() {
            self.read_terminal(prompt, false)
        } else {
            Some(self.read_pipe(prompt).unwrap_or_default())
        }
    }

    fn say(&mut self, text: &str) {
        self.screen.line(&visible_lines(text));
    }

    fn completes(&self) -> bool {
        io::stdin().is_terminal()
    }

    fn offer(&mut self, words: Vec<String>) {
        self.words = words;
    }
}

/// Returns the word that a command of the debugger is, in its colour, and its
/// length.
fn command_head(line: &str) -> (String, usize) {
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    let is_command = debugger::words().any(|word| word == &line[..end]);
    if is_command { (paint(COMMAND, &line[..end]), end) } else { (String::new(), 0) }
}

impl Helper for Words {}

impl Validator for Words {}

impl Hinter for Words {
    type Hint = String;
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
        let start = line[..pos]
            .rfind(|sign| !is_part(sign))
            .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
        let word = &line[start..pos];
        let mut matching: Vec<&String> = self.all.iter().filter(|known| known.starts_with(word)).collect();
        matching.sort();
        matching.dedup();
        let pair = |known: &String| Pair { display: known.clone(), replacement: known.clone() };
        Ok((start, matching.into_iter().filter(|_| !word.is_empty()).map(pair).collect()))
    }
}

impl Highlighter for Words {
    fn highlight<'l>(&self, line: &'l str, pos: usize) -> Cow<'l, str> {
        self.highlight.line(line, pos, |name| self.all.iter().any(|known| known == name))
    }

    fn highlight_char(&self, line: &str, _: usize, kind: CmdKind) -> bool {
        self.highlight.note(kind);
        self.highlight.is_drawn_while_typing(line)
    }
}
