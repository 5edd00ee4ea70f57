//! The compiler of an engine.

use super::{Engine, EngineInner};
use crate::cache::{BuiltText, Cache, CheckedTexts, FindLinks, PackParts, StoredForm, WrittenPack};
use crate::codegen;
use crate::config::{Mode, WORKER_STACK};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::jit::{self, Jit};
use crate::name::Name;
use crate::pack::links::CodeLinks;
use crate::pack::origin::CodeOrigin;
use crate::sema::checked::CheckedFunction;
use crate::source::Source;
use crate::tier::TierUp;
use crate::world::{StoredText, WrittenText};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

const _: () = assert!(codegen::STACK <= WORKER_STACK);

impl Engine {
    /// Starts the compiler on another thread, so that it is ready when it is
    /// first needed.
    pub fn warm_up() {
        jit::warm_up();
    }

    /// Returns the version of LLVM, as `22.1.0`; `None` without the feature
    /// `compiler`.
    pub fn llvm_version() -> Option<String> {
        codegen::llvm_version()
    }

    /// Checks that the compiler is there, if all functions are to be compiled.
    pub(super) fn check_mode(mode: Mode) -> Result<(), Error> {
        if codegen::HAS_COMPILER || mode != Mode::Eager {
            return Ok(());
        }
        let message =
            "the mode Eager needs the compiler, but this build of Kal has none (feature `compiler`)";
        Err(Error::NoCompiler(message.to_owned()))
    }

    pub(super) fn new_jit(&self) -> Result<Arc<Jit>, Error> {
        let shared = &*self.0;
        let options = jit::JitOptions {
            code: codegen::CompileOptions {
                level: shared.config.level,
                counts_fuel: shared.config.limits.fuel.is_some(),
                processor: shared.config.processor,
                rounds_statically: shared.config.rounds_statically,
            },
            tier_up: match shared.config.mode {
                Mode::Lazy | Mode::Tiered => shared.config.tier_up,
                Mode::Eager | Mode::Interpret => TierUp::Never,
            },
            // They mostly run once.
            expression_tier_up: shared.config.tier_up,
            waits_for_code: shared.config.waits_for_code,
            workers: shared.config.workers,
            shards: shared.config.shards,
            only_clones: shared.config.only_clones,
            stack: shared.config.worker_stack,
            perf_map: shared.config.perf_map,
            debug_objects: shared.config.debug_objects,
            compile_observer: shared.config.compile_observer.clone(),
            most_operations: shared.config.limits.max_compiled_operations.min(codegen::LARGEST),
        };
        let EngineInner { names, hosts, variables, budget, cache, .. } = shared;
        let store = cache.as_ref().map(|cache| cache.store().clone()).unwrap_or_default();
        Jit::new(names.clone(), hosts.clone(), variables.clone(), budget.clone(), store, options)
            .map_err(|error| Error::NoCompiler(error.to_string()))
    }
}

impl EngineInner {
    /// Writes the texts that `text` returns and the code that has been compiled to a cache.
    /// What was written goes to `after`.
    pub(super) fn write_packs(&self, cache: &Cache, text: CheckedTexts<'_>, after: fn(WrittenPack)) {
        cache.write(text, &|source, stored, made| self.links(source, stored, &|_| None, made), after);
    }

    /// Returns packs of all texts that were read, with the code that was made for that
    /// target, to become an image.
    pub(crate) fn packs_for_image(
        &self,
        cache: &Cache,
        target: Fingerprint,
        parts: PackParts,
    ) -> Vec<BuiltText> {
        let text: CheckedTexts<'_> = &|source, module| self.stored_text(source, module);
        let links: FindLinks<'_> = &|source, stored, made| self.links(source, stored, &|_| None, made);
        cache.packs_for_image(target, parts, text, links)
    }

    /// Waits until nothing is being compiled in the background.
    pub(crate) fn finish_compiling(&self) {
        if let Some(jit) = self.jit.get() {
            jit.finish();
        }
    }

    /// Adds to bytes a pack of the script of a session, which was checked as these items, with the
    /// code of these functions.
    pub(super) fn session(
        &self,
        cache: &Cache,
        script: &Source,
        text: WrittenText,
        functions: &[Arc<CheckedFunction>],
        bytes: &mut Vec<u8>,
    ) -> Result<(), String> {
        let present: FxHashMap<Name, &Arc<CheckedFunction>> =
            functions.iter().map(|function| (function.name, function)).collect();
        let is_present = |origin: &CodeOrigin| {
            let function = self.names.get(&origin.name).and_then(|name| present.get(&name));
            function.is_some_and(|function| {
                origin.function == function.fingerprint(&self.names)
                    || origin.function == function.shape(&self.names)
            })
        };
        let present = |name: Name| present.get(&name).copied();
        let links: FindLinks<'_> = &|source, stored, made| self.links(source, stored, &present, made);
        cache.pack_session(script, text, &is_present, links, bytes)
    }

    /// Returns what of the code of these names and identities is that of definitions of a
    /// text. What it defines may be `known` with its identity.
    fn links<'f>(
        &self,
        source: &Source,
        stored: StoredForm,
        known: &dyn Fn(Name) -> Option<&'f Arc<CheckedFunction>>,
        made: &mut dyn Iterator<Item = (&str, Fingerprint)>,
    ) -> Option<CodeLinks> {
        let (jit, environment) = self.jit.get().zip(self.environment.as_ref())?;
        let read_as = |bytes| StoredText::new(bytes, source, environment).ok();
        let (text, written) = match stored {
            StoredForm::New(text) => (read_as(text.bytes.clone())?.into(), Some(text)),
            StoredForm::Old(bytes) => (read_as(bytes)?.into(), None),
            StoredForm::Edited => (self.texts.find(source)?.stored().filter(|text| text.is_edited())?, None),
        };
        let decoded = RefCell::new(FxHashMap::default());
        let find = |name: Name| -> Option<(usize, Arc<CheckedFunction>)> {
            let item = text.find(&self.names.text(name))?;
            let present = written.as_ref().and_then(|written| written.function(item));
            let same =
                |written: &CheckedFunction| known(name).filter(|known| known.is_numbered_like(written));
            let present = present.map(|written| same(&written).cloned().unwrap_or(written));
            if let Some(function) = present.or_else(|| decoded.borrow().get(&item).cloned()) {
                return Some((item, function));
            }
            let function = text.checked_item(item).ok()?.function()?.clone();
            decoded.borrow_mut().insert(item, function.clone());
            Some((item, function))
        };
        jit.links(&text, &find, made)
    }
}

#[cfg(all(test, feature = "compiler"))]
mod tests {
    use super::*;

    #[test]
    fn code_counts_whoever_else_made_a_compiler() {
        let engine = Engine::new().expect("an engine starts");
        drop(engine.new_jit().expect("a compiler that comes too late"));
        let mut context = engine.context().expect("a context starts");
        assert_eq!(context.eval("def f(x) x + 1; f(1)").expect("it runs"), Some(2.0));
        let (code, most) = (context.stats().code_bytes, engine.budget().limit());
        assert!(code > 0);
        assert_eq!((engine.budget().fits(most - code), engine.budget().fits(most - code + 1)), (true, false));
    }
}
