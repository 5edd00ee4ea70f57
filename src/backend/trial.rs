//! Trial runs: an expression evaluated beside its program, without effects.
//!
//! A trial has its own interpreter and memory, which know only the functions
//! that the expression needs; it shares nothing with the program but reads its
//! variables. What it may call is for the caller to decide.

use crate::abi;
use crate::budget::MemoryBudget;
use crate::engine::Engine;
use crate::host::Output;
use crate::interp::{InterpOptions, Interpreter, NoCompiledCode};
use crate::runtime::ExecutionMemory;
use crate::sema::checked::CheckedFunction;
use crate::stop::Stoppable;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// Bytes of stack: about a thousand nested calls.
const STACK: usize = 32 << 10;

/// The memory budget for tapes, in bytes.
const TAPES: u64 = 4 << 20;

/// The memory of a trial.
struct Beside {
    program: Arc<ExecutionMemory>,
    fuel: AtomicI64,
    interp_limit: AtomicUsize,
    code_ready: AtomicUsize,
    requests: AtomicU64,
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
    let memory = Beside {
        program: program.clone(),
        fuel: AtomicI64::new(fuel.into()),
        interp_limit: AtomicUsize::default(),
        code_ready: AtomicUsize::default(),
        requests: AtomicU64::default(),
    };
    let options = InterpOptions { stack: STACK, counts_fuel: true, hot_after: None };
    let (names, hosts, variables) = (engine.names(), engine.hosts(), engine.variables());
    let budget = Arc::new(MemoryBudget::new(TAPES));
    let mut interpreter = Interpreter::new(names, hosts, variables, Arc::new(memory), &budget, options);
    for function in needed {
        interpreter.define(function);
    }
    interpreter.run(expression, &mut NoCompiledCode, &mut NoOutput).ok()
}

impl Stoppable for Beside {
    fn requests(&self) -> &AtomicU64 {
        &self.requests
    }

    fn wake(&self) {
        self.interp_limit.store(0, Ordering::SeqCst);
    }
}

impl abi::Memory for Beside {
    fn variables(&self) -> &[AtomicU64] {
        self.program.variables()
    }

    fn fuel(&self) -> &AtomicI64 {
        &self.fuel
    }

    fn interp_limit(&self) -> &AtomicUsize {
        &self.interp_limit
    }

    fn code_ready(&self) -> &AtomicUsize {
        &self.code_ready
    }
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
