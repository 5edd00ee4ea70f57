//! `:save`: everything that is defined as a script in a file.
//!
//! A file that `:save` has written is recognised by its first line, which has
//! the checksum of the rest. Any other file, one that was edited since included,
//! is overwritten only by `:save!`.

use super::command::CommandError;
use super::inspect::counted;
use super::session::{ANS, ReplSession};
use crate::bytes::checksum;
use crate::terminal::file::{self, write_atomically};
use std::path::Path;

/// How the first line begins.
const MARK: &str = "# Written by :save. Checksum: ";

pub(super) fn save(session: &mut ReplSession<'_>, argument: &str) -> Result<(), CommandError> {
    let path = file::path(argument);
    if let Some(reason) = reason_to_keep(&path) {
        let shown = file::shown(&path);
        return Err(CommandError::Text(format!("{shown} {reason}; `:save! {shown}` overwrites it")));
    }
    write(session, &path)
}

pub(super) fn save_over(session: &mut ReplSession<'_>, argument: &str) -> Result<(), CommandError> {
    write(session, &file::path(argument))
}

fn write(session: &mut ReplSession<'_>, path: &Path) -> Result<(), CommandError> {
    let script = session.context.script(&[ANS]);
    match write_atomically(path, marked(&script).as_bytes()) {
        Ok(()) => {
            let count = counted(session.context.definitions().len(), "definition");
            session.screen.line(&format!("{}: {count} saved", file::shown(path)));
            Ok(())
        }
        Err(error) => Err(CommandError::File { path: path.to_owned(), error }),
    }
}

/// Returns the script with its first line.
fn marked(script: &str) -> String {
    format!("{MARK}{:016x}\n{script}", checksum(script.as_bytes()))
}

/// Returns why a file should not be overwritten; `None` if nothing would be
/// lost, which includes anything but a regular file, such as a pipe.
fn reason_to_keep(path: &Path) -> Option<&'static str> {
    if !path.is_file() || path.starts_with("/dev") || path.starts_with("/proc") {
        return None;
    }
    let Ok(bytes) = std::fs::read(path) else { return Some("cannot be read") };
    let text = String::from_utf8_lossy(&bytes);
    let Some((sum, script)) = text.strip_prefix(MARK).and_then(|rest| rest.split_once('\n')) else {
        return (!bytes.is_empty()).then_some("was not written by :save");
    };
    let is_unchanged = u64::from_str_radix(sum.trim_end(), 16) == Ok(checksum(script.as_bytes()));
    (!is_unchanged).then_some("was edited after :save wrote it")
}
