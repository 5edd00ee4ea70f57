//! What tapes know of compiled code: that somebody makes it and calls it.

use super::Interpreter;
use super::inspect::CallSite;
use crate::failure::{Failure, RunFailure};
use crate::host::Output;
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use crate::tape::{CountedLoop, TapeCallee};
use std::sync::Arc;

/// A function, or a loop of one, that has been run so often that compiled
/// code would pay.
#[derive(Clone, Debug)]
pub struct HotSpot {
    /// The function.
    pub function: Arc<CheckedFunction>,
    /// The loop, if it is one.
    pub counted: Option<CountedLoop>,
}

/// How far the compiled code of a spot is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeStatus {
    /// It can be run.
    Ready,
    /// It is being made.
    Busy,
    /// There will be none.
    Never,
}

/// Compiled code, as tapes see it. Whoever calls it lends the interpreter
/// along, so that it can call functions on tapes in turn.
pub trait CompiledCalls {
    /// Whether calls of this go to compiled code.
    fn has_code(&mut self, callee: TapeCallee) -> bool;

    /// Calls it.
    ///
    /// # Errors
    /// Why it did not run to its end.
    fn call(
        &mut self,
        interpreter: &mut Interpreter,
        callee: TapeCallee,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure>;

    /// A function is bound to its name while something runs.
    fn define(&mut self, function: &Arc<CheckedFunction>);

    /// Compiled code is to call that function through the bindings again, and
    /// so to ask whether it runs on its tape.
    fn deoptimize(&mut self, name: Name);

    /// The calls of compiled code in progress, from a call of a tape outwards to
    /// where the code was entered.
    fn callers(&mut self, site: CallSite) -> Vec<Arc<CheckedFunction>>;

    /// Something is hot: has its code made, if nobody has.
    fn promote(&mut self, interpreter: &Interpreter, spot: &HotSpot) -> CodeStatus;

    /// How far the code is that [`promote`](Self::promote) has asked for.
    fn code_status(&mut self, spot: &HotSpot) -> CodeStatus;

    /// Runs the rest of a function from the beginning of a round of a loop on.
    /// The arguments are its locals and the values that wait for the loop.
    ///
    /// # Errors
    /// Why it did not run to its end.
    fn enter_osr(
        &mut self,
        interpreter: &mut Interpreter,
        spot: &HotSpot,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure>;
}

/// No compiled code at all.
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
        Err(Failure::System("no compiled code".into()).into())
    }
}
