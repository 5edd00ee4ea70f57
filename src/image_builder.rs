//! Making images: a program and its modules are checked, and compiled without being run.

use crate::cache::PackParts;
use crate::codegen::HAS_COMPILER;
use crate::config::{Config, Mode};
use crate::context::Context;
use crate::engine::Engine;
use crate::error::Error;
use crate::host::lanes::name_in_kal_math;
use crate::image::{ImageSource, WrittenVersion, target_of, write};
use crate::image_target::ImageTarget;
use crate::name::Names;
use crate::prelude::Prelude;
use crate::processor::{FeatureSet, Processor};
use crate::source::Source;
use crate::syntax::lexer::lex;
use kal_math::{BinaryFunction, UnaryFunction};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Makes an image of programs and the modules that they import. Nothing of them is run:
/// what they would call is compiled, for each kind of processor.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use kal::{Config, Engine, Image, ImageBuilder, Wanted, source::Source};
///
/// let program = Source::new("area.kal", "def area(r) pi * r * r; area(2)");
/// let built = ImageBuilder::new(Config::new()).build(&[program.clone()], Wanted::Reached)?;
///
/// // SAFETY: it was just made.
/// let image = unsafe { Image::from_bytes("area", built.bytes)? };
/// let engine = Engine::with_config(Config::new().image(image))?;
/// let mut context = engine.context()?;
/// let _ = context.run(&program, &mut |_, _| std::ops::ControlFlow::Continue(()));
/// assert_eq!(context.stats().ir_generated, 0); // nothing was compiled
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ImageBuilder {
    config: Config,
    targets: Vec<ImageTarget>,
    is_program: bool,
    prelude: Option<Source>,
    exports: Vec<String>,
}

/// Which functions of an image are compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted<'a> {
    /// What expressions of the programs call, and what that calls.
    Reached,
    /// The same, and all that is defined at the end.
    All,
    /// What expressions call, and the functions of these names, as in a trace, with what they
    /// call.
    Named(&'a [String]),
}

/// An image that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BuiltImage {
    /// The image.
    pub bytes: Vec<u8>,
    /// Its versions, in the order of the processors.
    pub versions: Vec<BuiltVersion>,
    /// The names of the texts in it, of sources and of modules: mostly their files.
    pub texts: Vec<String>,
    /// The names that were wanted and are not defined.
    pub unknown: Vec<String>,
    sources: Vec<Source>,
}

impl BuiltImage {
    /// Returns the functions of `kal-math` that the texts may call.
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only the command asks"))]
    pub(crate) fn mathematics(&self) -> BTreeSet<&'static str> {
        self.sources.iter().flat_map(mathematics_in).collect()
    }
}

/// What was compiled for a kind of processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BuiltVersion {
    /// The processors.
    pub features: FeatureSet,
    /// The number of functions and expressions that have code, apart from those of its base.
    pub functions: usize,
    /// The size of the packs in bytes.
    pub bytes: usize,
}

impl ImageBuilder {
    /// Creates a builder of images for every x86-64 processor. Level, limits, host functions
    /// and folders are those of `config`; engines that use the image need the same.
    pub fn new(config: Config) -> Self {
        Self { config, targets: Vec::new(), is_program: false, prelude: None, exports: Vec::new() }
    }

    /// Adds a kind of processor, for which all functions are compiled, to those that were added
    /// before.
    #[must_use]
    pub fn processor(self, processor: Processor) -> Self {
        self.target(ImageTarget::complete(processor))
    }

    /// Adds a target to those that were added before. There is one version for each kind of
    /// processor, with all functions if one of the targets that name it has all.
    #[must_use]
    pub fn target(mut self, target: ImageTarget) -> Self {
        let target = ImageTarget { processor: Processor::Portable(target.features()), ..target };
        self.targets.push(target);
        self
    }

    /// Sets whether the first source is a program that an executable runs.
    #[must_use]
    pub fn is_program(mut self, is_program: bool) -> Self {
        self.is_program = is_program;
        self
    }

    /// Sets in how many parts, at least, the functions of a program are compiled, which threads
    /// share; one for each thread by default. The image does not depend on it: many parts keep
    /// all threads busy to the end, and each part takes memory for as long as it is compiled.
    #[must_use]
    pub fn shards(mut self, shards: usize) -> Self {
        self.config.shards = Some(shards.max(1));
        self
    }

    /// Sets a program that runs now, so that contexts begin with its definitions, all of them
    /// compiled, and the values of its variables. The sources are read after it.
    ///
    /// It may neither write, read, ask for the time or random numbers, nor call functions of
    /// the host, so that nothing of this process is in the image. If host functions, limits or
    /// the modules that it imports are others where the image is used, it runs there;
    /// [`Context::beginning`] says so.
    #[must_use]
    pub fn prelude(mut self, source: Source) -> Self {
        self.prelude = Some(source);
        self
    }

    /// Sets the functions that a host calls as machine code, if they need no context. They are compiled
    /// for processors that can compute them in whatever floating-point environment, even if nothing else
    /// is gained there.
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only the command exports"))]
    pub(crate) fn exports(mut self, names: &[String]) -> Self {
        self.exports = names.to_vec();
        self
    }

    /// Makes an image of sources, each a program of its own.
    ///
    /// # Errors
    /// [`Error::NoCompiler`] in a build without one; what is wrong with the sources; the
    /// failure of the [prelude](Self::prelude), and what
    /// compiling their functions fails with, but for functions that are too large: those stay
    /// in the interpreter.
    pub fn build(&self, sources: &[Source], wanted: Wanted<'_>) -> Result<BuiltImage, Error> {
        if !HAS_COMPILER {
            return Err(Error::NoCompiler(
                "an image needs the compiler, but this build of Kal has none".into(),
            ));
        }
        let every = [ImageTarget::complete(Processor::Portable(FeatureSet::default()))];
        let targets = if self.targets.is_empty() { &every[..] } else { &self.targets };
        let targets = ImageTarget::versions(targets)?;
        let prelude =
            self.prelude.as_ref().map(|source| self.run_prelude(source).map(Arc::new)).transpose()?;
        let (mut texts, mut versions, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for (features, base) in targets {
            let mut config = self.config.clone().for_image(Processor::Portable(features));
            config.only_clones = base.is_some();
            config.rounds_statically = !self.exports.is_empty();
            if prelude.is_some() {
                config.prelude.clone_from(&prelude);
            }
            let engine = Engine::with_config(config)?;
            if prelude.is_some() {
                engine.context()?.prepare_all()?;
            }
            let exports: &[String] = if features.has("avx512f") { &self.exports } else { &[] };
            unknown = prepare(&engine, sources, wanted, exports)?;
            let parts = if base.is_some() { PackParts::Code } else { PackParts::All };
            let mut packed = engine.packs_for_image(target_of(features), parts);
            if prelude.is_some() {
                // It was read first, and stands last.
                packed.rotate_left(1);
            }
            let functions = packed.iter().map(|text| text.functions).sum();
            texts = packed.iter().map(ImageSource::from).collect();
            let packs: Vec<_> = packed.into_iter().map(|text| text.pack).collect();
            versions.push(WrittenVersion { features, base, functions, packs });
        }
        let info = self.config.image_info(self.is_program);
        let bytes = write(&info, &texts, prelude.as_ref().map(|prelude| &prelude.snapshot), &versions);
        let version = |version: &WrittenVersion| BuiltVersion {
            features: version.features,
            functions: version.functions,
            bytes: version.packs.iter().map(Vec::len).sum(),
        };
        let names = texts.iter().map(|text| text.source.name().to_owned()).collect();
        let versions = versions.iter().map(version).collect();
        let sources = texts.into_iter().map(|text| text.source).collect();
        Ok(BuiltImage { bytes, versions, texts: names, unknown, sources })
    }

    /// Runs a prelude. Returns it with what it has left.
    fn run_prelude(&self, source: &Source) -> Result<Prelude, Error> {
        let engine = Engine::with_config(self.config.clone().mode(Mode::Lazy).for_prelude())?;
        let mut context = engine.context()?;
        context.run_all(source)?;
        Ok(Prelude { source: source.clone(), snapshot: context.snapshot() })
    }
}

/// Reads sources, each in a context of its own, and compiles what is wanted, and these exports. Returns
/// the names that are wanted and not defined.
fn prepare(
    engine: &Engine,
    sources: &[Source],
    wanted: Wanted<'_>,
    exports: &[String],
) -> Result<Vec<String>, Error> {
    let mut unknown: Option<Vec<String>> = None;
    for source in sources {
        let mut context = engine.context()?;
        context.run_all(source)?;
        if !exports.is_empty() {
            context.prepare_exports(exports)?;
        }
        match wanted {
            Wanted::Reached => {}
            Wanted::All => context.prepare_all()?,
            Wanted::Named(names) => {
                let missing = prepare_named(&mut context, names)?;
                unknown = Some(match unknown {
                    // One that another program defines is known.
                    Some(unknown) => unknown.into_iter().filter(|name| missing.contains(name)).collect(),
                    None => missing,
                });
            }
        }
    }
    Ok(unknown.unwrap_or_default())
}

/// Compiles the functions of these names, with what they call. Returns the names that are not
/// defined.
pub(crate) fn prepare_named(context: &mut Context, names: &[String]) -> Result<Vec<String>, Error> {
    let (known, unknown): (Vec<_>, Vec<_>) =
        names.iter().cloned().partition(|name| context.state(name).is_some());
    known.iter().try_for_each(|name| context.prepare_with_callees(name))?;
    Ok(unknown)
}

/// Returns the functions of `kal-math` that a text may call: by name, or `pow` by the operator `^`.
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only the command asks"))]
fn mathematics_in(source: &Source) -> Vec<&'static str> {
    let names = Names::new();
    let called: Option<HashSet<String>> = lex(source, &names).ok().map(|tokens| {
        let word = |token| {
            let text = names.text(tokens.name(token));
            name_in_kal_math(text.rsplit('.').next().unwrap_or(&text)).to_owned()
        };
        let terminals = tokens.terminals().iter().enumerate();
        let named = terminals.filter(|(_, terminal)| terminal.is_name() || terminal.is_operator());
        named.map(|(token, _)| word(token)).collect()
    });
    let unary = UnaryFunction::ALL.iter().map(|function| function.name());
    let all = unary.chain(BinaryFunction::ALL.iter().map(|function| function.name()));
    // A text that cannot be read may call all of them.
    all.filter(|name| called.as_ref().is_none_or(|called| called.contains(*name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mathematics_are_found_by_name_and_operator() {
        let found = |text| mathematics_in(&Source::new("p.kal", text));
        assert_eq!(found("def sine(x) x # as sin\n1 + 1"), [""; 0]);
        assert_eq!(found("import math\nmath.sin(2) + cosh(3)"), ["cosh", "sin"]);
        assert_eq!(found("2 ^ 0.3 + ln(3)"), ["log", "pow"]);
        // An operator that is a letter for others.
        assert_eq!(found("1 Ⓐsin(2)"), ["sin"]);
    }
}
