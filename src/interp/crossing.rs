//! The crossing between the tiers: what interpreted and compiled code of one
//! run ask of each other.
//!
//! The interpreter knows the compiled tier as a trait, to request code and to
//! call it. Compiled code is lent the interpreter, with that trait for the way
//! back.

use super::Interpreter;
use super::code::HotSpot;
use crate::failure::RunFailure;
use crate::host::Outside;
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use crate::tape::TapeCallee;
use std::sync::Arc;

/// Where compiled code has called an interpreted function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallSite {
    /// An address in the code.
    pub address: usize,
    /// Its frame pointer.
    pub frame: usize,
}

/// The compilation status of a hot spot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeStatus {
    /// It can be entered.
    Ready,
    /// It is being compiled.
    Busy,
    /// It was requested, but is not being compiled any more: it can be requested
    /// again.
    Lost,
    /// It will not be compiled.
    Never,
}

/// The compiled tier, as the interpreter sees it. The interpreter passes itself
/// along, so that compiled code can call interpreted functions.
pub trait CompiledTier {
    /// Returns whether a call goes to compiled code.
    fn has_code(&self, callee: TapeCallee) -> bool;

    /// Calls a compiled function.
    ///
    /// # Errors
    /// If the run fails or is stopped.
    fn call(
        &self,
        interpreter: &mut Interpreter,
        callee: TapeCallee,
        arguments: &[f64],
        outside: &mut Outside,
    ) -> Result<f64, RunFailure>;

    /// Binds a function's name to it during a run.
    fn define(&self, function: &Arc<CheckedFunction>);

    /// Deoptimises a function: compiled code calls it through its trampoline
    /// again, which asks whether it is interpreted.
    fn deoptimize(&self, name: Name);

    /// Returns the functions of the compiled calls in progress, innermost
    /// first, from a call site outwards to where compiled code was entered.
    fn callers(&self, site: CallSite) -> Vec<Arc<CheckedFunction>>;

    /// Calls a function whose code needs no run; `None`, without effect, if it may need one, or
    /// has not been called through [`call`](Self::call) before.
    fn call_context_free(&self, callee: TapeCallee, arguments: &[f64]) -> Option<f64>;

    /// Requests code for a hot spot, once.
    fn promote(&self, interpreter: &Interpreter, spot: &HotSpot) -> CodeStatus;

    /// Returns the status of the code that [`promote`](Self::promote)
    /// requested.
    fn code_status(&self, spot: &HotSpot) -> CodeStatus;

    /// Enters OSR code at a loop header. The arguments are the function's
    /// locals, then the values that are live across the loop.
    ///
    /// # Errors
    /// If the run fails or is stopped.
    fn enter_osr(
        &self,
        interpreter: &mut Interpreter,
        spot: &HotSpot,
        arguments: &[f64],
        outside: &mut Outside,
    ) -> Result<f64, RunFailure>;
}

/// The compiled tier of a run; `None` if everything is interpreted.
pub type Crossing<'a> = Option<&'a dyn CompiledTier>;

/// The interpreter, lent to a run of compiled code.
pub struct InterpretedTier<'a> {
    /// The interpreter of the context.
    pub interpreter: &'a mut Interpreter,
    /// How the interpreter gets back to compiled code.
    pub compiled: &'a dyn CompiledTier,
    /// Whether functions are interpreted until they have code.
    pub comes_first: bool,
}

impl InterpretedTier<'_> {
    /// Returns whether calls of a function are interpreted; `has_code` if it is
    /// compiled.
    pub fn takes(&self, name: Name, has_code: bool) -> bool {
        self.interpreter.holds(name) || (self.comes_first && !has_code)
    }

    /// Calls a function, from a call site in compiled code.
    ///
    /// # Errors
    /// If the run fails or is stopped.
    pub fn call(
        &mut self,
        site: CallSite,
        name: Name,
        arguments: &[f64],
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        self.interpreter.call_from(site, name, arguments, self.compiled, outside)
    }
}
