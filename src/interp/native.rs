//! What tapes know of compiled code: that somebody makes it and calls it.

use super::Interpreter;
use super::inspect::CallSite;
use crate::failure::{Failure, RunFailure};
use crate::host::Output;
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use crate::tape::{Callee, Loop};
use std::sync::Arc;

/// A function, or a loop of one, that has been run so often that compiled
/// code would pay.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The function.
    pub function: Arc<CheckedFunction>,
    /// The loop, if it is one.
    pub counted: Option<Loop>,
}

/// How far the compiled code of a spot is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// It can be run.
    Ready,
    /// It is being made.
    Busy,
    /// There will be none.
    Never,
}

/// Compiled code, as tapes see it. Whoever calls it lends the interpreter
/// along, so that it can call functions on tapes in turn.
pub trait Natives {
    /// Whether calls of this go to compiled code.
    fn takes(&mut self, callee: Callee) -> bool;

    /// Calls it.
    ///
    /// # Errors
    /// Why it did not run to its end.
    fn call(
        &mut self,
        interpreter: &mut Interpreter,
        callee: Callee,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure>;

    /// A function is bound to its name while something runs.
    fn define(&mut self, function: &Arc<CheckedFunction>);

    /// Compiled code is to call that function through the bindings again, and
    /// so to ask whether it runs on its tape.
    fn recall(&mut self, name: Name);

    /// The calls of compiled code in progress, from a call of a tape outwards to
    /// where the code was entered.
    fn callers(&mut self, site: CallSite) -> Vec<Arc<CheckedFunction>>;

    /// Something is hot: has its code made, if nobody has.
    fn heat(&mut self, interpreter: &Interpreter, spot: &Spot) -> Progress;

    /// How far the code is that [`heat`](Self::heat) has asked for.
    fn progress(&mut self, spot: &Spot) -> Progress;

    /// Runs the rest of a function from the beginning of a round of a loop on.
    /// The arguments are its locals and the values that wait for the loop.
    ///
    /// # Errors
    /// Why it did not run to its end.
    fn go_on(
        &mut self,
        interpreter: &mut Interpreter,
        spot: &Spot,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure>;
}

/// No compiled code at all.
pub struct NoNatives;

impl Natives for NoNatives {
    fn define(&mut self, _: &Arc<CheckedFunction>) {}

    fn recall(&mut self, _: Name) {}

    fn callers(&mut self, _: CallSite) -> Vec<Arc<CheckedFunction>> {
        Vec::new()
    }

    fn takes(&mut self, _: Callee) -> bool {
        false
    }

    fn call(
        &mut self,
        _: &mut Interpreter,
        callee: Callee,
        arguments: &[f64],
        _: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        let passed = arguments.len() as u32;
        Err(Failure::Undefined { callee: callee.name, passed, caller: None }.into())
    }

    fn heat(&mut self, _: &Interpreter, _: &Spot) -> Progress {
        Progress::Never
    }

    fn progress(&mut self, _: &Spot) -> Progress {
        Progress::Never
    }

    fn go_on(
        &mut self,
        _: &mut Interpreter,
        _: &Spot,
        _: &[f64],
        _: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        Err(Failure::System("no compiled code".into()).into())
    }
}
