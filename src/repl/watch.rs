//! `:watch`: files that are loaded again whenever they are saved.

use super::command::CommandError;
use super::session::ReplSession;
use crate::terminal::file;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Executes `:watch`: with a file, watches it; with `off`, watches one or all no longer; else
/// lists those that are watched.
pub(super) fn watch(session: &mut ReplSession<'_>, argument: &str) -> Result<(), CommandError> {
    let (first, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    match (first, rest.trim()) {
        ("", _) => {
            let files: Vec<String> = session.watches.files().map(file::shown).collect();
            let listed = if files.is_empty() { "no file is watched".to_owned() } else { files.join("\n") };
            session.screen.line(&listed);
            return Ok(());
        }
        ("off", "") => {
            session.watches.clear();
            return Ok(());
        }
        ("off", name) => {
            let path = file::path(name);
            let is_removed = session.watches.remove(&path);
            let unknown = || CommandError::Text(format!("{} is not watched", file::shown(&path)));
            return is_removed.then_some(()).ok_or_else(unknown);
        }
        _ => {}
    }
    let path = file::path(argument);
    session.load(&path)?;
    session.loaded = Some(path.clone());
    let watched = session.watches.add(&path);
    watched.map_err(|error| CommandError::File { path, error: io::Error::other(error) })
}

/// Reloads the files that have changed.
pub(super) fn reload_changed(session: &mut ReplSession<'_>, changed: &Receiver<PathBuf>) {
    let paths: Vec<PathBuf> = changed.try_iter().collect();
    if !paths.is_empty() {
        session.attend(|session| reload(session, &paths));
    }
}

/// Reloads those of the files that really have changed.
pub(super) fn reload(session: &mut ReplSession<'_>, paths: &[PathBuf]) {
    for path in paths {
        if !session.is_stopped()
            && session.watches.is_changed(path)
            && let Err(trouble) = session.load(path)
        {
            session.problem(&trouble.to_string());
        }
    }
}

/// Waits until files have changed and then been left alone for a moment, since
/// saving is several events; `None` when the session is over.
pub(super) fn next_changes(changed: &Receiver<PathBuf>) -> Option<Vec<PathBuf>> {
    const QUIET: Duration = Duration::from_millis(20);
    let mut paths = vec![changed.recv().ok()?];
    while let Ok(path) = changed.recv_timeout(QUIET) {
        paths.push(path);
    }
    paths.sort();
    paths.dedup();
    Some(paths)
}
