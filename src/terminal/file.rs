//! Files that commands read and write.

use crate::diagnostic::visible::visible_text;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Returns the path that an argument denotes: `~/` is the home directory;
/// quotation marks and backslashes added by completion are removed.
pub(crate) fn path(argument: &str) -> PathBuf {
    let argument = argument.trim();
    let quoted = argument.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let text = match quoted {
        Some(text) => text.to_owned(),
        None => unescaped(argument),
    };
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

/// Returns a path for display.
pub(crate) fn shown(path: &Path) -> String {
    visible_text(&path.display().to_string())
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next()),
            other => plain.push(other),
        }
    }
    plain
}

/// Writes a file so that readers see the old one or the new one, never a part.
/// Links are followed, and the file keeps its permissions. Anything but a
/// regular file, such as a pipe or a device, is written to directly, and so are
/// files that a process has open, such as `/dev/stdout`: others may write
/// there, too.
///
/// # Errors
/// The system's error; the old file is unchanged.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if is_open_file(path) {
        return std::fs::write(path, bytes);
    }
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(name) = target.file_name() else { return Err(io::ErrorKind::InvalidFilename.into()) };
    let mut temporary_name = OsString::from(".");
    temporary_name.push(name);
    temporary_name.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(temporary_name);
    let permissions = match std::fs::metadata(&target) {
        Ok(found) if found.permissions().readonly() => return Err(io::ErrorKind::PermissionDenied.into()),
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => {
            return std::fs::OpenOptions::new().write(true).open(&target)?.write_all(bytes);
        }
        Ok(found) => Some(found.permissions()),
        Err(_) => None,
    };
    let written = std::fs::write(&temporary, bytes)
        .and_then(|()| permissions.map_or(Ok(()), |kept| std::fs::set_permissions(&temporary, kept)))
        .and_then(|()| std::fs::rename(&temporary, &target));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Returns whether a path is a link that the system keeps to a file that is
/// open.
fn is_open_file(path: &Path) -> bool {
    path.is_symlink() && (path.starts_with("/dev") || path.starts_with("/proc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_paths() {
        let cases =
            [("a.kal", "a.kal"), (" a\\ b.kal ", "a b.kal"), ("\"a b.kal\"", "a b.kal"), ("/a/b", "/a/b")];
        for (argument, expected) in cases {
            assert_eq!(path(argument), Path::new(expected), "{argument}");
        }
    }
}
