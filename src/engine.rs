//! Engines: what contexts share.

mod compiler;
mod stored;

use crate::abi::Variables;
use crate::budget::{ContextBudget, ContextLimits, MemoryBudget};
#[cfg(feature = "cli")]
use crate::bytes::StoredBytes;
use crate::bytes::Writer;
use crate::cache::{BuiltText, Cache, CacheEvent, CheckedText, CheckedTexts, PackParts, WrittenPack};
use crate::config::{Config, Mode};
use crate::deadline::Deadlines;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::host::HostFunctions;
use crate::jit::Jit;
use crate::limits::Limits;
use crate::name::Names;
use crate::prelude::Prelude;
use crate::process::{self, SteadyCell};
use crate::processor::FeatureSet;
use crate::runtime::Fence;
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use crate::source::Source;
use crate::stats::Usage;
use crate::stop::Poll;
use crate::syntax::operator::Operators;
use crate::text_cache::TextCache;
use crate::tier::Level;
use crate::world::{StoredEnvironment, WrittenText};
use std::fmt;
#[cfg(feature = "cli")]
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The part of Kal that contexts share: names, host functions, the compiler.
/// Cheap to clone, and usable from any thread.
///
/// # When the process forks
/// After fork(2) parent and child each have an engine and can continue to use
/// it: its code, its contexts, runs in progress. In the child, threads that
/// compile or watch deadlines start again when they are needed; what was being
/// compiled is compiled at its next call. The child may also create engines.
///
/// A fork waits until no compiler is linking, and copies all linked code:
/// milliseconds. A child that is created without fork(2), by a bare system
/// call, must not use engines of its parent.
///
/// As with all locks, what another thread of the host was doing stays
/// unfinished in the child: there, only the thread that forked may continue to
/// use contexts, and if other threads were defining, evaluating or dropping
/// something in the same engine at that moment, the child should create an
/// engine of its own.
///
/// # When the process exits
/// Engines need not be dropped before the process exits. The exit waits until
/// no thread is inside the compiler; what is being compiled then is finished,
/// what is queued is not begun. `_exit` waits for nothing, which is safe as
/// well.
///
/// ```
/// let engine = kal::Engine::new()?;
/// let (mut one, mut other) = (engine.context()?, engine.context()?);
/// one.eval("def f(x) x + 1")?;
/// other.eval("def f(x) x * 10")?;
/// assert_eq!(one.eval("f(4)")?, Some(5.0));
/// assert_eq!(other.eval("f(4)")?, Some(40.0));
/// # Ok::<(), kal::Error>(())
/// ```
#[derive(Clone)]
pub struct Engine(Arc<EngineInner>);

/// An engine, without handles.
pub(crate) struct EngineInner {
    config: Config,
    names: Arc<Names>,
    hosts: Arc<HostFunctions>,
    variables: Arc<Variables>,
    /// The built-in operators.
    operators: Arc<Operators>,
    budget: Arc<MemoryBudget>,
    cache: Option<Arc<Cache>>,
    /// Why images are not used.
    image_failures: Vec<String>,
    /// Why the snapshot of the prelude is not used, if there is one.
    prelude_failure: Option<String>,
    /// Where texts are read that earlier runs have checked, if there is a cache.
    environment: Option<Arc<StoredEnvironment>>,
    jit: SteadyCell<Arc<Jit>>,
    deadlines: Deadlines,
    texts: TextCache,
    at_end: AtEnd,
}

/// Ends the threads of an engine, and writes what it keeps, if it keeps anything. A pointer, so that
/// a program whose engines keep nothing is linked without what writes.
pub(crate) type AtEnd = fn(&EngineInner);

impl Engine {
    /// Creates an engine with the default configuration.
    ///
    /// # Errors
    /// If the compiler cannot work in this process.
    pub fn new() -> Result<Self, Error> {
        Self::with_config(Config::new())
    }

    /// Creates an engine.
    ///
    /// # Errors
    /// [`Error::BadName`] or [`Error::TooManyArguments`] for a host function
    /// that programs could not call; [`Error::NoCompiler`] if the mode needs the
    /// compiler and the feature `compiler` is off.
    pub fn with_config(config: Config) -> Result<Self, Error> {
        Self::with_ending(config, EngineInner::write_at_end)
    }

    /// Creates an engine; `at_end` is called when its last handle is dropped.
    pub(crate) fn with_ending(config: Config, at_end: AtEnd) -> Result<Self, Error> {
        Self::check_mode(config.mode)?;
        let missing = config.processor.features().without(FeatureSet::present());
        if !config.is_for_image && !missing.is_empty() {
            let names: Vec<&str> = missing.names().collect();
            return Err(Error::NoCompiler(format!("this processor does not have {}", names.join(", "))));
        }
        process::watch();
        let names = Arc::new(Names::limited(config.limits.max_names));
        names.intern(EXPRESSION);
        let hosts = Arc::new(config.hosts(&names)?);
        if config.mode != Mode::Interpret {
            Fence::announce();
        }
        let (cache, image_failures) = cache(&config)?;
        if config.mode == Mode::Eager && cache.is_none() {
            Self::warm_up();
        }
        let known = || Arc::new(environment(&config.limits, &names, &hosts));
        let is_same = |prelude: &Prelude| {
            prelude.snapshot.environment == reading_identity(&config.limits, &names, &hosts)
        };
        let is_other = config.prelude.as_ref().is_some_and(|prelude| !is_same(prelude));
        let prelude_failure =
            is_other.then(|| "host functions or limits are others than those of the image".to_owned());
        Ok(Self(Arc::new(EngineInner {
            environment: cache.is_some().then(known),
            cache,
            image_failures,
            prelude_failure,
            deadlines: Deadlines::new(config.limits.deadline),
            budget: Arc::new(MemoryBudget::new(config.limits.max_code_bytes)),
            config,
            operators: Arc::new(Operators::new(&names)),
            names,
            hosts,
            variables: Arc::default(),
            at_end,
            jit: SteadyCell::new(),
            texts: TextCache::default(),
        })))
    }

    /// Returns whether a function has too many nodes to be compiled.
    pub(crate) fn is_too_large(&self, function: &CheckedFunction) -> bool {
        function.nodes.len() > self.config().limits.max_compiled_operations
    }

    /// Returns whether both are the same engine.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the mode: when this engine compiles functions.
    pub fn mode(&self) -> Mode {
        self.0.config.mode
    }

    /// Returns the optimisation level of compiled code.
    pub fn level(&self) -> Level {
        self.0.config.level
    }

    /// Returns why the names of compiled functions are not written for `perf`,
    /// if [`Config::perf_map`] requests it and the file cannot be written. Sets
    /// the compiler up.
    ///
    /// # Errors
    /// If the compiler cannot work in this process.
    pub fn perf_map_failure(&self) -> Result<Option<&str>, Error> {
        let is_asked = self.config().perf_map && self.mode() != Mode::Interpret;
        if is_asked { Ok(self.jit()?.perf_map_failure()) } else { Ok(None) }
    }

    /// Returns why [images](Config::image) are not used, for people: one message for each.
    pub fn image_failures(&self) -> &[String] {
        &self.0.image_failures
    }

    /// Returns why the snapshot of a prelude cannot be used, for people.
    pub(crate) fn prelude_failure(&self) -> Option<&str> {
        self.0.prelude_failure.as_deref()
    }

    /// Returns what reading a text depends on, besides the program: host functions and limits.
    pub(crate) fn reading_identity(&self) -> Fingerprint {
        reading_identity(&self.config().limits, self.names(), self.hosts())
    }

    /// Returns the text of that name in an image.
    #[cfg(feature = "cli")]
    pub(crate) fn text_in_images(&self, name: &str) -> Option<StoredBytes> {
        self.0.cache.as_ref()?.text_in_images(name)
    }

    /// Returns the text of a module in an image.
    pub(crate) fn module_in_images(&self, name: &str) -> Option<&Source> {
        self.0.config.images.iter().find_map(|image| image.module(name))
    }

    /// Returns packs of all texts that were read, with the code that was made for that
    /// target, to become an image.
    pub(crate) fn packs_for_image(&self, target: Fingerprint, parts: PackParts) -> Vec<BuiltText> {
        let cache = self.0.cache.as_ref();
        cache.map_or_else(Vec::new, |cache| self.0.packs_for_image(cache, target, parts))
    }

    /// Returns how full the engine is, and how much waits in it.
    pub fn usage(&self) -> Usage {
        let EngineInner { names, variables, budget, jit, .. } = &*self.0;
        let (slots, garbage, queued) = jit.get().map_or((0, 0, 0), |jit| jit.usage());
        Usage {
            names: names.len(),
            variables: variables.count(),
            slots,
            code_bytes: budget.used(),
            garbage,
            queued,
        }
    }

    /// Finds the code that earlier runs have compiled of a source, and keeps what this
    /// one compiles of it, if the source is from a file and the engine has a
    /// [cache](Config::cache). Returns the items of the text, which may be that of a module
    /// of that name, or of an earlier text, if one has checked them.
    pub(crate) fn open_cached(&self, source: &Source, module: Option<&str>) -> Option<CheckedText> {
        self.0.cache.as_ref()?.open(source, module)
    }

    /// Returns where texts are read that earlier runs have checked, if there is a cache.
    pub(crate) fn stored_environment(&self) -> Option<&Arc<StoredEnvironment>> {
        self.0.environment.as_ref()
    }

    /// Returns how many functions that earlier runs have checked have been decoded, and
    /// the nanoseconds that reading the cache took.
    pub(crate) fn loaded(&self) -> (u64, u64) {
        let functions = self.0.environment.as_ref().map_or(0, |known| known.loaded.load(Ordering::Relaxed));
        (functions, self.0.cache.as_ref().map_or(0, |cache| cache.nanoseconds()))
    }

    /// Returns whether the items of a text are kept for later runs.
    pub(crate) fn caches(&self, source: &Source) -> bool {
        self.0.cache.as_ref().is_some_and(|cache| cache.keeps(source))
    }

    /// Begins to keep the items of the script of a session, if there is a cache.
    pub(crate) fn begin_session(&self, script: &Source) {
        self.0.cache.iter().for_each(|cache| cache.begin_session(script));
    }

    /// Adds the code and the checked items of a session to what is found, if there is a
    /// cache.
    ///
    /// # Errors
    /// Why they cannot be used, for people.
    pub(crate) fn resume_session(&self, script: &Source, pack: Vec<u8>) -> Result<(), String> {
        match &self.0.cache {
            Some(cache) => cache.resume_session(script, pack),
            None => Ok(()),
        }
    }

    /// Ends to keep what is made of the script of a session.
    pub(crate) fn end_session(&self, script: &Source) {
        self.0.texts.forget(script);
        self.0.cache.iter().for_each(|cache| cache.end_session(script));
    }

    /// Adds to bytes a pack of the script of a session that has been read, with the code of these
    /// functions; nothing for a script that defines nothing.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub(crate) fn pack_session(
        &self,
        script: &Source,
        functions: &[Arc<CheckedFunction>],
        bytes: &mut Vec<u8>,
    ) -> Result<(), String> {
        let cache = self.0.cache.as_ref().ok_or("there is no cache")?;
        match self.0.stored_text(script, None) {
            Some(text) => self.0.session(cache, script, text, functions, bytes),
            None => Ok(()),
        }
    }

    /// Writes what was compiled of the modules in the folder of a library to that folder,
    /// or only what was checked. Returns the numbers of modules and of functions.
    ///
    /// # Errors
    /// Why nothing can be written, for people.
    #[cfg(feature = "cli")]
    pub(crate) fn write_library(&self, library: &Path, with_code: bool) -> Result<(usize, usize), String> {
        let cache = self.0.cache.as_ref().ok_or("there is no cache")?;
        cache.write_library(library, with_code, &|source, module| self.0.stored_text(source, module))
    }

    /// Explains whether the [cache](Config::cache) has code of each of the functions of a
    /// program, from these sources; nothing without a cache.
    #[cfg(feature = "cli")]
    pub(crate) fn explain_cache(
        &self,
        functions: &[Arc<CheckedFunction>],
    ) -> Vec<(String, crate::cache::Explanation)> {
        let Some(cache) = &self.0.cache else { return Vec::new() };
        functions.iter().for_each(|function| _ = cache.open(&function.source, None));
        let names = self.names();
        let identity = |function: &Arc<CheckedFunction>| {
            (names.text(function.name).to_string(), function.fingerprint(names))
        };
        let functions: Vec<_> = functions.iter().map(identity).collect();
        let explanations = cache.explain(&functions);
        functions.into_iter().map(|(name, _)| name).zip(explanations).collect()
    }

    /// Removes and returns what has happened in the [cache](Config::cache), in order.
    pub fn take_cache_events(&self) -> Vec<CacheEvent> {
        self.0.cache.as_ref().map(|cache| cache.take_events()).unwrap_or_default()
    }

    pub(crate) fn config(&self) -> &Config {
        &self.0.config
    }

    pub(crate) fn inner(&self) -> &EngineInner {
        &self.0
    }

    pub(crate) fn names(&self) -> &Arc<Names> {
        &self.0.names
    }

    /// Returns the built-in operators.
    pub(crate) fn operators(&self) -> &Arc<Operators> {
        &self.0.operators
    }

    pub(crate) fn hosts(&self) -> &Arc<HostFunctions> {
        &self.0.hosts
    }

    pub(crate) fn variables(&self) -> &Arc<Variables> {
        &self.0.variables
    }

    /// Returns the memory budget of tapes and code.
    #[cfg(test)]
    pub(crate) fn budget(&self) -> &Arc<MemoryBudget> {
        &self.0.budget
    }

    /// Creates the budget of a new context.
    pub(crate) fn context_budget(&self) -> Arc<ContextBudget> {
        let Limits { max_context_code_bytes: bytes, max_compile_time: compiling, .. } = self.config().limits;
        ContextBudget::new(&self.0.budget, ContextLimits { bytes, compiling })
    }

    /// Returns the texts that contexts have read. The code that is kept for them
    /// gives way when the memory budget is half used, and their names when that
    /// table is.
    pub(crate) fn texts(&self) -> &TextCache {
        let EngineInner { budget, texts, names, .. } = &*self.0;
        if !budget.fits(budget.limit() / 2) || names.is_half_full() {
            texts.clear();
        }
        texts
    }

    pub(crate) fn deadlines(&self) -> &Deadlines {
        &self.0.deadlines
    }

    /// Returns a poll with the deadline of work that begins now and belongs to
    /// no context.
    pub(crate) fn poll(&self) -> Poll {
        // A deadline beyond the range of the clock never comes.
        let deadline = self.0.config.limits.deadline.and_then(|time| Instant::now().checked_add(time));
        Poll::until(deadline)
    }

    /// Returns the JIT, set up on first use.
    pub(crate) fn jit(&self) -> Result<&Arc<Jit>, Error> {
        if let Some(jit) = self.0.jit.get() {
            return Ok(jit);
        }
        // Another thread may set one up meanwhile; the first is kept.
        let made = self.new_jit()?;
        if self.0.jit.set(made.clone()).is_ok() {
            made.register_code_size();
        }
        Ok(self.0.jit.get_or_make(|| made))
    }
}

/// Returns the cache of an engine, if it has one, and why images are not used.
///
/// # Errors
/// [`Error::ImageRequired`].
fn cache(config: &Config) -> Result<(Option<Arc<Cache>>, Vec<String>), Error> {
    if config.mode == Mode::Interpret {
        return Ok((None, Vec::new()));
    }
    if config.is_for_image {
        return Ok((Some(Arc::new(Cache::new(None, Vec::new(), false).keeping_all())), Vec::new()));
    }
    let (mut packs, mut failures) = (Vec::new(), Vec::new());
    let present = FeatureSet::present();
    for image in &config.images {
        match image.packs(present, config.level, config.limits.fuel.is_some()) {
            Ok(found) => packs.extend(found),
            Err(failure) if config.requires_images => return Err(Error::ImageRequired(failure)),
            Err(failure) => {
                failures.push(failure);
                if config.uses_checked_texts {
                    packs.extend(image.checked_texts());
                }
            }
        }
    }
    let has_one = config.cache.is_some() || !packs.is_empty() || config.engine_cache.is_some();
    let cache = has_one.then(|| Cache::new(config.cache.clone(), packs, config.keeps_code));
    let cache = match (cache, &config.engine_cache) {
        (Some(cache), Some(engine)) => Some(stored::load(cache.keeping_all(), engine, config)),
        #[cfg(feature = "cli")]
        (Some(cache), None) if config.leaves_keeping() => Some(cache.for_child()),
        (cache, _) => cache,
    };
    let cache = cache.map(Arc::new);
    if let Some(cache) = &cache {
        let unread = Arc::downgrade(cache);
        cache.store().set_unread(unread);
    }
    Ok((cache, failures))
}

/// Returns where stored texts are read.
fn environment(limits: &Limits, names: &Arc<Names>, hosts: &HostFunctions) -> StoredEnvironment {
    let (names, largest) = (names.clone(), limits.max_compiled_operations);
    let identity = reading_identity(limits, &names, hosts);
    StoredEnvironment { names, identity, largest, loaded: AtomicU64::new(0) }
}

/// Returns what reading a text depends on, besides the program.
fn reading_identity(limits: &Limits, names: &Names, hosts: &HostFunctions) -> Fingerprint {
    let mut writer = Writer::default();
    writer.number(limits.max_nesting);
    writer.long(limits.max_compiled_operations as u64);
    hosts.write(names, &mut writer);
    Fingerprint::of("kal 2026 environment", writer)
}

impl Drop for EngineInner {
    fn drop(&mut self) {
        (self.at_end)(self);
        self.texts.clear();
    }
}

impl EngineInner {
    /// Ends its threads.
    pub(crate) fn close(&self) {
        if let Some(jit) = self.jit.get() {
            jit.close();
        }
    }

    /// Ends its threads, and writes its cache.
    pub(crate) fn end(&self) {
        self.close();
        self.write_cache(drop);
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the cache, if there is one.
    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.cache.as_deref()
    }

    /// Returns where texts are read that earlier runs have checked, if there is a cache.
    pub(crate) fn stored_environment(&self) -> Option<&Arc<StoredEnvironment>> {
        self.environment.as_ref()
    }

    pub(crate) fn write_cache(&self, after: fn(WrittenPack)) {
        let text: CheckedTexts<'_> = &|source, module| self.stored_text(source, module);
        self.cache.iter().for_each(|cache| self.write_packs(cache, text, after));
    }

    /// Returns a text that was checked, as a program or as the module of that name; `None` if it was not, or they have been written before.
    pub(crate) fn stored_text(&self, source: &Source, module: Option<&str>) -> Option<WrittenText> {
        let environment = self.environment.as_ref()?;
        match self.texts.take_kept(source, module) {
            Some(text) => Some(text),
            None if module.is_some() => None,
            None => self.texts.find(source)?.to_store(environment),
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("mode", &self.0.config.mode)
            .field("level", &self.0.config.level)
            .finish()
    }
}
