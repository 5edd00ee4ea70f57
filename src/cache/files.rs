//! The packs of an engine's programs, in files.

use super::folder::{ABANDONED, UNFINISHED, shortened};
use super::image_text::{ImageText, identity};
#[cfg(feature = "cli")]
use super::lock::TextLock;
use super::pack_file::{FoundPacks, OwnPack, PackFile, PackFolder, packs};
use super::{CacheEvent, CacheOptions, CheckedText, CheckedTexts, trust};
use crate::bytes::SharedParts;
#[cfg(feature = "cli")]
use crate::bytes::StoredBytes;
use crate::codegen;
use crate::fingerprint::Fingerprint;
use crate::pack::links::CodeLinks;
use crate::pack::store::{KeptCode, MadeCode};
use crate::pack::{self, CodeStore, Pack, PackContents, SecretKey};
use crate::process::{self, Activity};
use crate::source::Source;
use crate::world::WrittenText;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many packs a text has before they become one.
const MOST_PACKS: usize = 4;

/// Packs of a text that are larger together become one of what was used last, in bytes.
const MOST_MERGED: usize = 32 << 20;

/// How many earlier texts of a file keep their packs.
const EARLIER_TEXTS: usize = 3;

/// What the metadata of a pack calls the earlier text whose packs it needs, and the module
/// that its text was read as.
const EARLIER: &str = "earlier";
const MODULE: &str = "module";

/// What the metadata of a pack in an image calls that it has the optimised code of all definitions
/// of its text.
pub(super) const WHOLE: &str = "whole";

/// Finds what of code, given by name and identity, is that of definitions of a text.
pub type FindLinks<'a> =
    &'a dyn Fn(&Source, StoredForm, &mut dyn Iterator<Item = (&str, Fingerprint)>) -> Option<CodeLinks>;

/// The checked items of a text.
pub enum StoredForm {
    /// They have just been read.
    New(WrittenText),
    /// An earlier run has read them.
    Old(SharedParts),
    /// An earlier run has read most of them, in an earlier text.
    Edited,
}

/// The packs of an engine's programs, in files.
pub struct Cache {
    /// Where files are; `None` if there are none.
    pub(super) options: Option<CacheOptions>,
    /// The texts whose packs are parts of images.
    pub(super) images: Vec<ImageText>,
    /// Whether what is made of all sources is kept: for an image, or an engine cache.
    keeps_all: bool,
    pub(super) target: Fingerprint,
    pub(super) store: Arc<CodeStore>,
    /// The user's secret, once there is one.
    key: Mutex<Option<SecretKey>>,
    sources: Mutex<Vec<CachedSource>>,
    /// The names of the texts that have been opened, with the modules that they were read as:
    /// a program may be a module of its own modules.
    opened: Mutex<FxHashSet<OpenedText>>,
    events: Mutex<Vec<CacheEvent>>,
    /// How long reading files took, in nanoseconds.
    nanoseconds: AtomicU64,
}

/// The name of a text, and the module that it was read as.
type OpenedText = (Box<str>, Option<Box<str>>);

/// A file whose code is cached.
pub(super) struct CachedSource {
    pub(super) source: Source,
    /// The module that it was read as.
    pub(super) module: Option<Box<str>>,
    /// The folder of its packs; `None` if they are written to none.
    folder: Option<PathBuf>,
    /// Whether it is the script of a saved session.
    is_session: bool,
    /// What the names of its packs begin with.
    pub(super) text: String,
    /// The folder of its packs, as long as these are not read: an image has all code of the text.
    pub(super) unread: Option<PackFolder>,
    /// The packs of this text that were found.
    packs: Vec<OwnPack>,
    /// The pack that was written last, with its number, until it is read.
    pub(super) written: Option<(PathBuf, u32)>,
    /// The number of the next pack.
    next: u32,
    /// The same with its library.
    shipped: Vec<OwnPack>,
    /// An earlier text of the program, if this one has not been checked.
    earlier: Option<EarlierText>,
    /// Which texts of the program need which earlier ones.
    needs: Vec<(String, String)>,
    /// Its items, if they have been asked for and not written.
    pub(super) unwritten: Option<WrittenText>,
    /// Whether the folder and the user's secret have been made.
    is_ready: bool,
}

/// The last text of a program that was checked, before it was edited.
struct EarlierText {
    /// What the names of its packs begin with.
    text: String,
    items: SharedParts,
    packs: Vec<Arc<Pack>>,
}

impl EarlierText {
    /// Returns the newest text of a program whose items are in packs, which are given with
    /// the texts that they are of.
    fn newest(packs: Vec<(String, Arc<Pack>)>) -> Option<Self> {
        let mut of_program = packs.iter().filter(|(_, pack)| meta(pack)[MODULE].is_null());
        let (text, items) = of_program.find_map(|(text, pack)| Some((text.clone(), pack.text()?)))?;
        let packs = packs.into_iter().filter(|(made_of, _)| *made_of == text).map(|(_, pack)| pack).collect();
        Some(Self { text, items, packs })
    }

    /// Returns whether it has code.
    fn has(&self, identity: &Fingerprint) -> bool {
        self.packs.iter().any(|pack| pack.find(identity).is_some())
    }
}

impl CachedSource {
    /// Returns the earlier text that this one, which was checked as `new` if that is not
    /// empty, is an edited form of.
    fn form_of(&self, new: &[u8]) -> Option<&EarlierText> {
        self.earlier.as_ref().filter(|_| new.is_empty() && self.checked_text().is_none())
    }

    /// Returns the items of the text that its packs have.
    pub(super) fn checked_text(&self) -> Option<SharedParts> {
        checked_text(&self.packs).or_else(|| checked_text(&self.shipped))
    }
}

impl CachedSource {
    /// Creates what is kept of the script of a session.
    pub(super) fn session(source: &Source, pack: Option<Arc<Pack>>) -> Self {
        let pack = pack.map(|pack| OwnPack { file: PathBuf::new(), number: 0, pack });
        Self {
            source: source.clone(),
            module: None,
            folder: None,
            is_session: true,
            text: String::new(),
            unread: None,
            packs: pack.into_iter().collect(),
            written: None,
            next: 0,
            shipped: Vec::new(),
            earlier: None,
            needs: Vec::new(),
            unwritten: None,
            is_ready: false,
        }
    }

    /// Returns the packs of the text that are parts of images.
    pub(super) fn image_packs(&self) -> impl Iterator<Item = &Pack> {
        self.shipped.iter().filter(|own| own.file.as_os_str().is_empty()).map(|own| &*own.pack)
    }

    /// Returns whether it is this text, as a program or as the module of that name.
    fn is_of(&self, source: &Source, module: Option<&str>) -> bool {
        self.module.as_deref() == module
            && self.source.name() == source.name()
            && self.source.text() == source.text()
    }

    /// Returns whether it is a text with that name of packs, in that folder.
    pub(super) fn is_in(&self, folder: &Path, text: &str) -> bool {
        self.folder.as_deref() == Some(folder) && self.text == text
    }

    /// Adds the packs that were found in its folder.
    pub(super) fn add(&mut self, found: FoundPacks) {
        let need =
            |(text, pack): &(String, Arc<Pack>)| Some((text.clone(), meta(pack)[EARLIER].as_str()?.into()));
        self.needs = found.others.iter().filter_map(need).collect();
        self.next = found.own.iter().map(|own| own.number + 1).max().unwrap_or(0);
        self.packs = found.own;
        if self.module.is_none() && self.checked_text().is_none() {
            self.earlier = EarlierText::newest(found.others);
        }
    }

    /// Returns whether it is the script of a session.
    pub(super) fn is_session(&self) -> bool {
        self.is_session
    }
}

/// What a pack was written of. To drop it takes a while, which a process that ends can spare.
pub struct WrittenPack {
    _bodies: Vec<MadeCode>,
    _text: WrittenText,
    _links: Option<CodeLinks>,
}

impl Cache {
    /// Creates the cache of an engine, which keeps the code of all sources if that is to be
    /// `for_sessions`. It has no files without options. Reads nothing but the key.
    pub fn new(options: Option<CacheOptions>, images: Vec<ImageText>, for_sessions: bool) -> Self {
        let keeps_all = false;
        let target = Fingerprint::of_bytes("kal 2026 target", codegen::target().as_bytes());
        let key = Mutex::new(options.as_ref().and_then(|options| trust::key(&options.key)));
        let (sources, opened, events) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (nanoseconds, store) = (AtomicU64::new(0), Arc::new(CodeStore::new(for_sessions)));
        Self { options, images, keeps_all, target, store, key, sources, opened, events, nanoseconds }
    }

    /// Makes it keep what is made of all sources, for an image or an engine cache.
    pub fn keeping_all(self) -> Self {
        Self { keeps_all: true, store: Arc::new(CodeStore::unlimited()), ..self }
    }

    /// Makes it keep what a child of the process writes.
    #[cfg(feature = "cli")]
    pub fn for_child(self) -> Self {
        Self { store: Arc::new(CodeStore::for_child()), ..self }
    }

    /// Returns what code is compiled for.
    pub fn target(&self) -> Fingerprint {
        self.target
    }

    /// Returns the code that was read, and that is kept to be written.
    pub fn store(&self) -> &Arc<CodeStore> {
        &self.store
    }

    /// Returns how long reading files took, in nanoseconds.
    pub fn nanoseconds(&self) -> u64 {
        self.nanoseconds.load(Ordering::Relaxed)
    }

    /// Returns whether what is made of a source is kept: it is from a file, a part of Kal, or
    /// the script of a session.
    pub fn keeps(&self, source: &Source) -> bool {
        let is_of_file = source.folder().is_some() || source.is_of_standard_library();
        self.keeps_all
            || is_of_file && self.options.is_some()
            || self.is_session(source)
            || self.images.iter().any(|image| image.name == source.name())
    }

    /// Returns the text of that name in an image.
    #[cfg(feature = "cli")]
    pub fn text_in_images(&self, name: &str) -> Option<StoredBytes> {
        let image = self.images.iter().find(|image| image.module.is_none() && image.name == name)?;
        StoredBytes::part(&image.image, image.place.clone())
    }

    /// Adds what earlier runs have compiled for a file to the code that is found, and
    /// keeps what this one compiles for it. Returns the items of the text, which may be
    /// that of a module of that name, or of an earlier text of a program, if one has checked
    /// them.
    pub fn open(&self, source: &Source, module: Option<&str>) -> Option<CheckedText> {
        if !self.keeps(source) {
            return None;
        }
        if !self.begins(source, module) {
            self.read_written(source, module);
            return self.opened(source, module).map(CheckedText::Same);
        }
        let in_image = self.images.iter().find_map(|image| image.identity_of(source, module));
        let text = in_image.unwrap_or_else(|| identity(source, module));
        self.store.keep(source.name());
        let started = Instant::now();
        let mut shipped = self.in_images(text);
        let text = shortened(text);
        let place = self.options.as_ref().and_then(|options| self.place(options, source));
        // What an image has of the whole text leaves nothing to look for but code of changes.
        let is_whole = shipped.iter().any(|own| meta(&own.pack)[WHOLE] == true);
        let read = place.as_ref().filter(|_| !is_whole).map(|place| self.read(place, &text));
        let with_library = module.zip(source.folder()).zip(self.options.as_ref()).filter(|_| !is_whole);
        let with_library = with_library.map(|((module, library), _)| self.shipped(library, module));
        shipped.extend(with_library.into_iter().flat_map(|place| self.read(&place, &text).own));
        let took = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(took, Ordering::Relaxed);
        let has_packs = read.as_ref().is_some_and(|found| !found.own.is_empty());
        if let Some(options) = self.options.as_ref().filter(|options| has_packs && options.writes) {
            options.collect_now_and_then();
        }
        let folder = place.as_ref().map(|place| place.folder.clone());
        let mut opened = CachedSource {
            source: source.clone(),
            module: module.map(Box::from),
            folder,
            is_session: false,
            text,
            unread: place.filter(|_| is_whole),
            packs: Vec::new(),
            written: None,
            next: 0,
            shipped,
            earlier: None,
            needs: Vec::new(),
            unwritten: None,
            is_ready: false,
        };
        opened.add(read.unwrap_or_default());
        if opened.unread.is_some() {
            self.store.expect_more();
        }
        let checked = opened.checked_text();
        let earlier = opened.earlier.as_ref().map(|text| CheckedText::Earlier(text.items.clone()));
        self.sources(|sources| sources.push(opened));
        checked.map(CheckedText::Same).or(earlier)
    }

    /// Marks a text of that name as opened. Returns whether none of them was before, even if
    /// another thread is reading or writing its packs.
    pub(super) fn begins(&self, source: &Source, module: Option<&str>) -> bool {
        let text = (source.name().into(), module.map(Box::from));
        process::within(Activity::Steady, || self.opened.lock().insert(text))
    }

    /// Makes a program as if it had not been opened.
    pub(super) fn ends(&self, source: &Source) {
        let text = (source.name().into(), None);
        process::within(Activity::Steady, || self.opened.lock().remove(&text));
    }

    /// Returns the items of a text whose packs have been read.
    fn opened(&self, source: &Source, module: Option<&str>) -> Option<SharedParts> {
        let is_same = |known: &&CachedSource| known.is_of(source, module);
        self.sources(|sources| sources.iter().find(is_same).and_then(CachedSource::checked_text))
    }

    /// Reads the pack of a text that this run has written.
    fn read_written(&self, source: &Source, module: Option<&str>) {
        let take = |known: &mut CachedSource| known.is_of(source, module).then(|| known.written.take())?;
        let written = self.sources(|sources| sources.iter_mut().find_map(take));
        let Some(own) = written.and_then(|written| self.own_pack(written)) else { return };
        self.sources(|sources| {
            if let Some(known) = sources.iter_mut().find(|known| known.is_of(source, module)) {
                known.packs.push(own);
            }
        });
    }

    /// Reads the pack that this run has written of a text, which nothing else uses now.
    pub(super) fn add_written(&self, source: &mut CachedSource) {
        let written = source.written.take();
        source.packs.extend(written.and_then(|written| self.own_pack(written)));
    }

    /// Reads a pack that this run has written, with its number.
    fn own_pack(&self, (file, number): (PathBuf, u32)) -> Option<OwnPack> {
        let pack = Arc::new(self.open_pack(&file, false).ok()?);
        Some(OwnPack { file, number, pack })
    }

    /// Explains whether the packs that were read have code of each of the functions of a
    /// program, which are given by name and identity.
    #[cfg(feature = "cli")]
    pub fn explain(&self, functions: &[(String, Fingerprint)]) -> Vec<super::Explanation> {
        self.store.read_rest();
        super::explain::explain(functions, &self.store.origins())
    }

    /// Returns how many bodies have not been written; 0 if none ever are.
    #[cfg(feature = "cli")]
    pub fn unwritten(&self) -> usize {
        if self.writes() { self.store.unwritten() } else { 0 }
    }

    /// Makes ready what packs are written to and signed with, so that a child makes neither:
    /// the user may have removed them since. Locks the texts that have no packs: starts wait
    /// for these.
    #[cfg(feature = "cli")]
    pub fn prepare_for_child(&self) -> Vec<TextLock> {
        let Some(root) = self.options.as_ref().map(|options| &options.folder) else { return Vec::new() };
        if self.key_or_new().is_err() {
            return Vec::new();
        }
        let lock = |source: &mut CachedSource| {
            let folder = source.folder.as_ref()?;
            trust::create(folder).ok()?;
            trust::folders(root, folder).ok()?;
            source.is_ready = true;
            if source.packs.is_empty() { TextLock::take(folder, &source.text) } else { None }
        };
        // No lock is held while folders are made: another thread may fork.
        let mut sources = self.sources(std::mem::take);
        let locks = sources.iter_mut().filter_map(lock).collect();
        self.sources(|present| present.append(&mut sources));
        locks
    }

    /// Writes what has been compiled since the files were opened, and the items of their
    /// texts that `text` returns, with links between the two. What was written goes to `after`.
    pub fn write(&self, text: CheckedTexts<'_>, links: FindLinks<'_>, after: fn(WrittenPack)) {
        if !self.writes() {
            return;
        }
        // No lock is held while files are written: another thread may fork.
        let mut sources = self.sources(std::mem::take);
        for index in 0..sources.len() {
            let Some((source, later)) = sources[index..].split_first_mut() else { continue };
            if source.folder.is_none() {
                continue;
            }
            let name = source.source.name();
            // A program that is a module as well has the code of both.
            let is_shared = later.iter().any(|other| other.source.name() == name);
            let kept = if is_shared { self.store.copy(name) } else { self.store.take(name) };
            let kept = kept.unwrap_or_default();
            let kept_text = source.unwritten.take();
            let new = kept_text.or_else(|| text(&source.source, source.module.as_deref()));
            if kept.made_count() == 0 && new.is_none() {
                continue;
            }
            self.read_rest(source);
            self.add_written(source);
            // A text may be read several times.
            let is_known = |text: &WrittenText| {
                let known = source.checked_text().filter(|known| known.len() == text.bytes.len());
                known.and_then(|known| known.all()).is_some_and(|known| known == *text.bytes)
            };
            let mut text = new.filter(|text| !is_known(text)).unwrap_or_default();
            if kept.made_count() == 0 && text.bytes.is_empty() {
                continue;
            }
            // One that is checked now needs the packs of the earlier one no longer.
            let needed = |own: &OwnPack| meta(&own.pack)[EARLIER].is_string();
            let is_complete = !text.bytes.is_empty() && source.packs.iter().any(needed);
            let merges = source.packs.len() >= MOST_PACKS || is_complete;
            let earlier = source.form_of(&text.bytes);
            let is_edit = earlier.is_some();
            // A pack that needs no other, but for those of the earlier text.
            let is_whole = source.packs.is_empty() || merges;
            let is_missing = |identity: &Fingerprint| earlier.is_none_or(|text| !text.has(identity));
            let mut bodies =
                if is_whole { self.made_or_used(kept, is_missing) } else { kept.into_made().collect() };
            if merges {
                if text.bytes.is_empty() {
                    let all = checked_text(&source.packs).and_then(|text| text.all());
                    text = all.unwrap_or_default().into();
                }
                let bytes: usize = source.packs.iter().map(|own| own.pack.size()).sum();
                let is_kept = |own: &&OwnPack| bytes <= MOST_MERGED && own.pack.has_origins();
                let all = source.packs.iter().filter(is_kept).flat_map(|own| own.pack.bodies());
                bodies.extend(all.filter_map(|(identity, body)| {
                    let (code, origin) = body.portable()?;
                    Some((identity, code.into(), origin))
                }));
            }
            let stored = match text.bytes.is_empty() {
                true if is_edit => Some(StoredForm::Edited),
                true => checked_text(&source.packs).map(StoredForm::Old),
                false => Some(StoredForm::New(text.clone())),
            };
            let known: FxHashSet<Fingerprint> = bodies.iter().map(|(identity, ..)| *identity).collect();
            let is_spare = |identity: &Fingerprint| !known.contains(identity) && is_missing(identity);
            let spare = if is_whole { self.store.origins_of(is_spare) } else { Vec::new() };
            let made = bodies.iter().map(|(identity, _, origin)| (&*origin.name, *identity));
            let unused = spare.iter().map(|(identity, origin)| (&*origin.name, *identity));
            let links = stored.and_then(|stored| links(&source.source, stored, &mut made.chain(unused)));
            // What this run had no use for stays if it is code of the text.
            let linked = links.iter().flat_map(|links| &links.bodies).map(|(_, identity)| identity);
            let spare: FxHashSet<_> = linked.filter(|identity| !known.contains(identity)).collect();
            bodies.extend(spare.into_iter().filter_map(|identity| self.used(identity)));
            let Some(folder) = source.folder.clone() else { continue };
            let replaced = if merges { source.packs.len() } else { 0 };
            match self.write_pack(source, &folder, &bodies, &text.bytes, links.as_ref()) {
                Ok(()) => source.packs.drain(..replaced).for_each(|own| _ = fs::remove_file(own.file)),
                Err(reason) => self.note(CacheEvent::NotWritten { folder, reason }),
            }
            after(WrittenPack { _bodies: bodies, _text: text, _links: links });
        }
        self.sources(|present| present.append(&mut sources));
    }

    /// Returns the code of a source that was made, and what of that of earlier runs was used
    /// and `is_wanted`.
    pub(super) fn made_or_used(
        &self,
        kept: KeptCode,
        is_wanted: impl Fn(&Fingerprint) -> bool,
    ) -> Vec<MadeCode> {
        let used = kept.used();
        let mut bodies: Vec<MadeCode> = kept.into_made().collect();
        bodies.extend(used.iter().filter(|identity| is_wanted(identity)).filter_map(|used| self.used(used)));
        bodies
    }

    /// Returns code of earlier runs.
    fn used(&self, identity: &Fingerprint) -> Option<MadeCode> {
        let (code, origin) = self.store.portable(identity)?;
        Some((*identity, code.into(), origin))
    }

    /// Calls `work` with the sources; no fork comes in between.
    pub(super) fn sources<T>(&self, work: impl FnOnce(&mut Vec<CachedSource>) -> T) -> T {
        process::within(Activity::Steady, || work(&mut self.sources.lock()))
    }

    /// Returns the user's secret, if there is one.
    pub(super) fn key(&self) -> Option<SecretKey> {
        *self.key.lock()
    }

    /// Reads the user's secret, if another process has made it meanwhile.
    pub(super) fn read_key(&self) {
        if let Some(options) = self.options.as_ref().filter(|_| self.key().is_none()) {
            *self.key.lock() = trust::key(&options.key);
        }
    }

    /// Returns the user's secret to sign a pack with, after making one if there is none.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub(super) fn key_or_new(&self) -> Result<SecretKey, String> {
        let options = self.options.as_ref().ok_or("there is no cache")?;
        let key = trust::key_or_new(&options.key)?;
        *self.key.lock() = Some(key);
        Ok(key)
    }

    fn write_pack(
        &self,
        source: &mut CachedSource,
        folder: &Path,
        bodies: &[MadeCode],
        text: &[u8],
        links: Option<&CodeLinks>,
    ) -> Result<(), String> {
        let key = match self.key().filter(|_| source.is_ready) {
            Some(key) => key,
            None => self.key_or_new()?,
        };
        if !source.is_ready {
            trust::create(folder).map_err(|error| error.to_string())?;
        }
        let root = self.options.as_ref().map_or(folder, |options| &options.folder);
        trust::folders(root, folder)?;
        let number = source.next;
        let file = folder.join(PackFile::name(&source.text, number));
        let meta = Self::meta_of(source, text).to_string();
        let contents = contents_of(meta.as_bytes(), bodies, text, links);
        let written =
            tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder).and_then(|mut temporary| {
                pack::write(contents, self.target, &key, temporary.as_file_mut())?;
                temporary.persist_noclobber(&file).map_err(|error| error.error)
            });
        written.map_err(|error| error.to_string())?;
        self.note(CacheEvent::Written { file: file.clone(), bodies: bodies.len() });
        (source.written, source.next) = (Some((file, number)), number + 1);
        tidy(source, folder);
        Ok(())
    }

    /// Returns what a pack of a text, with these items, says of itself.
    pub(super) fn meta_of(source: &CachedSource, text: &[u8]) -> serde_json::Value {
        let (name, earlier) = (source.source.name(), source.form_of(text).map(|earlier| &earlier.text));
        serde_json::json!({
            "source": name, MODULE: source.module, "kal": env!("CARGO_PKG_VERSION"), EARLIER: earlier
        })
    }

    /// Returns a pack that says this of itself, with code that was made for that target.
    pub(super) fn pack_of(
        meta: &serde_json::Value,
        bodies: &[MadeCode],
        text: &[u8],
        links: Option<&CodeLinks>,
        target: Fingerprint,
        key: &SecretKey,
    ) -> Vec<u8> {
        let meta = meta.to_string();
        pack::to_bytes(contents_of(meta.as_bytes(), bodies, text, links), target, key)
    }

    /// Returns whether files are written.
    pub(super) fn writes(&self) -> bool {
        self.options.as_ref().is_some_and(|options| options.writes)
    }

    /// Records what has happened.
    pub fn note(&self, event: CacheEvent) {
        process::within(Activity::Steady, || self.events.lock().push(event));
    }

    /// Removes and returns what has happened, in order.
    pub fn take_events(&self) -> Vec<CacheEvent> {
        process::within(Activity::Steady, || std::mem::take(&mut *self.events.lock()))
    }
}

/// Returns what a pack is made of that says this of itself.
pub(super) fn contents_of<'a>(
    meta: &'a [u8],
    bodies: &'a [MadeCode],
    text: &'a [u8],
    links: Option<&'a CodeLinks>,
) -> PackContents<'a> {
    let bodies = bodies.iter().map(|(identity, code, origin)| (*identity, &**code, origin)).collect();
    PackContents { bodies, text, links, meta }
}

/// Returns what a pack says of itself.
pub(super) fn meta(pack: &Pack) -> serde_json::Value {
    serde_json::from_slice(pack.meta()).unwrap_or_default()
}

/// Returns the items of the text that packs are of.
fn checked_text(packs: &[OwnPack]) -> Option<SharedParts> {
    let with_text = packs.iter().filter_map(|own| Some((own.number, own.pack.text()?)));
    with_text.max_by_key(|(number, _)| *number).map(|(_, text)| text)
}

/// Removes the packs of all but the latest earlier texts and what these need, and what
/// killed processes have left.
fn tidy(source: &CachedSource, folder: &Path) {
    let mut files = packs(folder);
    files.sort_by_key(|file| Reverse(file.written));
    let mut texts = vec![&source.text];
    for PackFile { text, .. } in &files {
        if texts.len() <= EARLIER_TEXTS && !texts.contains(&text) {
            texts.push(text);
        }
    }
    let earlier = source.earlier.as_ref().map(|earlier| (&source.text, &earlier.text));
    let needs = source.needs.iter().map(|(text, earlier)| (text, earlier)).chain(earlier);
    for (text, earlier) in needs.collect::<Vec<_>>() {
        // A text that was checked needs no other, so this does not go on.
        if texts.contains(&text) {
            texts.push(earlier);
        }
    }
    for file in files.iter().filter(|file| !texts.contains(&&file.text)) {
        let _ = fs::remove_file(&file.path);
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_unfinished = entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED));
        let written = entry.metadata().and_then(|data| data.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if is_unfinished && age.is_some_and(|age| age > ABANDONED) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
