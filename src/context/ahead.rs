//! Compiling programs that are not run, to become parts of images.

use super::{Context, Error};
use crate::failure::Failure;
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl Context {
    /// Compiles an expression, and what it calls, in place of running it. What is too large to
    /// be compiled stays in the interpreter.
    pub(super) fn compile_ahead(&mut self, expression: &Arc<CheckedFunction>) -> Result<(), Error> {
        self.backend.admit(&self.engine, expression)?;
        self.adopt_aliases(expression);
        self.prepare_reached(expression)?;
        if self.engine.is_too_large(expression) {
            return Ok(());
        }
        self.backend.prepare_expression(expression).map_err(|failure| self.failed(&failure))
    }

    /// Compiles a function and what it calls, and waits for it.
    ///
    /// # Errors
    /// [`Error::NoFunction`], and the first that cannot be compiled.
    pub(crate) fn prepare_with_callees(&mut self, name: &str) -> Result<(), Error> {
        let function = self.name_of(name).and_then(|name| self.world.function(name)).cloned();
        let function = function.ok_or_else(|| Error::NoFunction(name.to_owned()))?;
        self.prepare_reached(&function)
    }

    /// Compiles the functions of these names that the host may call without a context, in whatever
    /// floating-point environment, if that is compiled for processors with AVX-512; and waits for them.
    ///
    /// # Errors
    /// The first that cannot be compiled.
    pub(crate) fn prepare_exports(&mut self, names: &[String]) -> Result<(), Error> {
        let exported: FxHashSet<Name> = names.iter().filter_map(|name| self.name_of(name)).collect();
        let prepared = self.backend.prepare_exports(&|name| exported.contains(&name));
        prepared.map_err(|failure| self.failed(&failure))
    }

    /// Compiles a function, if it has a name, and all that it calls, and waits for it.
    fn prepare_reached(&mut self, first: &Arc<CheckedFunction>) -> Result<(), Error> {
        let (mut reached, mut waiting) = (FxHashSet::<Name>::default(), vec![first.clone()]);
        while let Some(function) = waiting.pop() {
            if !reached.insert(function.name) {
                continue;
            }
            waiting.extend(function.calls().filter_map(|(name, _)| self.world.function(name)).cloned());
        }
        let prepared: Result<(), Failure> = self.backend.prepare_those(&|name| reached.contains(&name));
        prepared.map_err(|failure| self.failed(&failure))
    }
}
