//! Sessions at a terminal that cannot move its cursor: prompts, and lines as
//! the terminal itself lets them be edited.

use super::history_file::HistoryFile;
use super::session::{ReplSession, SessionFlow};
use super::{input, places, watch};
use crate::terminal::exit::Exit;
use crate::terminal::margin::{CONTINUATION, PROMPT};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

/// Answers what is typed until Ctrl-D or `:quit`.
pub(super) fn run(session: &mut ReplSession<'_>, changed: &Receiver<PathBuf>) -> Exit {
    let history = places::history().map(HistoryFile::new);
    let mut text = String::new();
    loop {
        watch::reload_changed(session, changed);
        let _ = session.screen.settle();
        let is_at_end = match read(if text.is_empty() { PROMPT } else { CONTINUATION }) {
            Ok(None) if text.is_empty() => return Exit::Fine,
            // Unfinished input is answered: the error says what is missing.
            Ok(None) => true,
            Ok(Some(line)) => {
                // Ctrl-C has discarded the earlier lines.
                if session.context.interrupt_handle().is_pending() {
                    session.context.interrupt_handle().clear();
                    text.clear();
                }
                text.push_str(&line);
                false
            }
            Err(error) => {
                session.problem(&format!("the terminal cannot be read: {error}"));
                return Exit::Failed;
            }
        };
        let complete = input::without_prompts(&text);
        if !is_at_end && !input::ends_with_empty_row(&text) && session.is_incomplete(&complete) {
            text.push('\n');
            continue;
        }
        text.clear();
        let entry = complete.trim_end();
        history.iter().filter(|_| !entry.is_empty()).for_each(|history| history.append(entry));
        match session.answer(&complete) {
            SessionFlow::Continue => {}
            SessionFlow::Leave => return Exit::Fine,
            SessionFlow::BrokenPipe => return Exit::BrokenPipe,
            SessionFlow::OutOfTime => return Exit::Deadline,
        }
    }
}

/// Shows a prompt and reads a line, without its line feed; `None` at the end of
/// the input.
fn read(prompt: &str) -> io::Result<Option<String>> {
    let mut stdout = io::stdout();
    stdout.write_all(prompt.as_bytes())?;
    stdout.flush()?;
    let mut line = Vec::new();
    loop {
        match io::stdin().lock().read_until(b'\n', &mut line) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(0) => return Ok(None),
            Ok(_) => break,
        }
    }
    let line = String::from_utf8_lossy(&line);
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}
