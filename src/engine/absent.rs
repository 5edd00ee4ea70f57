//! The compiler of an engine, in a build without one.

use super::{Engine, EngineInner};
use crate::cache::{Cache, CheckedTexts};
use crate::config::Mode;
use crate::error::Error;
use crate::jit::Jit;
use crate::sema::checked::CheckedFunction;
use crate::source::Source;
use std::sync::Arc;

/// Returns the error for work that needs the compiler.
fn missing(what: &str) -> Error {
    Error::NoCompiler(format!(
        "{what} needs the compiler, but this build of Kal has none (feature `compiler`)"
    ))
}

impl Engine {
    /// Starts the compiler on another thread, so that it is ready when it is
    /// first needed. Without the feature `compiler`, does nothing.
    pub fn warm_up() {}

    /// Returns the version of LLVM, as `22.1.0`; `None` without the feature
    /// `compiler`.
    pub fn llvm_version() -> Option<String> {
        None
    }

    /// Checks that the compiler is there, if programs are to be compiled.
    pub(super) fn check_mode(mode: Mode) -> Result<(), Error> {
        match mode {
            Mode::Interpret => Ok(()),
            Mode::Lazy | Mode::Eager | Mode::Tiered => Err(missing(&format!("the mode {mode:?}"))),
        }
    }

    pub(super) fn new_jit(&self) -> Result<Arc<Jit>, Error> {
        Err(missing("machine code"))
    }
}

impl EngineInner {
    pub(super) fn write_packs(&self, cache: &Cache, text: CheckedTexts<'_>) {
        cache.write(text);
    }

    pub(super) fn session(
        &self,
        _: &Cache,
        _: &Source,
        _: Vec<u8>,
        _: &[Arc<CheckedFunction>],
    ) -> Result<Vec<u8>, String> {
        Err("this build of Kal has no compiler".into())
    }
}
