//! `:watch`: files that are loaded again whenever they are saved.

use super::command::CommandError;
use super::session::ReplSession;
use crate::terminal::file;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

pub(super) fn watch(session: &mut ReplSession<'_>, argument: &str) -> Result<(), CommandError> {
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
