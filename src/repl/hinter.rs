//! Hints: what could follow at the end of the line, in a quiet colour.

use super::manual::ManualEntry;
use super::{command, input};
use crate::context::Context;
use crate::host::decimal::format_number;
use crate::terminal::margin;
use rustc_hash::FxHashSet;
use rustyline::history::SearchDirection;

/// A hint; one from the history can be accepted.
pub(super) struct Hint {
    text: String,
    can_be_accepted: bool,
}

impl Hint {
    fn to_read(text: impl Into<String>) -> Self {
        Self { text: text.into(), can_be_accepted: false }
    }
}

impl rustyline::hint::Hint for Hint {
    fn display(&self) -> &str {
        &self.text
    }

    fn completion(&self) -> Option<&str> {
        self.can_be_accepted.then_some(&self.text)
    }
}

/// Returns the rest of the latest entry that begins with the line and did not
/// fail.
pub(super) fn from_history(
    line: &str,
    context: &rustyline::Context<'_>,
    failed: &FxHashSet<String>,
) -> Option<Hint> {
    if line.trim().is_empty() || line.len() > 200 {
        return None;
    }
    let history = context.history();
    let latest = context.history_index().min(history.len());
    (0..latest).rev().find_map(|index| {
        let found = history.get(index, SearchDirection::Reverse).ok()??;
        let rest = found.entry.strip_prefix(line)?;
        let fits = !rest.is_empty() && !rest.contains('\n') && !failed.contains(&*found.entry);
        fits.then(|| Hint { text: rest.to_owned(), can_be_accepted: true })
    })
}

/// Returns the parameters of the function whose argument list has just been
/// opened.
pub(super) fn from_signature(line: &str, context: &Context) -> Option<Hint> {
    let before = line.strip_suffix('(')?;
    let start =
        before.rfind(|character: char| !(character.is_alphanumeric() || matches!(character, '_' | '.')));
    let name = &before[start.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))..];
    let Some(signature) = context.signature(name) else {
        let word = ManualEntry::called_words().find(|entry| entry.name == name)?;
        return Some(Hint::to_read(word.form.split_once('(')?.1));
    };
    let (_, parameters) = signature.split_once('(')?;
    Some(Hint::to_read(parameters.replace(' ', ", ")))
}

/// Returns the value of an expression, if it is pure and not just that number.
pub(super) fn from_preview(line: &str, context: &Context) -> Option<Hint> {
    let text = margin::removed(line);
    if command::split(&text).is_some() {
        return None;
    }
    let value = format_number(context.preview(&text)?);
    (value != text.trim()).then(|| Hint::to_read(format!("  = {value}")))
}

/// Returns a hint about an input that is taller than a window of this many
/// columns and rows: its beginning is out of sight, and stays there.
pub(super) fn out_of_sight(line: &str, (columns, rows): (usize, usize)) -> Option<Hint> {
    let height = |row: &str| 1 + row.chars().count() / columns.max(1);
    let is_tall = line.split('\n').map(height).sum::<usize>() > rows;
    is_tall.then(|| Hint::to_read("  taller than the window: Ctrl-X Ctrl-E opens the editor"))
}

/// Returns a hint about leaving an input that stays unfinished.
pub(super) fn way_out(line: &str) -> Option<Hint> {
    let is_second = line.matches('\n').count() > 1;
    (is_second && input::ends_with_empty_row(line))
        .then(|| Hint::to_read("an empty line ends the input, Ctrl-C cancels it"))
}
