//! Sessions whose input is not a terminal: lines, without editing.
//!
//! The same inputs give the same answers as at a terminal. As a transcript,
//! prompts and inputs are printed too, so that the output is a document that
//! can be replayed.

use super::session::{ReplSession, SessionFlow};
use super::watch;
use crate::terminal::exit::Exit;
use crate::terminal::interrupt::Idle;
use crate::terminal::margin::{CONTINUATION, PROMPT};
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

/// Answers standard input, line by line.
pub(super) fn run(
    session: &mut ReplSession<'_>,
    changed: &Receiver<PathBuf>,
    is_transcript: bool,
    idle: &Idle,
) -> Exit {
    let mut text = String::new();
    let mut line = Vec::new();
    let flow = loop {
        line.clear();
        match idle.during(|| io::stdin().lock().read_until(b'\n', &mut line)) {
            Ok(0) => break session.answer(&text),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                session.problem(&format!("standard input: {error}"));
                break SessionFlow::Leave;
            }
        }
        watch::reload_changed(session, changed);
        // Invalid UTF-8 becomes a character that no token begins with.
        let input = String::from_utf8_lossy(&line);
        if is_transcript {
            let prompt = if text.is_empty() { PROMPT } else { CONTINUATION };
            session.screen.line(&format!("{prompt}{}", input.trim_end_matches(['\n', '\r'])));
        }
        text.push_str(&input);
        if session.is_incomplete(&text) {
            continue;
        }
        let flow = session.answer(&std::mem::take(&mut text));
        if flow != SessionFlow::Continue {
            break flow;
        }
    };
    match flow {
        SessionFlow::BrokenPipe => Exit::BrokenPipe,
        SessionFlow::OutOfTime => Exit::Deadline,
        SessionFlow::Continue | SessionFlow::Leave if session.has_failed() => Exit::Failed,
        SessionFlow::Continue | SessionFlow::Leave => Exit::Fine,
    }
}
