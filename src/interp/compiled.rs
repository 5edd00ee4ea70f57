//! The interpreter's interface to compiled code: requesting it and calling it.

use super::Interpreter;
use super::code::HotSpot;
use crate::failure::{Failure, RunFailure};
use crate::host::Output;
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

/// Compiled code, as the interpreter sees it. The caller passes the interpreter
/// along, so that compiled code can call interpreted functions.
pub trait CompiledCalls {
    /// Returns whether a call goes to compiled code.
    fn has_code(&mut self, callee: TapeCallee) -> bool;

    /// Calls a compiled function.
    ///
    /// # Errors
    /// If the run fails or is stopped.
    fn call(
        &mut self,
        interpreter: &mut Interpreter,
        callee: TapeCallee,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure>;

    /// Binds a function's name to it during a run.
    fn define(&mut self, function: &Arc<CheckedFunction>);

    /// Deoptimises a function: compiled code calls it through its trampoline
    /// again, which asks whether it is interpreted.
    fn deoptimize(&mut self, name: Name);

    /// Returns the functions of the compiled calls in progress, innermost
    /// first, from a call site outwards to where compiled code was entered.
    fn callers(&mut self, site: CallSite) -> Vec<Arc<CheckedFunction>>;

    /// Requests code for a hot spot, once.
    fn promote(&mut self, interpreter: &Interpreter, spot: &HotSpot) -> CodeStatus;

    /// Returns the status of the code that [`promote`](Self::promote)
    /// requested.
    fn code_status(&mut self, spot: &HotSpot) -> CodeStatus;

    /// Enters OSR code at a loop header. The arguments are the function's
    /// locals, then the values that are live across the loop.
    ///
    /// # Errors
    /// If the run fails or is stopped.
    fn enter_osr(
        &mut self,
        interpreter: &mut Interpreter,
        spot: &HotSpot,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure>;
}

/// A context in which everything is interpreted.
pub struct NoCompiledCode;

impl CompiledCalls for NoCompiledCode {
    fn define(&mut self, _: &Arc<CheckedFunction>) {}

    fn deoptimize(&mut self, _: Name) {}

    fn callers(&mut self, _: CallSite) -> Vec<Arc<CheckedFunction>> {
        Vec::new()
    }

    fn has_code(&mut self, _: TapeCallee) -> bool {
        false
    }

    fn call(
        &mut self,
        _: &mut Interpreter,
        callee: TapeCallee,
        arguments: &[f64],
        _: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        let passed = arguments.len() as u32;
        Err(Failure::Undefined { callee: callee.name, passed, caller: None }.into())
    }

    fn promote(&mut self, _: &Interpreter, _: &HotSpot) -> CodeStatus {
        CodeStatus::Never
    }

    fn code_status(&mut self, _: &HotSpot) -> CodeStatus {
        CodeStatus::Never
    }

    fn enter_osr(
        &mut self,
        _: &mut Interpreter,
        _: &HotSpot,
        _: &[f64],
        _: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        Err(Failure::internal("tapes enter compiled code that is not there").into())
    }
}
