//! Storing engines: their texts and their code go to the cache when the engine is dropped, and to
//! one file that later engines load.

use crate::cache::{
    BuiltText, Cache, CacheEvent, CompilePolicy, EngineCache, PackParts, StoredEngine, UpdatePolicy,
};
use crate::codegen::HAS_COMPILER;
use crate::context::Context;
use crate::engine::{Engine, EngineInner};
use crate::error::Error;
use crate::image::{self, ImageSource, WrittenVersion, target_of};
use crate::image_builder::prepare_named;
#[cfg(feature = "cli")]
use crate::pack::store::LEFT_TO_CHILD;
#[cfg(feature = "cli")]
use crate::process;
use crate::processor::{FeatureSet, Processor};
use crate::source::Source;
use crate::world::{StoredText, WrittenText};
use std::path::Path;

impl Engine {
    /// Writes the texts that have been checked and the code that has been compiled since the last
    /// time to the [cache](crate::Config::cache), if there is one. Dropping the last handle to an
    /// engine does so, too. A cache that cannot be written stays as it is.
    pub fn write_cache(&self) {
        self.record_texts(drop);
        self.inner().write_cache(drop);
    }

    /// Does so when the process is about to end, which then need not take anything apart.
    #[cfg(feature = "cli")]
    pub(crate) fn write_cache_at_exit(&self) {
        self.record_texts(std::mem::forget);
        self.inner().write_cache(std::mem::forget);
    }

    /// Does so when the process is about to end, or has ended: a child writes what would take a
    /// while. Other starts of the same texts wait for it. No code may be run after this.
    #[cfg(feature = "cli")]
    pub(crate) fn write_cache_beyond_exit(&self) {
        let Some(cache) = self.inner().cache() else { return };
        let is_left = cache.unwritten() + self.texts().kept_items() >= LEFT_TO_CHILD;
        if is_left || !self.texts().unrecorded().is_empty() {
            let locks = cache.prepare_for_child();
            let write = || {
                let _locks = locks;
                self.write_cache_at_exit();
            };
            if process::leave_to_child(write).is_ok() {
                return;
            }
        }
        self.write_cache_at_exit();
    }

    /// Reads programs again that were not recorded, each in a context that goes to `after`.
    fn record_texts(&self, after: fn(Context)) {
        for source in self.texts().unrecorded() {
            if let Ok(mut context) = Context::for_recording(self) {
                context.record(&source);
                after(context);
            }
        }
    }

    /// Writes all texts that have been read, and their code, to a file that
    /// [`Config::engine_cache`](crate::Config::engine_cache) loads: as the compile policy of the engine's own cache says.
    /// Values of variables, and what belongs to the host, are not in it.
    ///
    /// It can take as long as compiling all of it. The file is signed with the user's secret,
    /// and replaced as a whole.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// use kal::{Config, Engine, EngineCache, source::Source};
    ///
    /// let cache = EngineCache::new(folder.join("engine"), folder.join("key"));
    /// let library = Source::new("library", "def cube(x) x * x * x");
    /// let start = || -> Result<_, kal::Error> {
    ///     let engine = Engine::with_config(Config::new().engine_cache(cache.clone()))?;
    ///     let mut context = engine.context()?;
    ///     let _ = context.run(&library, &mut |_, _| std::ops::ControlFlow::Continue(()));
    ///     assert_eq!(context.call("cube", &[3.0])?, 27.0);
    ///     Ok((engine, context.stats().ir_generated))
    /// };
    /// let (engine, _) = start()?;
    /// assert_eq!(engine.store(&folder.join("engine"))?.texts, 1);
    /// assert_eq!(start()?.1, 0); // nothing was compiled
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotStored`] if the engine has no engine cache, or the file cannot be written.
    pub fn store(&self, file: &Path) -> Result<StoredEngine, Error> {
        self.inner().store(file).map_err(Error::NotStored)
    }

    /// Writes the engine's cache, if there is one and its update policy says so. Dropping the
    /// last handle to an engine does so, too.
    pub fn update_engine_cache(&self) {
        self.inner().update_engine_cache();
    }
}

impl EngineInner {
    /// Writes what the engine keeps, and ends it.
    pub(crate) fn write_at_end(&self) {
        self.update_engine_cache();
        self.end();
    }

    /// Writes the engine's cache, if its update policy says so.
    fn update_engine_cache(&self) {
        let Some((engine_cache, cache)) = self.config().engine_cache.as_ref().zip(self.cache()) else {
            return;
        };
        let Some(file) = &engine_cache.store else { return };
        let is_due = match engine_cache.update {
            UpdatePolicy::Always => true,
            UpdatePolicy::NewCode => cache.store().counts().misses > 0 || cache.uses_code_of_files(),
            UpdatePolicy::NewSource => cache.has_new_text(),
            UpdatePolicy::NewRoot => self.has_new_definition(cache),
            UpdatePolicy::Never => false,
        };
        if is_due {
            // The events say what has become of it.
            let _ = self.store(file);
        }
    }

    /// Returns whether a text was read that is in no pack and defines something.
    fn has_new_definition(&self, cache: &Cache) -> bool {
        let Some(environment) = self.stored_environment() else { return false };
        let defines = |(source, items): (Source, WrittenText)| {
            let text = StoredText::new(items.bytes, &source, environment);
            text.is_ok_and(|text| text.definitions().next().is_some())
        };
        cache.new_texts(&|source, module| self.stored_text(source, module)).into_iter().any(defines)
    }

    fn store(&self, file: &Path) -> Result<StoredEngine, String> {
        let engine_cache = self.config().engine_cache.as_ref().ok_or("the engine has no engine cache")?;
        let cache = self.cache().ok_or("nothing is compiled in this mode")?;
        cache.note(CacheEvent::PreparingEngine { policy: engine_cache.compile });
        let stored = self.image(cache, engine_cache).and_then(|(image, texts, functions)| {
            let bytes = engine_cache.write(file, cache.target(), &image)?;
            Ok(StoredEngine { texts, functions, bytes })
        });
        let file = file.to_owned();
        cache.note(match &stored {
            Ok(stored) => CacheEvent::StoredEngine { file, stored: *stored },
            Err(reason) => CacheEvent::KeptEngine { file, reason: reason.clone() },
        });
        stored
    }

    /// Returns the image of an engine, with the numbers of its texts and functions.
    fn image(&self, cache: &Cache, engine_cache: &EngineCache) -> Result<(Vec<u8>, usize, usize), String> {
        let (policy, features) = (engine_cache.compile, FeatureSet::present());
        if policy != CompilePolicy::Compiled && policy != CompilePolicy::None {
            self.finish_compiling();
        }
        let parts = if policy == CompilePolicy::None { PackParts::Text } else { PackParts::All };
        let mut texts = self.packs_for_image(cache, target_of(features), parts);
        // Without a compiler nothing is optimised.
        if HAS_COMPILER && matches!(policy, CompilePolicy::Aot | CompilePolicy::Executed) {
            self.compile_ahead(cache, policy, &mut texts).map_err(|error| error.to_string())?;
        }
        let info = self.config().image_info(false);
        let functions = texts.iter().map(|text| text.functions).sum();
        let sources: Vec<_> = texts.iter().map(ImageSource::from).collect();
        let packs = texts.into_iter().map(|text| text.pack).collect();
        let count = sources.len();
        let version = WrittenVersion { features, base: None, functions, packs };
        Ok((image::write(&info, &sources, None, &[version]), count, functions))
    }

    /// Compiles programs that have been read without running them, optimised, and puts the
    /// packs of what that gives in place of those in `texts`.
    fn compile_ahead(
        &self,
        cache: &Cache,
        policy: CompilePolicy,
        texts: &mut Vec<BuiltText>,
    ) -> Result<(), Error> {
        let ahead = Engine::with_config(self.config().clone().for_image(Processor::Native))?;
        let called: Vec<String> = cache.store().called().into_iter().collect();
        for source in cache.opened_programs() {
            let mut context = Context::without_prelude(&ahead)?;
            // One that goes on from another text cannot be read alone: it keeps its code.
            if context.run_all(&source).is_err() {
                continue;
            }
            match policy {
                CompilePolicy::Executed => _ = prepare_named(&mut context, &called)?,
                _ => context.prepare_all()?,
            }
        }
        for built in ahead.packs_for_image(target_of(FeatureSet::present()), PackParts::All) {
            let is_of_same = |text: &&mut BuiltText| {
                text.module == built.module && text.source.text() == built.source.text()
            };
            match texts.iter_mut().find(is_of_same) {
                Some(text) => *text = built,
                None => texts.push(built),
            }
        }
        Ok(())
    }
}
