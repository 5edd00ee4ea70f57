//! Files that commands read and write.

use super::replacement::Replacement;
use crate::diagnostic::visible::visible_text;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
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

/// Writes a file so that readers see the old one or the new one, never a part; see
/// [`Replacement`].
///
/// # Errors
/// The system's error; the old file is unchanged.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::of(path)?;
    replacement.write_all(bytes)?;
    replacement.commit()
}

/// Returns whether two paths are of one regular file, by whatever names.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let file = |path| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    file(one)
        .zip(file(other))
        .is_some_and(|(one, other)| (one.dev(), one.ino()) == (other.dev(), other.ino()))
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
