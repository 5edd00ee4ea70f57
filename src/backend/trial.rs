//! Trial runs: an expression evaluated beside its program, without any effect.
//!
//! A trial has an interpreter and a memory of its own, which know just the
//! functions that the expression needs; of the program it only reads the
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

/// Bytes of stack: about a thousand calls inside each other.
const STACK: usize = 32 << 10;

/// Bytes that the tapes may take.
const TAPES: u64 = 4 << 20;

/// The memory of a trial.
struct Beside {
    program: Arc<ExecutionMemory>,
    fuel: AtomicI64,
    interp_limit: AtomicUsize,
    code_ready: AtomicUsize,
    requests: AtomicU64,
}

/// Evaluates an expression that calls nothing but `needed` and functions of the
/// host, with at most `fuel` function entries and iterations. Returns `None` if
/// it does not come to an end.
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

/// The output of a trial: there is none.
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
