//! Texts whose packs are written by a process after the run that it was forked from.

use super::folder::UNFINISHED;
use super::trust;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a start waits for the packs of its text: longer than writing them takes, if the
/// process that does so goes on.
const LONGEST: Duration = Duration::from_secs(2);

/// How long a start that waits sleeps between two looks.
const PAUSE: Duration = Duration::from_micros(200);

/// A text whose packs are being written. A copy of the process has it as well.
pub struct TextLock {
    path: PathBuf,
    _file: File,
}

impl TextLock {
    /// Locks a text with packs in that folder, which is there and trusted; `None` if that is not
    /// possible, or another process has locked it.
    #[cfg(feature = "cli")]
    pub(super) fn take(folder: &Path, text: &str) -> Option<Self> {
        let path = path(folder, text);
        let file = File::create(&path).ok()?;
        file.try_lock().ok()?;
        Some(Self { path, _file: file })
    }

    /// Waits while a text is locked, but not for ever. Returns whether it was.
    pub(super) fn wait(folder: &Path, text: &str) -> bool {
        let Ok((file, _)) = trust::open(&path(folder, text)) else { return false };
        let started = Instant::now();
        while file.try_lock_shared().is_err() && started.elapsed() < LONGEST {
            sleep(PAUSE);
        }
        true
    }
}

impl Drop for TextLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn path(folder: &Path, text: &str) -> PathBuf {
    folder.join(format!("{UNFINISHED}{text}"))
}
