//! A file that is written beside the one that it replaces.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The new content of a file: readers see the old file until it is
/// [committed](Self::commit), then the new one, never a part. Where the system can, it has
/// no name before, so that nothing of it remains however the process ends.
///
/// Links are followed, and the file keeps its permissions. Anything but a regular file,
/// such as a pipe or a device, is written to directly, and so are files that a process has
/// open, such as `/dev/stdout`: others may write there, too.
pub(crate) struct Replacement {
    file: File,
    place: Option<ReplacementPlace>,
}

/// Where a file will be.
struct ReplacementPlace {
    target: PathBuf,
    temporary: PathBuf,
    /// Whether it is at `temporary` now.
    is_named: bool,
}

impl Replacement {
    /// Creates the new content of a file, which need not be there.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        if is_open_file(path) {
            return Ok(Self { file: File::create(path)?, place: None });
        }
        let target = target(path);
        let Some(name) = target.file_name() else { return Err(ErrorKind::InvalidFilename.into()) };
        let mut temporary_name = OsString::from(".");
        temporary_name.push(name);
        temporary_name.push(format!(".{}.tmp", std::process::id()));
        let temporary = target.with_file_name(temporary_name);
        let permissions = match fs::metadata(&target) {
            Ok(found) if found.permissions().readonly() => return Err(ErrorKind::PermissionDenied.into()),
            Ok(found) if found.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => {
                return Ok(Self { file: OpenOptions::new().write(true).open(&target)?, place: None });
            }
            Ok(found) => Some(found.permissions()),
            Err(_) => None,
        };
        let (file, is_named) = match nameless(&target) {
            Some(file) => (file, false),
            None => (File::create(&temporary)?, true),
        };
        let place = Some(ReplacementPlace { target, temporary, is_named });
        let replacement = Self { file, place };
        permissions.map_or(Ok(()), |kept| replacement.file.set_permissions(kept))?;
        Ok(replacement)
    }

    /// Puts it in the place of the old file.
    ///
    /// # Errors
    /// The system's error; the old file is unchanged.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        let Some(place) = &mut self.place else { return Ok(()) };
        if !place.is_named {
            let open = opened(&self.file);
            // One of a process of the same number that was killed.
            let _ = fs::remove_file(&place.temporary);
            linkat(CWD, &open, CWD, &place.temporary, AtFlags::SYMLINK_FOLLOW)?;
            place.is_named = true;
        }
        fs::rename(&place.temporary, &place.target)?;
        place.is_named = false;
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(place) = self.place.as_ref().filter(|place| place.is_named) {
            let _ = fs::remove_file(&place.temporary);
        }
    }
}

/// Returns a file without a name in the folder of another, if the system has such files.
fn nameless(target: &Path) -> Option<File> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(folder.unwrap_or(Path::new(".")), flags, Mode::from_raw_mode(0o666));
    // It gets its name through this link.
    file.ok().map(File::from).filter(|file| opened(file).is_symlink())
}

/// Returns the link that the system keeps to an open file.
fn opened(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Returns whether a path is a link that the system keeps to a file that is
/// open.
fn is_open_file(path: &Path) -> bool {
    path.is_symlink() && (path.starts_with("/dev") || path.starts_with("/proc"))
}

/// Returns the file that a path leads to, by links, also where there is none yet.
pub(crate) fn target(path: &Path) -> PathBuf {
    /// As many links as Linux follows.
    const MOST: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..MOST {
        if let Ok(found) = fs::canonicalize(&target) {
            return found;
        }
        let Ok(next) = fs::read_link(&target) else { break };
        // A relative one begins at its folder.
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    target
}
