//! The JIT's interface to the interpreter.

use crate::failure::{Failure, RunFailure};
use crate::host::Output;
use crate::name::Name;
use crate::runtime::Left;

/// Functions that the interpreter runs, as compiled code sees them.
pub trait InterpretedCalls {
    /// Returns whether calls of a function go to the interpreter.
    fn is_interpreted(&mut self, name: Name, is_compiled: bool) -> bool;

    /// Returns whether any function may run in the interpreter.
    #[cfg(feature = "compiler")]
    fn may_interpret(&self) -> bool {
        true
    }

    /// Calls a function in the interpreter; `from` is the call site in compiled
    /// code.
    ///
    /// # Errors
    /// If the run fails or is stopped.
    fn call(
        &mut self,
        name: Name,
        arguments: &[f64],
        from: Left,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure>;
}

/// A context in which everything is compiled.
pub struct NoInterpreter;

impl InterpretedCalls for NoInterpreter {
    fn is_interpreted(&mut self, _: Name, _: bool) -> bool {
        false
    }

    #[cfg(feature = "compiler")]
    fn may_interpret(&self) -> bool {
        false
    }

    fn call(&mut self, _: Name, _: &[f64], _: Left, _: &mut dyn Output) -> Result<f64, RunFailure> {
        Err(Failure::internal("compiled code calls an interpreter that is not there").into())
    }
}
