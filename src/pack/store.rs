//! The code of an engine that outlives it: what earlier runs have left, and what
//! this one has made.

use super::origin::CodeOrigin;
use super::portable::PortableCode;
use super::{Pack, PackedBody};
use crate::fingerprint::Fingerprint;
use crate::process::{self, Activity, SteadyCell};
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Where compiled code is looked for before it is compiled, and kept after.
#[derive(Default)]
pub struct CodeStore {
    packs: RwLock<Vec<Arc<Pack>>>,
    /// Reads what `expects_more` is about.
    unread: SteadyCell<Weak<dyn UnreadPacks>>,
    /// Whether there are packs that have not been read.
    expects_more: AtomicBool,
    kept: Mutex<FxHashMap<Box<str>, KeptCode>>,
    /// The code of all other sources, if it is kept as well.
    others: Option<Mutex<Vec<MadeCode>>>,
    is_unlimited: bool,
    /// Whether a child makes most of the code again.
    is_for_child: bool,
    /// The size of the code that is kept, in bytes.
    kept_bytes: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// What is compiled is not kept while this many bytes have not been written: a program
/// that redefines functions for ever does not fill the memory.
const MOST_KEPT: usize = 64 << 20;

/// The code of a body with its identity, and what it was made of.
pub type MadeCode = (Fingerprint, Arc<PortableCode>, CodeOrigin);

/// What code of a body can be made of again, in less time than it took to keep it.
pub trait CodeRecipe: Send + Sync {
    /// Returns the same code once more; `None` if it cannot be made, and will be compiled by the
    /// next run.
    fn make(&self) -> Option<MadeCode>;
}

/// The number of checked items and bodies from which on a process that ends has a child write
/// them: to fork takes as long as to write a third of these.
pub const LEFT_TO_CHILD: usize = 1000;

/// The bodies, by the number of those before, that a child makes again where one writes the code: a
/// process writes fewer before it ends, and what more are made of would take more memory than
/// their code, once a program has replaced them.
const REMADE: Range<usize> = LEFT_TO_CHILD..1 << 16;

/// The code that was made of the functions of one source.
#[derive(Clone, Default)]
pub struct KeptCode {
    made: Vec<MadeCode>,
    /// What the rest is made of.
    recipes: Vec<Arc<dyn CodeRecipe>>,
    /// What of earlier runs was used, one by one and in blocks.
    found: FxHashSet<Fingerprint>,
    blocks: Vec<Arc<dyn FoundCode>>,
}

/// Packs that are left unread, since others should have all that is needed.
pub trait UnreadPacks: Send + Sync {
    /// Reads them, and [adds](CodeStore::add) them.
    fn read_unread(&self);
}

/// Code of earlier runs that has been found together.
pub trait FoundCode: Send + Sync {
    /// Returns how many bodies it has.
    fn len(&self) -> usize;

    /// Returns the identities of all bodies.
    fn identities(&self) -> Vec<Fingerprint>;
}

impl KeptCode {
    /// Returns how many bodies were made.
    pub fn made_count(&self) -> usize {
        self.made.len() + self.recipes.len()
    }

    /// Returns the code that was made.
    pub fn into_made(self) -> impl Iterator<Item = MadeCode> {
        self.made.into_iter().chain(self.recipes.into_iter().filter_map(|recipe| recipe.make()))
    }

    /// Returns what of earlier runs was used, each once.
    pub fn used(&self) -> FxHashSet<Fingerprint> {
        self.blocks.iter().flat_map(|block| block.identities()).chain(self.found.iter().copied()).collect()
    }
}

/// How often code was looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreCounts {
    /// Found.
    pub hits: u64,
    /// Not found, and compiled.
    pub misses: u64,
}

impl CodeStore {
    /// Creates a store; one that keeps the code of all sources, also of texts from no file,
    /// if it is for `sessions`.
    pub fn new(for_sessions: bool) -> Self {
        Self { others: for_sessions.then(Mutex::default), ..Self::default() }
    }

    /// Creates a store that keeps as much as is made.
    pub fn unlimited() -> Self {
        Self { is_unlimited: true, ..Self::default() }
    }

    /// Creates a store for a process that has a child write its code: what that is made of is kept
    /// in its place, where the child takes less time to make it again.
    #[cfg(feature = "cli")]
    pub fn for_child() -> Self {
        Self { is_for_child: true, ..Self::default() }
    }

    /// Sets who reads packs that are left unread.
    pub fn set_unread(&self, unread: Weak<dyn UnreadPacks>) {
        let _ = self.unread.set(unread);
    }

    /// Says that there are packs which have not been read.
    pub fn expect_more(&self) {
        self.expects_more.store(true, Ordering::Relaxed);
    }

    /// Reads the packs that were left unread. Returns whether this call has read any.
    pub fn read_rest(&self) -> bool {
        if !self.expects_more.swap(false, Ordering::Relaxed) {
            return false;
        }
        let unread = self.unread.get().and_then(Weak::upgrade);
        unread.iter().for_each(|unread| unread.read_unread());
        unread.is_some()
    }

    /// Adds code of earlier runs.
    pub fn add(&self, pack: Arc<Pack>) {
        steadily(|| self.packs.write().push(pack));
    }

    /// Keeps the code that is made of the functions of a source from now on.
    pub fn keep(&self, source: &str) {
        self.kept(|kept| _ = kept.entry(source.into()).or_default());
    }

    /// Forgets a source and the code that is kept for it.
    pub fn forget(&self, source: &str) {
        let forgotten = self.kept(|kept| kept.remove(source));
        drop(forgotten);
    }

    /// Returns whether code that is made of functions of that source is kept.
    pub fn keeps(&self, source: &str) -> bool {
        self.others.is_some() || self.kept(|kept| kept.contains_key(source))
    }

    /// Returns whether there is code of earlier runs.
    pub fn has_packs(&self) -> bool {
        steadily(|| !self.packs.read().is_empty())
    }

    /// Calls `place` with the code of that identity of a function of that source, if
    /// there is some; returns what it returns.
    pub fn find<T>(
        &self,
        source: &str,
        identity: &Fingerprint,
        place: impl Fn(PackedBody<'_>) -> Option<T>,
    ) -> Option<T> {
        let placed = steadily(|| self.packs.read().iter().find_map(|pack| place(pack.find(identity)?)))?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        self.kept(|kept| kept.get_mut(source).map(|kept| kept.found.insert(*identity)));
        Some(placed)
    }

    /// Returns the packs that have links under what is assumed.
    pub fn linked(&self, assumed: &Fingerprint) -> Vec<Arc<Pack>> {
        steadily(|| self.packs.read().iter().filter(|pack| pack.links(assumed).is_some()).cloned().collect())
    }

    /// Counts bodies of functions of that source which have been found by links.
    pub fn found(&self, source: &str, block: Arc<dyn FoundCode>) {
        self.hits.fetch_add(block.len() as u64, Ordering::Relaxed);
        self.kept(|kept| kept.get_mut(source).map(|kept| kept.blocks.push(block)));
    }

    /// Keeps what the code of a function of that source can be made of, which was compiled to so
    /// many bytes. Returns `false`, without effect, if its code is to be kept.
    pub fn made_again(
        &self,
        source: &str,
        size: usize,
        recipe: impl FnOnce() -> Arc<dyn CodeRecipe>,
    ) -> bool {
        let is_left = self.is_for_child && REMADE.contains(&(self.counts().misses as usize));
        if is_left && self.counts_one(size) {
            let recipe = recipe();
            self.kept(|kept| kept.get_mut(source).map(|kept| kept.recipes.push(recipe)));
        }
        is_left
    }

    /// Counts code that was compiled. Returns whether there is room to keep it.
    fn counts_one(&self, size: usize) -> bool {
        self.misses.fetch_add(1, Ordering::Relaxed);
        self.kept_bytes.fetch_add(size, Ordering::Relaxed) + size <= MOST_KEPT || self.is_unlimited
    }

    /// Keeps code that was compiled of a function of that source, if there is room.
    pub fn made(&self, source: &str, identity: Fingerprint, code: PortableCode, origin: CodeOrigin) {
        if !self.counts_one(code.bytes.len()) {
            return;
        }
        let made = (identity, Arc::new(code), origin);
        self.kept(|kept| match (kept.get_mut(source), &self.others) {
            (Some(kept), _) => kept.made.push(made),
            (None, Some(others)) => others.lock().push(made),
            (None, None) => {}
        });
    }

    /// Returns the code that is kept, and that of earlier runs, of those origins that
    /// `is_wanted`.
    pub fn all(&self, is_wanted: &dyn Fn(&CodeOrigin) -> bool) -> Vec<MadeCode> {
        let wanted = |made: &&MadeCode| is_wanted(&made.2);
        let mut all: Vec<MadeCode> = self.kept(|kept| {
            let of_files = kept.values().flat_map(|kept| &kept.made).filter(wanted).cloned();
            let others = self.others.as_ref().map(|others| others.lock());
            let others = others.iter().flat_map(|others| others.iter()).filter(wanted).cloned();
            of_files.chain(others).collect()
        });
        all.extend(self.made_of_recipes().filter(|made| is_wanted(&made.2)));
        let earlier = self.origins_of(|_| true).into_iter().filter(|(_, origin)| is_wanted(origin));
        all.extend(
            earlier.filter_map(|(identity, origin)| {
                Some((identity, self.portable(&identity)?.0.into(), origin))
            }),
        );
        all
    }

    /// Returns how often code was looked for.
    pub fn counts(&self) -> StoreCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StoreCounts { hits: read(&self.hits), misses: read(&self.misses) }
    }

    /// Returns how many bodies of sources are kept that this run has made.
    #[cfg(feature = "cli")]
    pub fn unwritten(&self) -> usize {
        self.kept(|kept| kept.values().map(KeptCode::made_count).sum())
    }

    /// Takes what is kept of a source.
    pub fn take(&self, source: &str) -> Option<KeptCode> {
        self.kept_bytes.store(0, Ordering::Relaxed);
        self.kept(|kept| kept.get_mut(source).map(std::mem::take))
    }

    /// Returns what is kept of a source.
    pub fn copy(&self, source: &str) -> Option<KeptCode> {
        self.kept(|kept| kept.get(source).cloned())
    }

    /// Returns the names of the functions of sources that are kept whose code was made or
    /// found.
    pub fn called(&self) -> FxHashSet<String> {
        let (made, used): (Vec<String>, Vec<Fingerprint>) = self.kept(|kept| {
            let made = kept.values().flat_map(|kept| &kept.made).map(|(.., origin)| origin.name.to_string());
            (made.collect(), kept.values().flat_map(KeptCode::used).collect())
        });
        let found = used.iter().filter_map(|identity| Some(self.portable(identity)?.1.name.to_string()));
        let again = self.made_of_recipes().map(|(.., origin)| origin.name.into());
        made.into_iter().chain(found).chain(again).filter(|name| !name.is_empty()).collect()
    }

    /// Returns the code that is to be made again.
    fn made_of_recipes(&self) -> impl Iterator<Item = MadeCode> {
        let recipes: Vec<_> =
            self.kept(|kept| kept.values().flat_map(|kept| &kept.recipes).cloned().collect());
        recipes.into_iter().filter_map(|recipe| recipe.make())
    }

    /// Returns the code of earlier runs of that identity, and what it was made of.
    pub fn portable(&self, identity: &Fingerprint) -> Option<(PortableCode, CodeOrigin)> {
        steadily(|| self.packs.read().iter().find_map(|pack| pack.find(identity)?.portable()))
    }

    /// Returns what the functions' code of earlier runs was made of that `is_asked` selects.
    pub fn origins_of(&self, is_asked: impl Fn(&Fingerprint) -> bool) -> Vec<(Fingerprint, CodeOrigin)> {
        let of_pack = |pack: &Arc<Pack>| {
            let bodies = pack.bodies().filter(|(identity, _)| is_asked(identity));
            let origins = bodies.filter_map(|(identity, body)| Some((identity, body.origin()?)));
            origins.filter(|(_, origin)| !origin.name.is_empty()).collect::<Vec<_>>()
        };
        steadily(|| self.packs.read().iter().flat_map(of_pack).collect())
    }

    /// Returns what the code of earlier runs was made of.
    #[cfg(feature = "cli")]
    pub fn origins(&self) -> Vec<CodeOrigin> {
        steadily(|| self.packs.read().iter().flat_map(|pack| pack.origins()).collect())
    }

    fn kept<T>(&self, work: impl FnOnce(&mut FxHashMap<Box<str>, KeptCode>) -> T) -> T {
        steadily(|| work(&mut self.kept.lock()))
    }
}

/// Calls `work`; no fork comes in between, so that a child never finds a lock that a
/// thread holds which it does not have.
fn steadily<T>(work: impl FnOnce() -> T) -> T {
    process::within(Activity::Steady, work)
}
