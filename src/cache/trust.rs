//! Which files are trusted: those that only this user and root can have written.

use crate::pack::SecretKey;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// The permissions with which others may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The permissions with which others may read or write.
const OPEN_TO_OTHERS: u32 = 0o077;

/// Returns why others could have changed what has this metadata.
fn changeable(data: &Metadata) -> Result<(), String> {
    let user = rustix::process::geteuid().as_raw();
    if data.uid() != user && data.uid() != 0 {
        return Err(format!("it belongs to the user {}", data.uid()));
    }
    if data.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(format!("others may write it (mode {:o})", data.mode() & 0o777));
    }
    Ok(())
}

/// Checks the folders from `root` down to `folder`.
///
/// # Errors
/// Why others could have changed what is in one of them.
pub(super) fn folders(root: &Path, folder: &Path) -> Result<(), String> {
    for folder in folder.ancestors().take_while(|folder| folder.starts_with(root)) {
        let data = fs::symlink_metadata(folder).map_err(|error| error.to_string())?;
        let what = |reason| format!("{}: {reason}", folder.display());
        if !data.is_dir() {
            return Err(what("it is no folder".into()));
        }
        changeable(&data).map_err(what)?;
    }
    Ok(())
}

/// Opens a file, and returns it with what is known of it.
///
/// # Errors
/// Why it cannot be read, or why others could have changed it.
pub(super) fn open(path: &Path) -> Result<(File, Metadata), String> {
    open_own(path, changeable)
}

fn open_own(
    path: &Path,
    check: impl FnOnce(&Metadata) -> Result<(), String>,
) -> Result<(File, Metadata), String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        rustix::io::Errno::LOOP => "it is a link".to_owned(),
        error => error.to_string(),
    })?;
    let file = File::from(opened);
    let data = file.metadata().map_err(|error| error.to_string())?;
    if !data.is_file() {
        return Err("it is no file".into());
    }
    check(&data)?;
    Ok((file, data))
}

/// Returns the user's secret; `None` if there is none that only the user can read.
pub(super) fn key(path: &Path) -> Option<SecretKey> {
    let only_ours = |data: &Metadata| {
        changeable(data)?;
        let is_open = data.mode() & OPEN_TO_OTHERS != 0;
        if is_open { Err("others may read it".to_owned()) } else { Ok(()) }
    };
    let (mut file, mut bytes) = (open_own(path, only_ours).ok()?.0, Vec::new());
    file.read_to_end(&mut bytes).ok()?;
    bytes.try_into().ok()
}

/// Returns the user's secret, after making one if there is none.
///
/// # Errors
/// Why there is none.
pub(super) fn key_or_new(path: &Path) -> Result<SecretKey, String> {
    if let Some(key) = key(path) {
        return Ok(key);
    }
    make_key(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // Another process may have been first.
    key(path).ok_or_else(|| format!("{}: others may read or write it, or it is no key", path.display()))
}

fn make_key(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create(folder)?;
    let mut secret: SecretKey = SecretKey::default();
    File::open("/dev/urandom")?.read_exact(&mut secret)?;
    // Its mode is 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&secret)?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Creates a folder, and those it is in, for this user alone.
pub(super) fn create(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
