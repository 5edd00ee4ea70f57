//! Trial runs: an expression evaluated beside its program, without effects.
//!
//! A trial has its own interpreter and memory, which know only the functions
//! that the expression needs; it shares nothing with the program but reads its
//! variables. What it may call is for the caller to decide.

use crate::abi::Memory;
use crate::budget::{ContextBudget, ContextLimits, MemoryBudget};
use crate::engine::Engine;
use crate::host::Output;
use crate::host::Outside;
use crate::interp::{InterpMemory, InterpOptions, Interpreter};
use crate::runtime::ExecutionMemory;
use crate::sema::checked::CheckedFunction;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Bytes of stack: about a thousand nested calls.
const STACK: usize = 32 << 10;

/// The memory budget for tapes, in bytes.
const TAPES: u64 = 4 << 20;

/// The variables of the program beside which a trial runs.
struct ProgramVariables(Arc<ExecutionMemory>);

impl AsRef<[AtomicU64]> for ProgramVariables {
    fn as_ref(&self) -> &[AtomicU64] {
        self.0.variables()
    }
}

/// Evaluates an expression that calls nothing but `needed` and host functions,
/// with at most `fuel` function entries and iterations. Returns `None` if it
/// fails or does not finish.
pub(super) fn run(
    engine: &Engine,
    program: &Arc<ExecutionMemory>,
    expression: &Arc<CheckedFunction>,
    needed: &[Arc<CheckedFunction>],
    fuel: u32,
) -> Option<f64> {
    let memory = InterpMemory::over(ProgramVariables(program.clone()), fuel.into());
    let options = InterpOptions { stack: STACK, counts_fuel: true, hot_after: None };
    let (names, hosts, variables) = (engine.names(), engine.hosts(), engine.variables());
    let limits = ContextLimits { bytes: TAPES, compiling: None };
    let budget = ContextBudget::new(&Arc::new(MemoryBudget::new(TAPES)), limits);
    let mut interpreter = Interpreter::new(names, hosts, variables, Arc::new(memory), &budget, options);
    for function in needed {
        interpreter.define(function);
    }
    interpreter.run(expression, None, &mut Outside::new(Box::new(NoOutput))).ok()
}

/// The output of a trial: every write fails.
struct NoOutput;

impl Output for NoOutput {
    fn value(&mut self, _: f64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn byte(&mut self, _: u8) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
