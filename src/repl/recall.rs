//! Earlier inputs, as the line editor recalls them.
//!
//! Up and Down visit the entries that begin with the text before the cursor, as
//! long as the entries themselves are not edited. rustyline asks for them with
//! `starts_with`; this answers so that the cursor ends up after the entry, and
//! Down after the latest entry restores what was typed.

use parking_lot::Mutex;
use rustyline::history::{History, MemHistory, SearchDirection, SearchResult};
use std::path::Path;
use std::sync::Arc;

/// A walk through the entries.
#[derive(Default)]
pub(super) struct HistoryWalk {
    /// The buffer before the walk.
    typed: String,
    /// The length of the prefix that the entries must begin with, in bytes.
    prefix: usize,
    /// The entry that is shown; `None` before the walk.
    shown: Option<String>,
}

impl HistoryWalk {
    /// Records the buffer in which Up or Down is pressed.
    pub(super) fn note(&mut self, buffer: &str, pos: usize) {
        if self.shown.as_deref() != Some(buffer) {
            *self = Self { typed: buffer.to_owned(), prefix: pos, shown: None };
        }
    }

    fn next(
        &mut self,
        entries: &MemHistory,
        start: usize,
        direction: SearchDirection,
    ) -> SearchResult<'static> {
        let found = match direction {
            SearchDirection::Reverse => (0..=start).rev().find_map(|index| self.fitting(entries, index)),
            SearchDirection::Forward => (start..entries.len()).find_map(|index| self.fitting(entries, index)),
        };
        if let Some((idx, entry)) = found {
            self.shown = Some(entry.clone());
            return SearchResult { pos: entry.len(), entry: entry.into(), idx };
        }
        match (direction, &self.shown) {
            // There is none before: nothing changes.
            (SearchDirection::Reverse, Some(shown)) => {
                SearchResult { pos: shown.len(), entry: shown.clone().into(), idx: start + 1 }
            }
            (SearchDirection::Reverse, None) => self.typed(start + 1),
            (SearchDirection::Forward, _) => self.typed(entries.len()),
        }
    }

    /// Returns the entry at an index, if the walk visits it.
    fn fitting(&self, entries: &MemHistory, index: usize) -> Option<(usize, String)> {
        let found = entries.get(index, SearchDirection::Forward).ok()??;
        let is_new = self.shown.as_deref().unwrap_or(&self.typed) != found.entry;
        let fits = is_new && found.entry.starts_with(&self.typed[..self.prefix]);
        fits.then(|| (index, found.entry.into_owned()))
    }

    fn typed(&self, idx: usize) -> SearchResult<'static> {
        SearchResult { entry: self.typed.clone().into(), idx, pos: self.prefix }
    }
}

/// The entries of this session and of those before it.
pub(super) struct Recall {
    entries: MemHistory,
    walk: Arc<Mutex<HistoryWalk>>,
}

impl Recall {
    pub(super) fn new(entries: MemHistory, walk: Arc<Mutex<HistoryWalk>>) -> Self {
        Self { entries, walk }
    }
}

impl History for Recall {
    fn get(&self, index: usize, dir: SearchDirection) -> rustyline::Result<Option<SearchResult<'_>>> {
        self.entries.get(index, dir)
    }

    fn add(&mut self, line: &str) -> rustyline::Result<bool> {
        self.entries.add(line)
    }

    fn add_owned(&mut self, line: String) -> rustyline::Result<bool> {
        self.entries.add_owned(line)
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn set_max_len(&mut self, len: usize) -> rustyline::Result<()> {
        self.entries.set_max_len(len)
    }

    fn ignore_dups(&mut self, yes: bool) -> rustyline::Result<()> {
        self.entries.ignore_dups(yes)
    }

    fn ignore_space(&mut self, yes: bool) {
        self.entries.ignore_space(yes);
    }

    fn save(&mut self, path: &Path) -> rustyline::Result<()> {
        self.entries.save(path)
    }

    fn append(&mut self, path: &Path) -> rustyline::Result<()> {
        self.entries.append(path)
    }

    fn load(&mut self, path: &Path) -> rustyline::Result<()> {
        self.entries.load(path)
    }

    fn clear(&mut self) -> rustyline::Result<()> {
        self.entries.clear()
    }

    fn search(
        &self,
        term: &str,
        start: usize,
        dir: SearchDirection,
    ) -> rustyline::Result<Option<SearchResult<'_>>> {
        self.entries.search(term, start, dir)
    }

    /// Returns the next entry of the walk that a key has begun. The term is the
    /// text before the cursor; the walk knows what was typed.
    fn starts_with(
        &self,
        _term: &str,
        start: usize,
        dir: SearchDirection,
    ) -> rustyline::Result<Option<SearchResult<'_>>> {
        Ok(Some(self.walk.lock().next(&self.entries, start, dir)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Presses Up (`u`) and Down (`d`) as rustyline handles them; returns the
    /// buffers.
    fn pressed(typed: &str, pos: usize, keys: &str) -> Vec<String> {
        let mut entries = MemHistory::new();
        for entry in ["fib(1)", "sin(2)", "fib(3)", "sin(4)", "fib(3)"] {
            entries.add(entry).unwrap();
        }
        let recall = Recall::new(entries, Arc::default());
        let (mut buffer, mut pos, mut index) = (typed.to_owned(), pos, recall.len());
        let mut press = |key| {
            let at_end = if key == 'u' { index == 0 } else { index == recall.len() };
            if at_end {
                return buffer.clone();
            }
            recall.walk.lock().note(&buffer, pos);
            let dir = if key == 'u' { SearchDirection::Reverse } else { SearchDirection::Forward };
            let start = if key == 'u' { index - 1 } else { index + 1 };
            let found = recall.starts_with(&buffer[..pos], start, dir).unwrap().unwrap();
            (buffer, pos, index) = (found.entry.into_owned(), found.pos, found.idx);
            buffer.clone()
        };
        keys.chars().map(&mut press).collect()
    }

    #[test]
    fn entries_are_found_by_what_was_typed() {
        assert_eq!(pressed("fib", 3, "uuuddd"), ["fib(3)", "fib(1)", "fib(1)", "fib(3)", "fib", "fib"]);
        assert_eq!(pressed("", 0, "uuud"), ["fib(3)", "sin(4)", "fib(3)", "sin(4)"]);
        assert_eq!(pressed("sin + 1", 3, "uuudd"), ["sin(4)", "sin(2)", "sin(2)", "sin(4)", "sin + 1"]);
        assert_eq!(pressed("cos", 3, "ud"), ["cos", "cos"]);
    }
}
