//! `:save`: everything that is defined, as a script or as a session.
//!
//! A script that `:save` has written is recognised by its first line, which has
//! the checksum of the rest. Any other file, one that was edited since included,
//! is overwritten only by `:save!`. A session, `FILE.kses`, has the code as well,
//! and `kal --resume FILE.kses` goes on with it.

use super::command::CommandError;
use super::session::ReplSession;
use super::session_file::is_of_session;
use crate::bytes::checksum;
use crate::context::Saved;
use crate::host::decimal::counted;
use crate::saved_session::is_session;
use crate::terminal::file::{self, write_atomically};
use std::path::{Path, PathBuf};

/// How the first line begins.
const MARK: &str = "# Written by :save. Checksum: ";

pub(super) fn save(session: &mut ReplSession<'_>, argument: &str) -> Result<(), CommandError> {
    let path = chosen(session, argument, "save")?;
    if let Some(reason) = session.file.reason_to_keep(&path).or_else(|| reason_to_keep(&path)) {
        let shown = file::shown(&path);
        return Err(CommandError::Text(format!("{shown} {reason}; `:save! {shown}` overwrites it")));
    }
    write(session, &path)
}

pub(super) fn save_over(session: &mut ReplSession<'_>, argument: &str) -> Result<(), CommandError> {
    let path = chosen(session, argument, "save!")?;
    write(session, &path)
}

/// Returns the file that an argument names; that of the session if it names none.
fn chosen(session: &ReplSession<'_>, argument: &str, command: &str) -> Result<PathBuf, CommandError> {
    match session.file.path() {
        _ if !argument.is_empty() => Ok(file::path(argument)),
        Some(path) => Ok(path.to_owned()),
        None => Err(CommandError::Text(format!(
            "usage: :{command} FILE; FILE may be left out once the session has a file, FILE.kses"
        ))),
    }
}

fn write(session: &mut ReplSession<'_>, path: &Path) -> Result<(), CommandError> {
    let (left_out, without_code) = if is_of_session(path) {
        let Saved { left_out, without_code, .. } = session.file.save(session.context, path)?;
        (left_out, without_code)
    } else {
        let script = session.context.whole_script(session.own_variable().as_slice());
        let failed = |error| CommandError::File { path: path.to_owned(), error };
        write_atomically(path, marked(&script.text).as_bytes()).map_err(failed)?;
        (script.left_out, None)
    };
    let count = session.context.definition_count().saturating_sub(left_out.len());
    let about = without_code.map_or(String::new(), |reason| format!(" without code: {reason}"));
    session.screen.line(&format!("{}: {} saved{about}", file::shown(path), counted(count, "definition")));
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        session.screen.line(&format!("{names}: only as a comment, since an operator was dropped"));
    }
    Ok(())
}

pub(super) fn autosave(session: &mut ReplSession<'_>, argument: &str) -> Result<(), CommandError> {
    let is_on = match argument {
        "on" => true,
        "off" => false,
        _ => return Err(CommandError::usage("autosave")),
    };
    session.file.set_automatic(is_on)?;
    // The first time now, to see whether it can be written.
    session.file.save_automatically(session.context, true)?;
    let path = session.file.path().filter(|_| is_on).map(file::shown);
    path.iter().for_each(|path| session.screen.line(&format!("{path} is written after every input")));
    Ok(())
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
    if is_session(&bytes) {
        return (!is_of_session(path)).then_some("is a session");
    }
    let text = String::from_utf8_lossy(&bytes);
    let Some((sum, script)) = text.strip_prefix(MARK).and_then(|rest| rest.split_once('\n')) else {
        return (!bytes.is_empty()).then_some("was not written by :save");
    };
    let is_unchanged = u64::from_str_radix(sum.trim_end(), 16) == Ok(checksum(script.as_bytes()));
    (!is_unchanged).then_some("was edited after :save wrote it")
}
