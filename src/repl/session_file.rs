//! The file of a session: `:save work.kses`, `kal --resume work.kses`, `:autosave on`.

use super::command::CommandError;
use crate::config::Mode;
use crate::context::{Context, Resumed, Saved};
use crate::fingerprint::Fingerprint;
use crate::terminal::file::{self, write_atomically};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What the names of files with sessions end with.
const ENDING: &str = "kses";

/// Why a file is kept that another session has written.
const SUPERSEDED: &str = "was written by another session in the meantime";

/// Why a file is kept that was not resumed as a whole.
const HOLDS_MORE: &str = "holds what this session was resumed without";

/// Writing a session after inputs takes at most one in this many parts of the time.
const SHARE: u32 = 20;

/// Where a session is saved.
#[derive(Default)]
pub(super) struct SessionFile {
    path: Option<PathBuf>,
    /// Whether it is written after every input.
    is_automatic: bool,
    /// The identity of what was written last, if that was done after an input.
    written: Option<Fingerprint>,
    /// What was there after it was read or written last; `None` for no file.
    version: Option<FileVersion>,
    /// When it is written next at the earliest, but for the end.
    next: Option<Instant>,
    /// Whether it has items that were left out when it was resumed.
    holds_more: bool,
}

/// What tells a file from one that has taken its place: its device, number, size, and when it was
/// changed, in seconds and nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileVersion(u64, u64, u64, i64, i64);

impl FileVersion {
    /// Returns that of the file at a path; `None` if there is none.
    fn of(path: &Path) -> Option<Self> {
        let data = std::fs::metadata(path).ok()?;
        Some(Self(data.dev(), data.ino(), data.size(), data.mtime(), data.mtime_nsec()))
    }
}

/// Returns the identity of a saved session.
fn identity(bytes: &[u8]) -> Fingerprint {
    Fingerprint::of_bytes("kal 2026 saved session", bytes)
}

/// Returns whether a path is that of a session.
pub(super) fn is_of_session(path: &Path) -> bool {
    path.extension() == Some(OsStr::new(ENDING))
}

impl SessionFile {
    /// Goes on with the session in a file, which becomes that of the session; `None` if there is
    /// no such file yet.
    ///
    /// # Errors
    /// Why it cannot be resumed.
    pub(super) fn resume(
        context: &mut Context,
        path: &Path,
    ) -> Result<(Self, Option<Resumed>), CommandError> {
        let version = FileVersion::of(path);
        let mut this = Self { path: Some(path.to_owned()), version, ..Self::default() };
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((this, None)),
            read => read.map_err(|error| CommandError::File { path: path.to_owned(), error })?,
        };
        let resumed = context.resume(&file::shown(path), &bytes)?;
        this.holds_more = !resumed.left_out.is_empty();
        Ok((this, Some(resumed)))
    }

    /// Returns where it is, if the session has one.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns why a file should not be overwritten, if it is that of the session: another prompt
    /// with the same session has written it since, or there is more in it.
    pub(super) fn reason_to_keep(&self, path: &Path) -> Option<&'static str> {
        let now = FileVersion::of(path).filter(|_| self.path() == Some(path))?;
        match self.version {
            Some(known) if known == now => self.holds_more.then_some(HOLDS_MORE),
            Some(_) | None => Some(SUPERSEDED),
        }
    }

    /// Writes a session to a file, which becomes that of the session. Returns what was written,
    /// and why there is no code in it, though some may have been compiled.
    ///
    /// # Errors
    /// Why it cannot be saved, or written.
    pub(super) fn save(&mut self, context: &Context, path: &Path) -> Result<Saved, CommandError> {
        let saved = context.save()?;
        self.write(path, &saved.bytes)?;
        self.path = Some(path.to_owned());
        let may_have_code = context.engine().mode() != Mode::Interpret;
        Ok(Saved { without_code: saved.without_code.filter(|_| may_have_code), ..saved })
    }

    fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
        let failed = |error| CommandError::File { path: path.to_owned(), error };
        write_atomically(path, bytes).map_err(failed)?;
        self.written = self.is_automatic.then(|| identity(bytes));
        self.version = FileVersion::of(path);
        self.holds_more = false;
        Ok(())
    }

    /// Sets whether it is written after every input.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn set_automatic(&mut self, is_automatic: bool) -> Result<(), CommandError> {
        if is_automatic && self.path.is_none() {
            return Err(CommandError::Text("name the file first: `:save work.kses`".to_owned()));
        }
        self.is_automatic = is_automatic;
        Ok(())
    }

    /// Ends writing it after every input. Returns where it is, if that was done.
    pub(super) fn end_automatic(&mut self) -> Option<&Path> {
        self.path.as_deref().filter(|_| std::mem::take(&mut self.is_automatic))
    }

    /// Writes the session if that is to be done after every input and it has changed: not
    /// too often, and at its end.
    ///
    /// # Errors
    /// Why it cannot be saved, or written; it is not tried again.
    pub(super) fn save_automatically(
        &mut self,
        context: &Context,
        is_at_end: bool,
    ) -> Result<(), CommandError> {
        let begun = Instant::now();
        let is_early = !is_at_end && self.next.is_some_and(|next| begun < next);
        let Some(path) = self.path.clone().filter(|_| self.is_automatic && !is_early) else { return Ok(()) };
        let saved = context.save().map_err(CommandError::from).and_then(|saved| {
            if self.written == Some(identity(&saved.bytes)) {
                return Ok(());
            }
            if let Some(reason) = self.reason_to_keep(&path) {
                let shown = file::shown(&path);
                return Err(CommandError::Text(format!("{shown} {reason}; `:save! {shown}` overwrites it")));
            }
            self.write(&path, &saved.bytes)
        });
        let now = Instant::now();
        self.next = now.checked_add((now - begun) * SHARE);
        self.is_automatic = saved.is_ok();
        saved
    }
}
