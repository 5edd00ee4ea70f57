//! Reading the packs of a text: those in the folder of its file, and those with its library.

use super::files::{Cache, CachedSource};
use super::folder::{of_this_target, shortened};
use super::lock::TextLock;
use super::mark::WholeMark;
use super::pack_file::{FoundPacks, OwnPack, PackFile, PackFolder, packs};
use super::{CacheEvent, CacheOptions, trust};
use crate::bytes::Damage;
use crate::fingerprint::Fingerprint;
use crate::pack::store::UnreadPacks;
use crate::pack::{self, Pack, PackInput};
use crate::source::Source;
use std::cmp::Reverse;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The folder of a library that is not part of it.
const OF_LIBRARY: &str = ".kal";

/// The time of a pack is set when it is read, but not more often than this.
const TOUCHED: Duration = Duration::from_secs(24 * 3600);

impl Cache {
    /// Returns where the packs of a source are.
    pub(super) fn place(&self, options: &CacheOptions, source: &Source) -> Option<PackFolder> {
        let path = match source.folder() {
            Some(_) => fs::canonicalize(source.name()).ok(),
            None => Some(source.name().into()),
        }?;
        let folder = shortened(Fingerprint::of_bytes("kal 2026 path", path.as_os_str().as_encoded_bytes()));
        let folder = of_this_target(&options.folder, self.target).join(folder);
        Some(PackFolder { root: options.folder.clone(), folder, is_shipped: false })
    }

    /// Returns where the packs of a module are with its library.
    pub(super) fn shipped(&self, library: &Path, module: &str) -> PackFolder {
        let root = library.join(OF_LIBRARY);
        let name = shortened(Fingerprint::of_bytes("kal 2026 member", module.as_bytes()));
        let folder = of_this_target(&root.join("cache"), self.target).join(name);
        PackFolder { root, folder, is_shipped: true }
    }

    /// Reads the packs of a folder: those of the text, then the newest others.
    pub(super) fn read(&self, place: &PackFolder, text: &str) -> FoundPacks {
        let mut files = packs(&place.folder);
        let mut found = FoundPacks::default();
        let is_there = files.iter().any(|file| file.text == text);
        if !is_there && !place.is_shipped && TextLock::wait(&place.folder, text) {
            files = packs(&place.folder);
            self.read_key();
        }
        if files.is_empty() || self.key().is_none() && !place.is_shipped {
            return found;
        }
        if let Err(reason) = trust::folders(&place.root, &place.folder) {
            self.note(CacheEvent::Untrusted { file: place.folder.clone(), reason });
            return found;
        }
        files.sort_by_key(|file| (file.text != text, Reverse(file.written)));
        for PackFile { path, text: made_of, number, written } in files {
            match self.open_pack(&path, place.is_shipped) {
                Ok(pack) => {
                    if !place.is_shipped {
                        self.touch(&path, written);
                    }
                    let (file, bodies) = (path.clone(), pack.len());
                    self.note(match pack.is_trusted() {
                        true => CacheEvent::Opened { file, bodies },
                        false => CacheEvent::WithoutCode { file },
                    });
                    let pack = Arc::new(pack);
                    self.store.add(pack.clone());
                    if made_of == text {
                        found.own.push(OwnPack { file: path, number, pack });
                    } else {
                        found.others.push((made_of, pack));
                    }
                }
                Err(event) => {
                    if self.writes() && !place.is_shipped && matches!(event, CacheEvent::Damaged { .. }) {
                        let _ = fs::remove_file(&path);
                    }
                    self.note(event);
                }
            }
        }
        found
    }

    /// Reads the packs of a text that were left unread, if there are any.
    pub(super) fn read_rest(&self, source: &mut CachedSource) {
        if let Some(place) = source.unread.take() {
            source.add(self.read(&place, &source.text));
        }
    }

    /// Reads a pack; one that is with a library without its code, if it was made with
    /// another key.
    pub(super) fn open_pack(&self, path: &Path, is_shipped: bool) -> Result<Pack, CacheEvent> {
        let file = || path.to_owned();
        let opened = trust::open(path);
        let (opened, data) = opened.map_err(|reason| CacheEvent::Untrusted { file: file(), reason })?;
        let damaged = |damage: Damage| CacheEvent::Damaged { file: file(), reason: damage.to_string() };
        let key = self.key();
        let marks = key.as_ref().filter(|_| pack::is_large(data.len()));
        let mark = marks.and_then(|key| WholeMark::of(&data, key));
        let is_known = mark.as_ref().is_some_and(|mark| mark.is_on(&opened));
        let opened = Arc::new(opened);
        let of_pack = opened.clone();
        let read = Box::new(move |buffer: &mut [u8], at| of_pack.read_exact_at(buffer, at).ok());
        let is_enough = is_shipped || key.is_none();
        let found = PackInput { read, size: data.len(), is_known };
        let pack = Pack::open_file(found, self.target, key.as_ref(), is_enough).map_err(damaged)?;
        if !is_known && self.writes() && !is_shipped && pack.is_trusted() && pack.leaves_text_in_file() {
            mark.iter().for_each(|mark| mark.put(&opened));
        }
        Ok(pack)
    }

    /// Records that a pack is in use.
    fn touch(&self, path: &Path, written: SystemTime) {
        let now = SystemTime::now();
        if self.writes() && now.duration_since(written).is_ok_and(|age| age > TOUCHED) {
            let _ = fs::File::open(path).and_then(|file| file.set_modified(now));
        }
    }

    /// Reads all packs of this build and target. Returns how many are good, and what is
    /// wrong with the others.
    #[cfg(feature = "cli")]
    pub fn verify(&self) -> (usize, Vec<CacheEvent>) {
        let (mut good, mut bad) = (0, Vec::new());
        let Some(options) = &self.options else { return (good, bad) };
        let folders =
            fs::read_dir(of_this_target(&options.folder, self.target)).into_iter().flatten().flatten();
        for folder in folders.map(|entry| entry.path()) {
            for PackFile { path, .. } in packs(&folder) {
                let trusted = trust::folders(&options.folder, &folder);
                let trusted = trusted.and_then(|()| self.key().ok_or("there is no key".to_owned()));
                let opened = trusted
                    .map_err(|reason| CacheEvent::Untrusted { file: path.clone(), reason })
                    .and_then(|_| self.open_pack(&path, false));
                match opened {
                    Ok(pack) if !pack.is_whole() => {
                        let reason = "a damaged section".to_owned();
                        bad.push(CacheEvent::Damaged { file: path, reason });
                    }
                    Ok(_) => good += 1,
                    Err(event) => bad.push(event),
                }
            }
        }
        (good, bad)
    }
}

impl UnreadPacks for Cache {
    /// Reads the packs that were left unread, since an image has all code of their texts.
    fn read_unread(&self) {
        let unread = |source: &mut CachedSource| Some((source.unread.take()?, source.text.clone()));
        let unread: Vec<(PackFolder, String)> =
            self.sources(|sources| sources.iter_mut().filter_map(unread).collect());
        // No lock is held while files are read: another thread may fork.
        for (place, text) in unread {
            let found = self.read(&place, &text);
            self.sources(|sources| {
                if let Some(source) = sources.iter_mut().find(|source| source.is_in(&place.folder, &text)) {
                    source.add(found);
                }
            });
        }
    }
}
