//! The JIT in a build without the compiler: there is none.
//!
//! Stands for the module `jit`, with the same names. Nothing here can be
//! created, so no method has anything to do; the back ends above need not know
//! which of the two they were built with.

use crate::budget::ContextBudget;
use crate::failure::{Failure, RunFailure};
use crate::host::Outside;
use crate::interp::{CallSite, InterpretedTier};
use crate::name::Name;
use crate::runtime::{CallArguments, ExecutionMemory};
use crate::sema::checked::CheckedFunction;
use crate::status::{Observer, State};
use crate::stop::StopHandle;
use crate::tape::CountedLoop;
use crate::tier::Tier;
use crate::world::Layer;
use std::sync::Arc;

/// A type without values.
#[derive(Clone, Copy)]
enum Never {}

/// The JIT of one engine.
pub struct Jit(Never);

/// The JIT's part of one context.
pub struct JitContext(Never);

/// Where calls of a function lead: to its name, which the interpreter looks up.
#[derive(Clone)]
pub struct HeldSlot(Name);

/// A definition that the JIT knows.
#[derive(Clone)]
pub struct DefinitionHandle(Never);

/// Bindings that several contexts use.
#[derive(Clone)]
pub struct SharedBindings(Never);

/// Shared bindings that belong to their contexts.
pub struct WeakBindings(Never);

impl SharedBindings {
    pub fn downgrade(&self) -> WeakBindings {
        match self.0 {}
    }
}

impl WeakBindings {
    pub fn upgrade(&self) -> Option<SharedBindings> {
        match self.0 {}
    }
}

/// A compiled function without a name.
pub struct CompiledFormula(Never);

/// Compiled code for the rest of a function.
pub struct OsrCode(Never);

/// A form in which compiled functions can be listed.
#[derive(Clone, Copy)]
pub enum Listing {
    Ir,
    Assembly,
    #[cfg(feature = "cli")]
    Object,
}

impl Jit {
    pub fn register_code_size(self: &Arc<Self>) {
        match self.0 {}
    }

    pub fn perf_map_failure(&self) -> Option<&str> {
        match self.0 {}
    }

    pub fn usage(&self) -> (usize, usize, usize) {
        match self.0 {}
    }

    pub fn close(&self) {
        match self.0 {}
    }

    pub fn listing(
        self: &Arc<Self>,
        _: Listing,
        _: Vec<(Arc<CheckedFunction>, String)>,
        _: &dyn Fn(Name) -> bool,
        _: &StopHandle,
    ) -> Result<Vec<u8>, Failure> {
        match self.0 {}
    }
}

impl DefinitionHandle {
    pub fn function(&self) -> &Arc<CheckedFunction> {
        match self.0 {}
    }

    pub fn tier(&self) -> Option<Tier> {
        match self.0 {}
    }

    pub fn code_bytes(&self) -> u64 {
        match self.0 {}
    }
}

impl OsrCode {
    pub fn is_ready(&self) -> bool {
        match self.0 {}
    }

    pub fn is_lost(&self) -> bool {
        match self.0 {}
    }

    pub fn has_failed(&self) -> bool {
        match self.0 {}
    }
}

impl JitContext {
    pub fn new(jit: &Arc<Jit>, _: Arc<ExecutionMemory>, _: usize, _: Arc<ContextBudget>) -> Self {
        match jit.0 {}
    }

    pub fn budget(&self) -> &Arc<ContextBudget> {
        match self.0 {}
    }

    pub fn memory(&self) -> &Arc<ExecutionMemory> {
        match self.0 {}
    }

    pub fn define(&self, _: Arc<CheckedFunction>) {
        match self.0 {}
    }

    pub fn rebind(&self, _: &DefinitionHandle) {
        match self.0 {}
    }

    pub fn reset(&self) {
        match self.0 {}
    }

    pub fn share(&self) -> Option<SharedBindings> {
        match self.0 {}
    }

    pub fn adopt(&self, _: &SharedBindings) -> bool {
        match self.0 {}
    }

    pub fn is_observed(&self) -> bool {
        match self.0 {}
    }

    pub fn put_below(&self, _: &Arc<Layer>) -> bool {
        match self.0 {}
    }

    pub fn drop_binding(&self, _: Name) {
        match self.0 {}
    }

    pub fn bound(&self, _: Name) -> Option<DefinitionHandle> {
        match self.0 {}
    }

    pub fn observe(&self, _: Option<Observer>) {
        match self.0 {}
    }

    pub fn declare(&self, _: Name, _: Option<u32>) {
        match self.0 {}
    }

    pub fn state(&self, _: Name) -> Option<State> {
        match self.0 {}
    }

    pub fn states(&self) -> Vec<State> {
        match self.0 {}
    }

    pub fn functions(&self) -> Vec<Arc<CheckedFunction>> {
        match self.0 {}
    }

    pub fn prepare(&self, _: Name) -> Result<(), Failure> {
        match self.0 {}
    }

    pub fn prepare_soon(&self, _: Name) -> Result<(), Failure> {
        match self.0 {}
    }

    pub fn submit(&self) -> Result<(), Failure> {
        match self.0 {}
    }

    pub fn prepare_all(&self) -> Result<(), Failure> {
        match self.0 {}
    }

    pub fn run(
        &self,
        _: &Arc<CheckedFunction>,
        _: &mut Outside,
        _: Option<InterpretedTier<'_>>,
    ) -> Result<f64, RunFailure> {
        match self.0 {}
    }

    pub fn formula(&self, _: &Arc<CheckedFunction>) -> Result<CompiledFormula, Failure> {
        match self.0 {}
    }

    pub fn run_formula(
        &self,
        _: &CompiledFormula,
        _: &[f64],
        _: &mut Outside,
        _: Option<InterpretedTier<'_>>,
    ) -> Result<f64, RunFailure> {
        match self.0 {}
    }

    pub fn has_code(&self, _: Name, _: u32) -> bool {
        match self.0 {}
    }

    pub fn is_bound(&self, _: Name, _: u32) -> bool {
        match self.0 {}
    }

    pub fn deoptimize(&self, _: Name) {
        match self.0 {}
    }

    pub fn inspect(&self) {
        match self.0 {}
    }

    pub fn promote(&self, _: Name, _: bool) -> Result<(), Failure> {
        match self.0 {}
    }

    pub fn is_queued(&self, _: Name) -> bool {
        match self.0 {}
    }

    pub fn compile_osr(
        &self,
        _: &Arc<CheckedFunction>,
        _: &CountedLoop,
        _: bool,
    ) -> Result<Arc<OsrCode>, Failure> {
        match self.0 {}
    }

    pub fn enter_osr(
        &self,
        _: &OsrCode,
        _: &[f64],
        _: &mut Outside,
        _: Option<InterpretedTier<'_>>,
    ) -> Result<f64, RunFailure> {
        match self.0 {}
    }

    /// Returns the place where calls of a function lead.
    pub fn slot(&self, name: Name, _: u32) -> Result<HeldSlot, Failure> {
        Ok(HeldSlot(name))
    }

    /// Calls a function. Nothing is compiled, so the interpreter runs it.
    pub fn call(
        &self,
        HeldSlot(name): &HeldSlot,
        arguments: CallArguments<'_>,
        outside: &mut Outside,
        interpreted: Option<InterpretedTier<'_>>,
    ) -> Result<f64, RunFailure> {
        let (site, arguments) = (CallSite { address: 0, frame: 0 }, arguments.as_slice());
        match interpreted {
            Some(mut tier) if tier.takes(*name, false) => tier.call(site, *name, arguments, outside),
            Some(_) | None => {
                let passed = arguments.len() as u32;
                Err(Failure::Undefined { callee: *name, passed, caller: None }.into())
            }
        }
    }

    /// Calls the function that a name is bound to.
    pub fn call_by_name(
        &self,
        name: Name,
        arguments: CallArguments<'_>,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        self.call(&HeldSlot(name), arguments, outside, None)
    }

    pub fn callers(&self, _: usize, _: usize) -> Vec<Arc<CheckedFunction>> {
        match self.0 {}
    }
}
