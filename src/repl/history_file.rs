//! The history of all sessions, on disk.
//!
//! One entry a line, with line feeds and backslashes escaped. An entry that
//! failed is repeated after a mark. Sessions append to the file under a lock,
//! so several can run at once; the first to find it too long cuts off its
//! beginning.

use crate::terminal::file::write_atomically;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How many entries are kept.
pub(super) const MOST: usize = 10_000;
/// The file is cut when it has this many entries more.
const SLACK: usize = 1_000;

/// Marks an entry that failed; no escaped entry begins like this.
const FAILED: &str = "\\!";

/// An input of this or an earlier session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HistoryEntry {
    pub(super) text: String,
    /// Whether it failed when it ran.
    pub(super) has_failed: bool,
}

/// The file. Every failure is silent: a session without history is better
/// than none.
pub(super) struct HistoryFile {
    path: PathBuf,
}

impl HistoryFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the entries, oldest first.
    pub(super) fn entries(&self) -> Vec<HistoryEntry> {
        let Ok(bytes) = fs::read(&self.path) else { return Vec::new() };
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        let excess = lines.len().saturating_sub(MOST);
        if excess > SLACK {
            let _ = self.cut();
        }
        lines[excess..].iter().map(|line| HistoryEntry::of(line)).collect()
    }

    /// Appends an entry to the file.
    pub(super) fn append(&self, entry: &str) {
        let _ = self.try_append("", entry);
    }

    /// Records that an entry, which was added before, has failed.
    pub(super) fn append_failed(&self, entry: &str) {
        let _ = self.try_append(FAILED, entry);
    }

    fn try_append(&self, mark: &str, entry: &str) -> io::Result<()> {
        let _lock = self.lock()?;
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(format!("{mark}{}\n", escaped(entry)).as_bytes())
    }

    fn cut(&self) -> io::Result<()> {
        let _lock = self.lock()?;
        let bytes = fs::read(&self.path)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        // Another session may just have cut it.
        let excess = lines.len().saturating_sub(MOST);
        if excess <= SLACK {
            return Ok(());
        }
        let kept = &lines[excess..];
        write_atomically(&self.path, (kept.join("\n") + "\n").as_bytes())
    }

    /// Locks the history until the returned file is dropped; other sessions
    /// wait. The lock is on a separate file, since the history itself is
    /// replaced.
    fn lock(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let lock = OpenOptions::new().create(true).append(true).open(lock_path(&self.path))?;
        lock.lock()?;
        Ok(lock)
    }
}

impl HistoryEntry {
    fn of(line: &str) -> Self {
        match line.strip_prefix(FAILED) {
            Some(text) => Self { text: unescaped(text), has_failed: true },
            None => Self { text: unescaped(line), has_failed: false },
        }
    }
}

fn lock_path(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

fn escaped(entry: &str) -> String {
    entry.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescaped(line: &str) -> String {
    let mut entry = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, true) => match characters.next() {
                Some('n') => entry.push('\n'),
                Some('r') => entry.push('\r'),
                Some(other) => entry.push(other),
                None => entry.push('\\'),
            },
            (other, false) => entry.push(other),
        }
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_two_sessions_survive_and_are_bounded() {
        let folder = std::env::temp_dir().join(format!("kal-history-{}", std::process::id()));
        let path = folder.join("state/history");
        let (one, other) = (HistoryFile::new(path.clone()), HistoryFile::new(path));
        one.append("def f(x)\n  x \\ 2");
        other.append("1");
        one.append("2");
        one.append_failed("\\!2");
        let entries = other.entries().into_iter();
        let read: Vec<(String, bool)> = entries.map(|entry| (entry.text, entry.has_failed)).collect();
        let wanted = [("def f(x)\n  x \\ 2", false), ("1", false), ("2", false), ("\\!2", true)];
        assert_eq!(read, wanted.map(|(text, has_failed)| (text.to_owned(), has_failed)));
        let many: String = (0..MOST + SLACK + 10).map(|number| format!("{number}\n")).collect();
        fs::write(&one.path, many).unwrap();
        assert_eq!(other.entries().len(), MOST);
        let after = fs::read_to_string(&one.path).unwrap();
        assert_eq!(after.lines().count(), MOST);
        assert_eq!(after.lines().last(), Some(&*(MOST + SLACK + 9).to_string()));
        fs::remove_dir_all(folder).unwrap();
    }
}
