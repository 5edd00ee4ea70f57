//! The files of packs: their names, and the folders that they are in.

use super::folder::{ENDING, ENDING_WITHOUT_CODE};
use crate::pack::Pack;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A folder with packs of one program or module.
pub(super) struct PackFolder {
    /// The folder from which on others must not be able to write.
    pub(super) root: PathBuf,
    pub(super) folder: PathBuf,
    /// Whether it is with a library: never written by a run.
    pub(super) is_shipped: bool,
}

/// What was found in the folder of a text.
#[derive(Default)]
pub(super) struct FoundPacks {
    /// The packs of the text.
    pub(super) own: Vec<OwnPack>,
    /// The newest others, with the texts that they are of.
    pub(super) others: Vec<(String, Arc<Pack>)>,
}

/// A pack of the present text of a file.
pub(super) struct OwnPack {
    pub(super) file: PathBuf,
    pub(super) number: u32,
    pub(super) pack: Arc<Pack>,
}

/// The file of a pack.
pub(super) struct PackFile {
    pub(super) path: PathBuf,
    /// Of which text it was made.
    pub(super) text: String,
    pub(super) number: u32,
    pub(super) written: SystemTime,
}

impl PackFile {
    pub(super) fn name(text: &str, number: u32) -> String {
        if number == 0 { format!("{text}.{ENDING}") } else { format!("{text}.{number}.{ENDING}") }
    }

    fn of(entry: &fs::DirEntry) -> Option<Self> {
        let path = entry.path();
        let name = path.file_name().and_then(OsStr::to_str)?;
        let stem = name.strip_suffix(ENDING).or_else(|| name.strip_suffix(ENDING_WITHOUT_CODE))?;
        let stem = stem.strip_suffix('.')?;
        let (text, number) = stem.split_once('.').unwrap_or((stem, "0"));
        let (text, number) = (text.to_owned(), number.parse().ok()?);
        let written = entry.metadata().and_then(|data| data.modified()).ok()?;
        Some(Self { path, text, number, written })
    }
}

/// Returns the packs in a folder; none if it cannot be read.
pub(super) fn packs(folder: &Path) -> Vec<PackFile> {
    let file = |entry: std::io::Result<fs::DirEntry>| PackFile::of(&entry.ok()?);
    fs::read_dir(folder).map(|entries| entries.filter_map(file).collect()).unwrap_or_default()
}
