//! What programs run on in a build without the compiler: memory for their
//! variables and for requests to stop.
//!
//! Stands for the module `runtime`, which is about compiled code.

mod arguments;
mod fence;

pub use arguments::CallArguments;
pub use fence::Fence;

use crate::abi::{Memory, VARIABLE_COUNT};
use crate::interp::InterpMemory;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of a variable, the same in every context of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Variable(pub u32);

/// The default stack of a program, in bytes.
pub const DEFAULT_STACK: usize = 256 << 20;

/// The memory of a context. Its variables are committed by the system as they
/// are used.
pub type ExecutionMemory = InterpMemory<Vec<AtomicU64>>;

impl ExecutionMemory {
    /// Creates memory whose variables are 0.
    ///
    /// # Errors
    /// If there is none.
    pub fn new() -> std::io::Result<Self> {
        let mut variables = Vec::new();
        variables.try_reserve_exact(VARIABLE_COUNT)?;
        variables.resize_with(VARIABLE_COUNT, AtomicU64::default);
        Ok(Self::over(variables, 0))
    }

    /// Sets all variables to 0.
    pub fn clear(&self) {
        self.variables().iter().for_each(|variable| variable.store(0, Ordering::Relaxed));
    }

    /// Returns the value of a variable.
    pub fn variable(&self, Variable(number): Variable) -> f64 {
        f64::from_bits(self.variables()[number as usize].load(Ordering::Relaxed))
    }

    /// Sets the value of a variable.
    pub fn set_variable(&self, Variable(number): Variable, value: f64) {
        self.variables()[number as usize].store(value.to_bits(), Ordering::Relaxed);
    }
}
