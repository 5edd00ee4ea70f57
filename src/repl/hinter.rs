//! Hints: what could follow at the end of the line, in a quiet colour.

use crate::context::Context;
use rustyline::history::SearchDirection;

/// A hint; one from the history can be accepted with the right arrow.
pub(super) struct Hint {
    text: String,
    can_be_accepted: bool,
}

impl rustyline::hint::Hint for Hint {
    fn display(&self) -> &str {
        &self.text
    }

    fn completion(&self) -> Option<&str> {
        self.can_be_accepted.then_some(&self.text)
    }
}

/// The rest of the latest entry that begins with the line.
pub(super) fn from_history(line: &str, pos: usize, context: &rustyline::Context<'_>) -> Option<Hint> {
    if line.trim().is_empty() || pos < line.len() || line.len() > 200 {
        return None;
    }
    let history = context.history();
    let mut start = context.history_index().min(history.len()).checked_sub(1)?;
    loop {
        let found = history.starts_with(line, start, SearchDirection::Reverse).ok()??;
        let rest = &found.entry[line.len()..];
        if !rest.is_empty() && !rest.contains('\n') {
            return Some(Hint { text: rest.to_owned(), can_be_accepted: true });
        }
        start = found.idx.checked_sub(1)?;
    }
}

/// The parameters of the function whose call has just been opened.
pub(super) fn from_signature(line: &str, pos: usize, context: &Context) -> Option<Hint> {
    if pos < line.len() {
        return None;
    }
    let before = line.strip_suffix('(')?;
    let start = before.rfind(|character: char| !(character.is_alphanumeric() || character == '_'));
    let name = &before[start.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))..];
    let signature = context.signature(name)?;
    let (_, parameters) = signature.split_once('(')?;
    Some(Hint { text: parameters.replace(' ', ", "), can_be_accepted: false })
}
