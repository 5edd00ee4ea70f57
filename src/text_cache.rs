//! Texts that an engine has read, for contexts that are given them as well.
//!
//! With every item goes what its reading asked
//! ([`ReadingRecord`](crate::sema::asked::ReadingRecord)). A context in which the
//! questions have the same answers takes the checked item, and with it the code
//! that other contexts have made of it; it parses and checks nothing.
//! Contexts that read the same text at once follow each other item by item, so
//! each item is read by one of them.
//!
//! The cache is in two halves, a young and an old one. When the young one is
//! full, it becomes the old one, and what was in that is forgotten unless it
//! has been asked for in the meantime. Short texts have a cache of their own:
//! a program that makes one after another forgets no library.

mod item;
mod kept;

use crate::jit::{SharedBindings, WeakBindings};
use crate::process::{self, Activity, SteadyCell};
use crate::source::Source;
use crate::world::{StoredEnvironment, StoredText, TextWriter, World, WrittenText};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What half of the cache of long texts holds, in bytes of memory, roughly.
const LONG_HALF: usize = 32 << 20;

/// The same for short texts.
const SHORT_HALF: usize = 2 << 20;

/// Texts of at least this many bytes are long.
const LONG: usize = 512;

pub(crate) use item::CachedItem;
pub(crate) use kept::{KeptModule, KeptProgram, KeptText};

/// The texts of one engine.
pub(crate) struct TextCache {
    short: Mutex<Halves>,
    long: Mutex<Halves>,
    /// What is kept for later runs and has not been written to the cache.
    kept: Mutex<FxHashMap<KeptName, (Source, KeptText)>>,
}

/// The file of a text that is kept, and the module that it was read as.
type KeptName = (Box<str>, Option<Box<str>>);

impl Default for TextCache {
    fn default() -> Self {
        let [short, long] = [SHORT_HALF, LONG_HALF].map(|size| Mutex::new(Halves::of(size)));
        Self { short, long, kept: Mutex::default() }
    }
}

struct Halves {
    young: Half,
    old: Half,
    /// What each may hold.
    size: usize,
}

fn kept_name(source: &Source, module: Option<&str>) -> KeptName {
    (source.name().into(), module.map(Box::from))
}

/// Returns what a text and the items in it take, in bytes of memory, roughly.
fn cost(text: &str) -> usize {
    1024 + 10 * text.len()
}

#[derive(Default)]
struct Half {
    texts: FxHashMap<SameText, Arc<CachedText>>,
    cost: usize,
}

/// How many bytes of a text are hashed, at its start and at its end.
const HASHED: usize = 4096;

/// A source that compares by its name, text and place.
struct SameText(Source);

impl PartialEq for SameText {
    fn eq(&self, other: &Self) -> bool {
        let (this, other) = (&self.0, &other.0);
        this == other
            || (this.name() == other.name()
                && this.first() == other.first()
                && this.folder() == other.folder()
                && this.text() == other.text())
    }
}

impl Eq for SameText {}

impl Hash for SameText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Of a long text, its start, its end and its length.
        let text = self.0.text().as_bytes();
        text.len().hash(state);
        text[..text.len().min(HASHED)].hash(state);
        text[text.len().saturating_sub(HASHED)..].hash(state);
    }
}

impl TextCache {
    /// Returns the cached form of a text, perhaps still without items; `None`
    /// if the text is not worth caching: it defines nothing, or is very long, and it is not
    /// kept for later runs.
    pub(crate) fn text(&self, source: &Source, is_for_later: bool) -> Option<Arc<CachedText>> {
        let text = source.text();
        let is_worth_it = cost(text) <= LONG_HALF && text.contains("def");
        if !is_worth_it && !is_for_later {
            return None;
        }
        let (text, forgotten) = self.halves(text, |halves| halves.text(SameText(source.clone())));
        // Dropping code takes other locks.
        drop(forgotten);
        Some(text)
    }

    /// Returns the cached form of a text, if there is one.
    pub(crate) fn find(&self, source: &Source) -> Option<Arc<CachedText>> {
        self.halves(source.text(), |halves| halves.find(&SameText(source.clone())))
    }

    /// Forgets a text.
    pub(crate) fn forget(&self, source: &Source) {
        let removed = self.halves(source.text(), |halves| halves.take(&SameText(source.clone())));
        drop(removed);
    }

    /// Keeps a text, which was read as a program or as the module of that name, for later
    /// runs.
    pub(crate) fn keep(&self, source: &Source, module: Option<&str>, text: KeptText) {
        let (name, kept) = (kept_name(source, module), (source.clone(), text));
        let before = process::within(Activity::Steady, || self.kept.lock().insert(name, kept));
        drop(before);
    }

    /// Returns how many items are kept of all texts.
    #[cfg(feature = "cli")]
    pub(crate) fn kept_items(&self) -> usize {
        process::within(Activity::Steady, || self.kept.lock().values().map(|(_, text)| text.len()).sum())
    }

    /// Returns the programs that have to be read again before they are written.
    pub(crate) fn unrecorded(&self) -> Vec<Source> {
        let sources = |kept: &FxHashMap<KeptName, (Source, KeptText)>| {
            let unrecorded = kept.values().filter(|(_, text)| text.is_unrecorded());
            unrecorded.map(|(source, _)| source.clone()).collect()
        };
        process::within(Activity::Steady, || sources(&self.kept.lock()))
    }

    /// Takes and writes what is kept of a text.
    pub(crate) fn take_kept(&self, source: &Source, module: Option<&str>) -> Option<WrittenText> {
        let name = kept_name(source, module);
        let kept = process::within(Activity::Steady, || self.kept.lock().remove(&name));
        kept.filter(|(read, _)| read.text() == source.text()).and_then(|(_, text)| text.write())
    }

    /// Calls `work` with the halves for a text. No fork comes in between.
    fn halves<T>(&self, text: &str, work: impl FnOnce(&mut Halves) -> T) -> T {
        let halves = if text.len() < LONG { &self.short } else { &self.long };
        process::within(Activity::Steady, || work(&mut halves.lock()))
    }

    /// Forgets all texts.
    pub(crate) fn clear(&self) {
        for halves in [&self.short, &self.long] {
            let forgotten = process::within(Activity::Steady, || halves.lock().take_all());
            drop(forgotten);
        }
    }
}

impl Halves {
    fn of(size: usize) -> Self {
        Self { young: Half::default(), old: Half::default(), size }
    }

    fn find(&self, key: &SameText) -> Option<Arc<CachedText>> {
        let found = self.young.texts.get(key).or_else(|| self.old.texts.get(key));
        found.cloned()
    }

    fn take(&mut self, key: &SameText) -> Option<Arc<CachedText>> {
        self.young.take(key).or_else(|| self.old.take(key))
    }

    fn take_all(&mut self) -> [Half; 2] {
        [mem::take(&mut self.young), mem::take(&mut self.old)]
    }

    /// Returns a text, created if it is new, and what is forgotten for it.
    fn text(&mut self, key: SameText) -> (Arc<CachedText>, Half) {
        if let Some(text) = self.young.texts.get(&key) {
            return (text.clone(), Half::default());
        }
        let text = self.old.take(&key).unwrap_or_else(|| Arc::new(CachedText::new(&key.0)));
        let mut forgotten = Half::default();
        let cost = cost(key.0.text());
        if self.young.cost + cost > self.size {
            forgotten = mem::replace(&mut self.old, mem::take(&mut self.young));
        }
        self.young.cost += cost;
        self.young.texts.insert(key, text.clone());
        (text, forgotten)
    }
}

impl Half {
    fn take(&mut self, key: &SameText) -> Option<Arc<CachedText>> {
        let text = self.texts.remove(key)?;
        self.cost -= cost(key.0.text());
        Some(text)
    }
}

/// A text and the items that have been read of it so far.
pub(crate) struct CachedText {
    source: Source,
    items: RwLock<Vec<Arc<CachedItem>>>,
    /// What an earlier run has left, as long as it means the same.
    stored: Mutex<Option<Stored>>,
    is_complete: AtomicBool,
    /// Whether it has been [stored](Self::to_store) for later runs.
    was_stored: AtomicBool,
    opening: SteadyCell<Arc<Opening>>,
}

/// The first items of a text that define and declare, with nothing else between
/// them, and what they make of a context in which nothing is defined.
pub(crate) struct Opening {
    /// The number of the first item.
    pub(crate) from: usize,
    /// The number of the item after the last.
    pub(crate) until: usize,
    /// The offset in the text where the last one ends.
    pub(crate) end: u32,
    /// The book before them.
    pub(crate) start: World,
    /// The book after them.
    pub(crate) world: World,
    /// The number of items that bind a name again.
    pub(crate) redefined: u64,
    /// Whether a definition has warnings.
    pub(crate) has_warnings: bool,
    /// The bindings of the first context, with the code that is made for it, as
    /// long as it has them.
    first: Option<WeakBindings>,
    /// Bindings that are kept, since a second context has asked for them.
    kept: SteadyCell<SharedBindings>,
}

impl Opening {
    /// Creates it from a context that has run the items.
    pub(crate) fn new(
        (from, until, end): (usize, usize, u32),
        (start, world): (World, World),
        redefined: u64,
        has_warnings: bool,
        bindings: Option<SharedBindings>,
    ) -> Self {
        let first = bindings.map(|bindings| bindings.downgrade());
        Self { from, until, end, start, world, redefined, has_warnings, first, kept: SteadyCell::new() }
    }

    /// Returns the bindings of another context, if there are some.
    pub(crate) fn bindings(&self) -> Option<&SharedBindings> {
        self.kept.get().or_else(|| {
            let first = self.first.as_ref()?.upgrade()?;
            Some(self.kept.get_or_make(|| first))
        })
    }

    /// Keeps the bindings of a context for others.
    pub(crate) fn keep(&self, bindings: SharedBindings) {
        let _ = self.kept.set(bindings);
    }
}

/// What an earlier run has checked of a text.
#[derive(Clone)]
struct Stored {
    text: Arc<StoredText>,
    /// Whether several contexts may be given the text.
    is_for_others: bool,
}

impl CachedText {
    fn new(source: &Source) -> Self {
        Self {
            source: source.clone(),
            items: RwLock::default(),
            stored: Mutex::default(),
            is_complete: AtomicBool::new(false),
            was_stored: AtomicBool::new(false),
            opening: SteadyCell::new(),
        }
    }

    /// Returns the source that the items are from.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Takes over what an earlier run has checked of the text, unless some of it has
    /// been read already. Items are decoded each time they are asked for, unless others
    /// are to have them as well.
    pub(crate) fn restore(&self, text: StoredText, is_for_others: bool) {
        process::within(Activity::Steady, || {
            if self.items.read().is_empty() {
                *self.stored.lock() = Some(Stored { text: Arc::new(text), is_for_others });
            }
        });
    }

    /// Returns an item, if that many have been read, or are stored.
    pub(crate) fn item(&self, number: usize) -> Option<Arc<CachedItem>> {
        let present = || self.items.read().get(number).cloned();
        process::within(Activity::Steady, present).or_else(|| self.stored_item(number))
    }

    fn stored_item(&self, number: usize) -> Option<Arc<CachedItem>> {
        let Stored { text, is_for_others } =
            process::within(Activity::Steady, || self.stored.lock().clone())?;
        if number >= text.len() {
            return None;
        }
        match text.item(number).map(|item| Arc::new(item.into())) {
            Ok(item) if is_for_others => Some(self.push(number, item)),
            Ok(item) => Some(item),
            Err(_) => {
                self.forget_stored(number);
                None
            }
        }
    }

    /// Forgets what is stored of the text, from an item on: it means something else
    /// now. Items that have been read are kept.
    pub(crate) fn forget_stored(&self, from: usize) {
        let stored = process::within(Activity::Steady, || self.stored.lock().take());
        let Some(Stored { text, .. }) = stored else { return };
        let before: Vec<_> = (0..from).map_while(|number| text.item(number).ok()).collect();
        let before = before.into_iter().map(|item| Arc::new(CachedItem::from(item)));
        let forgotten = process::within(Activity::Steady, || {
            let mut items = self.items.write();
            let known = from.min(items.len());
            let forgotten = items.split_off(known);
            items.extend(before.skip(known));
            forgotten
        });
        // Dropping code takes other locks.
        drop(forgotten);
    }

    /// Returns what an earlier run has checked of the text, as long as it means the same.
    pub(crate) fn stored(&self) -> Option<Arc<StoredText>> {
        process::within(Activity::Steady, || self.stored.lock().as_ref().map(|stored| stored.text.clone()))
    }

    /// Returns the text for later runs, once, if all of it has been read and it
    /// is not from an earlier one.
    pub(crate) fn to_store(&self, environment: &Arc<StoredEnvironment>) -> Option<WrittenText> {
        let items = process::within(Activity::Steady, || {
            let is_new = self.is_complete.load(Ordering::Acquire) && self.stored.lock().is_none();
            let is_due = is_new && !self.was_stored.swap(true, Ordering::Relaxed);
            is_due.then(|| self.items.read().clone())
        })?;
        let mut writer = TextWriter::new(environment, &self.source);
        items.iter().for_each(|item| writer.item(&item.stored()));
        writer.finish()
    }

    /// Adds an item, which is number `number`. Returns the item that has this
    /// number now: another context may have been quicker.
    pub(crate) fn add(&self, number: usize, item: Arc<CachedItem>) -> Arc<CachedItem> {
        self.forget_stored(number);
        self.push(number, item)
    }

    fn push(&self, number: usize, item: Arc<CachedItem>) -> Arc<CachedItem> {
        process::within(Activity::Steady, || {
            let mut items = self.items.write();
            if items.len() == number {
                items.push(item.clone());
            }
            items.get(number).unwrap_or(&item).clone()
        })
    }

    /// Returns the opening of the text, once that is known.
    pub(crate) fn opening(&self) -> Option<Arc<Opening>> {
        self.opening.get().cloned()
    }

    /// Sets the opening of the text.
    pub(crate) fn set_opening(&self, opening: Opening) {
        let _ = self.opening.set(Arc::new(opening));
    }

    /// Returns whether there are no more than `count` items.
    pub(crate) fn ends_after(&self, count: usize) -> bool {
        process::within(Activity::Steady, || {
            let is_read = self.is_complete.load(Ordering::Acquire) && self.items.read().len() == count;
            is_read
                || self
                    .stored
                    .lock()
                    .as_ref()
                    .is_some_and(|Stored { text, .. }| text.is_all() && text.len() == count)
        })
    }

    /// Records that all items have been read, if there are `count` of them.
    pub(crate) fn complete(&self, count: usize) {
        process::within(Activity::Steady, || {
            if self.items.read().len() == count {
                self.is_complete.store(true, Ordering::Release);
            }
        });
    }
}
