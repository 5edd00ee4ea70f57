//! The files that `:watch` watches.
//!
//! The system reports events in a file's folder, since many editors save by
//! replacing the file. Only then is the file read, and only changed contents
//! are loaded.

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

/// The files that are watched.
pub(super) struct Watches {
    /// `None` once the session is over.
    changes: Option<Sender<PathBuf>>,
    files: Vec<WatchedFile>,
}

/// One file. It is no longer watched once this is dropped.
struct WatchedFile {
    path: PathBuf,
    /// The file's bytes when it was last loaded.
    loaded: Vec<u8>,
    _watcher: RecommendedWatcher,
}

impl Watches {
    /// Creates an empty set. The paths of changed files are sent to `changes`.
    pub(super) fn new(changes: Sender<PathBuf>) -> Self {
        Self { changes: Some(changes), files: Vec::new() }
    }

    /// Stops watching all files.
    pub(super) fn clear(&mut self) {
        self.files.clear();
    }

    /// Stops watching a file. Returns whether it was watched.
    pub(super) fn remove(&mut self, path: &Path) -> bool {
        let before = self.files.len();
        self.files.retain(|watch| watch.path != path);
        self.files.len() < before
    }

    /// Returns the files.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|watch| &*watch.path)
    }

    /// Stops watching for good: the thread that waits for changes is woken.
    pub(super) fn close(&mut self) {
        self.changes = None;
        self.clear();
    }

    /// Watches a file, with its present contents as loaded.
    pub(super) fn add(&mut self, path: &Path) -> Result<(), notify::Error> {
        let Some(changes) = self.changes.clone() else { return Ok(()) };
        self.files.retain(|watch| watch.path != path);
        let watched = path.to_owned();
        let name = path.file_name().map(ToOwned::to_owned);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let concerns_it = event.is_ok_and(|event| {
                !matches!(event.kind, EventKind::Access(_))
                    && event.paths.iter().any(|path| path.file_name() == name.as_deref())
            });
            if concerns_it {
                // The receiver is gone when the session has ended.
                let _ = changes.send(watched.clone());
            }
        })?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        watcher.watch(folder.unwrap_or(Path::new(".")), RecursiveMode::NonRecursive)?;
        let loaded = std::fs::read(path).unwrap_or_default();
        self.files.push(WatchedFile { path: path.to_owned(), loaded, _watcher: watcher });
        Ok(())
    }

    /// Returns whether a file differs from what was loaded last; its present
    /// contents then count as loaded. A missing file has not changed: it may
    /// come back.
    pub(super) fn is_changed(&mut self, path: &Path) -> bool {
        let Some(watch) = self.files.iter_mut().find(|watch| watch.path == path) else { return false };
        match std::fs::read(path) {
            Ok(bytes) if bytes != watch.loaded => {
                watch.loaded = bytes;
                true
            }
            Ok(_) | Err(_) => false,
        }
    }
}
