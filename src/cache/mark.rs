//! Marks on packs that have been checked as a whole.
//!
//! To check a large text takes longer than to use a little of it. So a pack of which all has
//! been checked gets a mark, in an extended attribute of its file: a keyed hash of which file
//! it is and of its state at that time. As long as the mark fits, only what is used is checked
//! again. Whatever is written to the file changes its time, and a mark is good until the
//! system starts again: what was not on the disk when that stopped has never been checked.

use super::options::CacheOptions;
use super::trust;
use crate::pack::SecretKey;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// The name of the attribute.
const NAME: &str = "user.kal.whole";

/// What marks are hashed with, besides the key.
const PURPOSE: &[u8] = b"kal 2026 whole";

/// Times of files are coarse: one that was written less than this ago may be written again at
/// the same time. Where there are fractions of seconds, they are those of the system's clock, which
/// goes on every ten milliseconds at least; elsewhere, two seconds may be the same.
const SETTLED: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// The marks that a user puts on files.
pub struct FileMarks(CacheOptions);

impl FileMarks {
    /// Returns the marks of the user of a cache.
    #[cfg(feature = "cli")]
    pub fn of(options: CacheOptions) -> Self {
        Self(options)
    }

    /// Returns whether a file has the user's mark.
    pub fn are_on(&self, file: &File) -> bool {
        let mark = trust::key(&self.0.key).zip(file.metadata().ok());
        mark.and_then(|(key, data)| WholeMark::of(&data, &key)).is_some_and(|mark| mark.is_on(file))
    }

    /// Puts the user's mark on a file of which all has just been checked, if the cache is
    /// written, and the file is the user's.
    pub fn put(&self, file: &File) {
        let key = self.0.writes.then(|| trust::key_or_new(&self.0.key).ok()).flatten();
        let mark = key.zip(file.metadata().ok()).and_then(|(key, data)| WholeMark::of(&data, &key));
        mark.into_iter().for_each(|mark| mark.put(file));
    }
}

/// The mark that a file of this user has if all of it was checked.
pub(super) struct WholeMark {
    hash: [u8; 32],
    modified: Option<SystemTime>,
    has_fraction: bool,
}

impl WholeMark {
    /// Returns the mark of a file with this metadata; `None` if the system does not say when it
    /// was started.
    pub(super) fn of(data: &Metadata, key: &SecretKey) -> Option<Self> {
        let started = std::fs::read("/proc/sys/kernel/random/boot_id").ok()?;
        let mut hasher = blake3::Hasher::new_keyed(key);
        hasher.update(PURPOSE).update(&started);
        let state = [data.dev(), data.ino(), data.size(), data.mtime().cast_unsigned()];
        state.iter().for_each(|word| _ = hasher.update(&word.to_le_bytes()));
        hasher.update(&data.mtime_nsec().to_le_bytes());
        let (hash, has_fraction) = (*hasher.finalize().as_bytes(), data.mtime_nsec() != 0);
        Some(Self { hash, modified: data.modified().ok(), has_fraction })
    }

    /// Returns whether a file has it.
    pub(super) fn is_on(&self, file: &File) -> bool {
        let mut found = [0; 33];
        rustix::fs::fgetxattr(file, NAME, &mut found[..]).is_ok_and(|length| found[..length] == self.hash)
    }

    /// Puts it on a file that has been left alone for a while. Where there are no such
    /// attributes, the file is checked each time.
    pub(super) fn put(&self, file: &File) {
        let age = self.modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
        if age.is_some_and(|age| age >= SETTLED[usize::from(!self.has_fraction)]) {
            let _ = rustix::fs::fsetxattr(file, NAME, &self.hash, rustix::fs::XattrFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const KEY: SecretKey = [7; 32];

    fn mark(file: &File, key: &SecretKey) -> WholeMark {
        WholeMark::of(&file.metadata().expect("it is open"), key).expect("the system was started")
    }

    #[test]
    fn a_mark_is_of_one_file_as_it_is() {
        // Not in memory, where old systems have no attributes.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("there is room");
        let path = folder.path().join("pack");
        let mut file = File::create(&path).expect("it is written");
        file.write_all(b"a pack").expect("it is written");
        mark(&file, &KEY).put(&file);
        assert!(!mark(&file, &KEY).is_on(&file), "it has just been written");
        let earlier = SystemTime::now() - Duration::from_secs(60);
        file.set_modified(earlier).expect("it is ours");
        assert!(!mark(&file, &KEY).is_on(&file));
        mark(&file, &KEY).put(&file);
        assert!(mark(&file, &KEY).is_on(&file));
        assert!(!mark(&file, &[8; 32]).is_on(&file), "of another user");
        file.write_all(b"!").expect("it is written");
        assert!(!mark(&file, &KEY).is_on(&file), "it was written");
        file.set_modified(earlier).expect("it is ours");
        assert!(!mark(&file, &KEY).is_on(&file), "it is longer");
        let copy = folder.path().join("copy");
        std::fs::copy(&path, &copy).expect("there is room");
        assert!(!mark(&File::open(&copy).expect("it is there"), &KEY).is_on(&file), "it is another file");
    }
}
