//! Running compiled code: execution contexts, the way in and the ways out.
//!
//! An [`Execution`] owns what code runs on: the memory that the hidden context
//! pointer points to (header, dispatch slots, variables) and a stack of its
//! own. Code is entered through a saved point; an error inside leaves to that
//! point in one jump, over frames of compiled code only, which own nothing.
//! Frames of Rust are never jumped over: what code calls (see
//! [`Surroundings`]) returns first, and says whether to leave.
//!
//! How code comes into being is not known here.

mod entry;
mod memory;

pub use entry::{Surroundings, enter_trampoline, is_entry, refuse, support};

use crate::abi::{self, Header};
use memory::Memory;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of a dispatch slot, the same in every context of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub u32);

impl Slot {
    /// Its offset in an execution context.
    pub fn offset(self) -> usize {
        abi::SLOTS + self.0 as usize * 8
    }
}

/// The number of a variable, the same in every context of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Variable(pub u32);

impl Variable {
    /// Its offset in an execution context.
    pub fn offset(self) -> usize {
        abi::VARIABLES + self.0 as usize * 8
    }
}

/// The stack that code runs on when nothing else is asked for, in bytes:
/// reserved, and taken from the system only as far as it is used.
pub const DEFAULT_STACK: usize = 512 << 20;

/// The part of the stack below the limit that compiled functions leave to
/// what they call: library functions, host closures, the first-call routine.
const RESERVE: usize = 256 << 10;

/// Memory that compiled code works on, shared with whoever redirects slots.
pub struct ExecutionMemory(Memory);

impl ExecutionMemory {
    /// Fresh memory: all slots and variables 0.
    ///
    /// # Errors
    /// When the system has no address space left.
    pub fn new() -> std::io::Result<Self> {
        Memory::new(abi::SIZE).map(Self)
    }

    fn header(&self) -> &Header {
        self.0.at(0)
    }

    /// Where a slot leads to.
    pub fn slot(&self, slot: Slot) -> usize {
        self.0.at::<AtomicUsize>(slot.offset()).load(Ordering::Acquire)
    }

    /// Makes a slot lead to `address`, from the next call on.
    pub fn redirect(&self, slot: Slot, address: usize) {
        self.0.at::<AtomicUsize>(slot.offset()).store(address, Ordering::Release);
    }

    /// The value of a variable.
    pub fn variable(&self, variable: Variable) -> f64 {
        f64::from_bits(self.0.at::<AtomicU64>(variable.offset()).load(Ordering::Relaxed))
    }

    /// Sets the value of a variable.
    pub fn set_variable(&self, variable: Variable, value: f64) {
        self.0.at::<AtomicU64>(variable.offset()).store(value.to_bits(), Ordering::Relaxed);
    }
}

/// What one thread at a time runs compiled code with.
pub struct Execution {
    memory: std::sync::Arc<ExecutionMemory>,
    stack: Option<Memory>,
    stack_size: usize,
}

impl Execution {
    /// An execution over `memory` with a stack of `stack_size` bytes, which is
    /// reserved at the first run.
    pub fn new(memory: std::sync::Arc<ExecutionMemory>, stack_size: usize) -> Self {
        Self { memory, stack: None, stack_size: stack_size.max(4 * RESERVE) }
    }

    /// The top of the stack to switch to; `None` if code of this execution is
    /// already running, on that stack.
    fn prepare(&mut self) -> std::io::Result<Option<usize>> {
        let header = self.memory.header();
        if header.way_out.load(Ordering::Relaxed) != 0 {
            return Ok(None);
        }
        let stack = match &mut self.stack {
            Some(stack) => stack,
            empty => empty.insert(Memory::with_guard(self.stack_size)?),
        };
        header.limit.store(stack.address() + RESERVE, Ordering::Relaxed);
        Ok(Some(stack.address() + stack.size()))
    }
}
