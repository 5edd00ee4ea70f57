//! The folder of the cache as a whole: what is in it, and what is removed.

use super::CacheOptions;
use crate::fingerprint::Fingerprint;
use crate::process;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The folder of packs of this format; those of others have another number.
const FORMAT: &str = "packs-1";

/// What the folders of all formats begin with.
const FORMATS: &str = "packs-";

/// The folders between that of a format and a pack: of a build, of a target, and of a
/// program.
const DEPTH: usize = 3;

/// The ending of the files of packs.
pub(super) const ENDING: &str = "kpk";

/// The ending of the files of packs without code.
pub(super) const ENDING_WITHOUT_CODE: &str = "bindings";

/// What the name of a file that is not whole yet begins with.
pub(super) const UNFINISHED: &str = ".unfinished-";

/// An unfinished file that is older was left by a process that was killed.
pub(super) const ABANDONED: Duration = Duration::from_secs(3600);

/// The file whose time says when the cache was last collected.
const COLLECTED: &str = "collected";

/// How often it is collected.
const COLLECTION: Duration = Duration::from_secs(24 * 3600);

/// How long packs of another build are kept that no run has read or written.
const OTHER_BUILDS: Duration = Duration::from_secs(14 * 24 * 3600);

/// The digits of a fingerprint in a name.
pub(super) const DIGITS: usize = 32;

/// What is in a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheUsage {
    /// The packs that this build has made.
    pub packs: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The packs of other builds.
    pub other_packs: u64,
    /// Their size in bytes.
    pub other_bytes: u64,
}

/// A file in the cache.
struct CacheFile {
    path: PathBuf,
    size: u64,
    /// When it was last written, or read on another day.
    used: SystemTime,
}

impl CacheFile {
    fn age(&self) -> Duration {
        // A time in the future is now.
        self.used.elapsed().unwrap_or_default()
    }

    fn is_pack(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending == ENDING)
    }

    fn is_of_this_build(&self, root: &Path) -> bool {
        self.path.starts_with(of_this_build(root))
    }
}

/// Returns the folder of this build.
pub(super) fn of_this_build(root: &Path) -> PathBuf {
    root.join(FORMAT).join(shortened(Fingerprint::BUILD))
}

/// Returns the folder of this build for a target.
pub(super) fn of_this_target(root: &Path, target: Fingerprint) -> PathBuf {
    of_this_build(root).join(shortened(target))
}

/// Returns the name of something with that fingerprint.
pub(super) fn shortened(fingerprint: Fingerprint) -> String {
    let mut text = fingerprint.to_string();
    text.truncate(DIGITS);
    text
}

impl CacheOptions {
    /// Returns what is in the cache; a cache that is not there is empty.
    pub fn usage(&self) -> CacheUsage {
        let mut usage = CacheUsage::default();
        for file in self.files().into_iter().filter(CacheFile::is_pack) {
            let (packs, bytes) = if file.is_of_this_build(&self.folder) {
                (&mut usage.packs, &mut usage.bytes)
            } else {
                (&mut usage.other_packs, &mut usage.other_bytes)
            };
            *packs += 1;
            *bytes += file.size;
        }
        usage
    }

    /// Removes everything from the cache; programs that run keep what they have read.
    ///
    /// # Errors
    /// The first file or folder that cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        self.files().into_iter().try_for_each(|file| fs::remove_file(file.path))?;
        formats(&self.folder).iter().for_each(|format| _ = remove_empty(format));
        match fs::remove_file(self.folder.join(COLLECTED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes what is not likely to be used again: what killed processes have left,
    /// packs of other builds after two weeks, and then those that were used longest
    /// ago, until the rest takes no more than [`most_bytes`](Self::most_bytes). Returns
    /// the number of bytes that are free now.
    pub fn collect(&self) -> u64 {
        let mut files = self.files();
        files.sort_by_key(|file| file.used);
        let mut bytes: u64 = files.iter().map(|file| file.size).sum();
        let before = bytes;
        for file in files {
            let is_old = match file.is_pack() {
                true => file.age() > OTHER_BUILDS && !file.is_of_this_build(&self.folder),
                false => file.age() > ABANDONED,
            };
            if (is_old || bytes > self.most_bytes) && fs::remove_file(&file.path).is_ok() {
                bytes -= file.size;
            }
        }
        formats(&self.folder).iter().for_each(|format| _ = remove_empty(format));
        before - bytes
    }

    /// Collects the cache in the background if that was not done for a day.
    pub(super) fn collect_now_and_then(&self) {
        let marker = self.folder.join(COLLECTED);
        let age = fs::metadata(&marker).and_then(|data| data.modified());
        if age.is_ok_and(|time| time.elapsed().unwrap_or_default() < COLLECTION) {
            return;
        }
        if fs::write(&marker, "").is_ok() {
            let options = self.clone();
            let collect = move || _ = options.collect();
            let _ = process::spawn(std::thread::Builder::new().name("kal cache".into()), collect);
        }
    }

    /// Returns the packs in the cache, and what is not finished: nothing else that may be
    /// in the folder.
    fn files(&self) -> Vec<CacheFile> {
        let mut folders = formats(&self.folder);
        for _ in 0..DEPTH {
            folders = folders.iter().flat_map(|folder| named_folders(folder)).collect();
        }
        let entries = folders.iter().flat_map(fs::read_dir).flatten().flatten();
        let file = |entry: fs::DirEntry| {
            // Of a link, not of what it leads to.
            let data = entry.metadata().ok().filter(|data| !data.is_dir())?;
            let file = CacheFile { path: entry.path(), size: data.len(), used: data.modified().ok()? };
            let is_unfinished = entry.file_name().to_str()?.starts_with(UNFINISHED);
            (is_unfinished || file.is_pack()).then_some(file)
        };
        entries.filter_map(file).collect()
    }
}

/// Returns the folders in one that have names as the cache makes them.
fn named_folders(folder: &Path) -> Vec<PathBuf> {
    let is_ours = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let is_name = |name: &str| {
            name.len() == DIGITS && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        name.to_str().is_some_and(is_name) && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(is_ours).map(|entry| entry.path()).collect()
}

/// Returns the folders of all formats.
fn formats(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let is_format = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(FORMATS)?.parse::<u32>().ok());
        number.is_some() && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    entries.filter(is_format).map(|entry| entry.path()).collect()
}

/// Removes the folders below one that have nothing in them, and itself.
fn remove_empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_type()?.is_dir() {
            let _ = remove_empty(&entry.path());
        }
    }
    fs::remove_dir(folder)
}
