//! Where the debugger reads its commands: the terminal, or lines from a pipe.

use super::screen::Screen;
use crate::debugger::Console;
use crate::diagnostic::visible::visible_lines;
use rustyline::DefaultEditor;
use std::io::{self, BufRead, IsTerminal};

/// The console of a session, or of `kal debug`.
pub(crate) struct LineConsole {
    screen: Screen,
    /// Whether prompts and input are printed, as a terminal would show them.
    is_transcript: bool,
    /// What was typed before.
    history: Vec<String>,
}

impl LineConsole {
    pub(crate) fn new(screen: Screen, is_transcript: bool) -> Self {
        Self { screen, is_transcript, history: Vec::new() }
    }

    fn read_terminal(&mut self, prompt: &str) -> Option<String> {
        let mut editor = DefaultEditor::new().ok()?;
        for entry in &self.history {
            let _ = editor.add_history_entry(entry);
        }
        let line = editor.readline(prompt).ok()?;
        self.history.push(line.clone());
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
        if io::stdin().is_terminal() { self.read_terminal(prompt) } else { self.read_pipe(prompt) }
    }

    fn say(&mut self, text: &str) {
        self.screen.line(&visible_lines(text));
    }
}
