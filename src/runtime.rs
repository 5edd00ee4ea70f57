//! Running compiled code: execution contexts, the way in and the ways out.
//!
//! An [`Execution`] owns what code runs on: the memory that the hidden context
//! pointer points to (header, dispatch slots, variables) and a stack of its
//! own. Code is entered through a saved point; an error inside leaves to that
//! point in one jump, over frames of compiled code only, which own nothing.
//! Frames of Rust are never jumped over: what code calls (see
//! [`RuntimeCallbacks`]) returns first, and says whether to leave.
//!
//! How code comes into being is not known here.

mod entry;
mod fence;
mod memory;

pub use entry::{
    CallArguments, Destination, Left, RuntimeCallbacks, StopReason, enter_trampoline, is_entry, refuse,
    support,
};
pub use fence::Fence;

use crate::abi::{self, Header};
use crate::stop::{InnerRun, Stoppable};
use memory::AddressRange;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// The number of a dispatch slot, the same in every context of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub u32);

impl Slot {
    /// Its offset in an execution context.
    #[inline]
    pub fn offset(self) -> usize {
        abi::SLOTS + self.0 as usize * 8
    }
}

/// The number of a variable, the same in every context of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Variable(pub u32);

impl Variable {
    /// Its offset in an execution context.
    #[inline]
    pub fn offset(self) -> usize {
        abi::VARIABLES + self.0 as usize * 8
    }
}

/// The stack that code runs on when nothing else is asked for, in bytes:
/// reserved, and taken from the system only as far as it is used.
pub const DEFAULT_STACK: usize = 256 << 20;

/// The smallest stack, in bytes.
const SMALLEST_STACK: usize = 1 << 20;

/// What a function of the host may use of a stack wherever it is called, in
/// bytes: as much as a thread of Rust has.
const HOST_STACK: usize = 2 << 20;

/// What the routines between the program and a function of the host may use,
/// and frames and arguments that nobody checks.
const ROUTINES_STACK: usize = 256 << 10;

/// The part of the stack below the limit, beyond what the program may use.
const RESERVE: usize = HOST_STACK + ROUTINES_STACK;

/// Memory that compiled code works on, shared with whoever redirects slots.
pub struct ExecutionMemory(AddressRange, InnerRun);

impl ExecutionMemory {
    /// Fresh memory: all slots and variables 0.
    ///
    /// # Errors
    /// When the system has no address space left.
    pub fn new() -> std::io::Result<Self> {
        let memory = Self(AddressRange::new(abi::SIZE)?, InnerRun::default());
        entry::provide_routines(memory.header());
        Ok(memory)
    }

    #[inline]
    fn header(&self) -> &Header {
        self.0.at(0)
    }

    /// Where a slot leads to.
    #[inline]
    pub fn slot(&self, slot: Slot) -> usize {
        self.0.at::<AtomicUsize>(slot.offset()).load(Ordering::Acquire)
    }

    /// Makes a slot lead to `address`, from the next call on.
    #[inline]
    pub fn redirect(&self, slot: Slot, address: usize) {
        self.0.at::<AtomicUsize>(slot.offset()).store(address, Ordering::Release);
    }

    /// The value of a variable.
    pub fn variable(&self, variable: Variable) -> f64 {
        f64::from_bits(self.0.at::<AtomicU64>(variable.offset()).load(Ordering::Relaxed))
    }

    /// Where code has called out last.
    pub fn called_from(&self) -> Left {
        let header = self.header();
        let (fault, frame) = (header.fault.load(Ordering::Relaxed), header.frame.load(Ordering::Relaxed));
        Left { fault, frame }
    }

    /// Has tapes look for code that has been made for them.
    pub fn signal_code_ready(&self) {
        self.header().code_ready.swap(1, Ordering::SeqCst);
        self.header().interp_limit.swap(0, Ordering::SeqCst);
    }

    /// Sets the value of a variable.
    pub fn set_variable(&self, variable: Variable, value: f64) {
        self.0.at::<AtomicU64>(variable.offset()).store(value.to_bits(), Ordering::Relaxed);
    }
}

impl Stoppable for ExecutionMemory {
    #[inline]
    fn requests(&self) -> &AtomicU64 {
        &self.header().requests
    }

    fn wake(&self) {
        // Everything is below this limit.
        self.header().limit.swap(usize::MAX, Ordering::SeqCst);
        self.header().interp_limit.swap(0, Ordering::SeqCst);
    }

    fn inner(&self) -> Option<&InnerRun> {
        Some(&self.1)
    }
}

impl abi::Memory for ExecutionMemory {
    fn variables(&self) -> &[AtomicU64] {
        self.0.many(abi::VARIABLES, abi::VARIABLE_COUNT)
    }

    fn fuel(&self) -> &AtomicI64 {
        &self.header().fuel
    }

    fn interp_limit(&self) -> &AtomicUsize {
        &self.header().interp_limit
    }

    fn code_ready(&self) -> &AtomicUsize {
        &self.header().code_ready
    }
}

/// What one thread at a time runs compiled code with.
pub struct Execution {
    memory: std::sync::Arc<ExecutionMemory>,
    stack: OnceCell<AddressRange>,
    /// What the program may use of it.
    stack_size: usize,
}

/// The part of a stack that keeps its memory between runs, in bytes.
const KEPT: usize = 256 << 10;

impl Execution {
    /// An execution over `memory` with a stack of `stack_size` bytes for the
    /// program, which is reserved at the first run.
    pub fn new(memory: std::sync::Arc<ExecutionMemory>, stack_size: usize) -> Self {
        Self { memory, stack: OnceCell::new(), stack_size: stack_size.max(SMALLEST_STACK) }
    }

    /// The top of the stack to switch to; `None` if code of this execution is
    /// already running, on that stack.
    #[inline]
    fn prepare(&self) -> std::io::Result<Option<usize>> {
        let header = self.memory.header();
        if header.way_out.load(Ordering::Relaxed) != 0 {
            return Ok(None);
        }
        // The limit is in force: whoever asks for a stop changes it, and who
        // hears of that restores it.
        let stack = match self.stack.get() {
            Some(stack) => stack,
            None => self.set_up_stack()?,
        };
        Ok(Some(stack.address() + stack.size()))
    }

    #[cold]
    fn set_up_stack(&self) -> std::io::Result<&AddressRange> {
        let header = self.memory.header();
        let made = AddressRange::with_guard(self.stack_size.saturating_add(RESERVE))?;
        let stack = self.stack.get_or_init(|| made);
        let limit = stack.address() + RESERVE;
        header.stack_limit.store(limit, Ordering::Relaxed);
        header.limit.swap(limit, Ordering::SeqCst);
        if header.requests.load(Ordering::SeqCst) != 0 {
            header.limit.swap(usize::MAX, Ordering::SeqCst);
        }
        Ok(stack)
    }

    /// How many bytes of arguments a call may take to the stack. An inner call
    /// begins somewhere on it, so it may take no more than fits the reserve.
    #[inline]
    fn room(&self) -> usize {
        let is_inner = self.memory.header().way_out.load(Ordering::Relaxed) != 0;
        if is_inner { ROUTINES_STACK / 4 } else { self.stack_size - ROUTINES_STACK }
    }

    /// Gives the memory of a stack that was used deeply back to the system.
    pub fn release_stack(&self) {
        if let Some(stack) = self.stack.get() {
            stack.release(stack.size().saturating_sub(KEPT));
        }
    }

    /// The return addresses of the run that was left at `frame`, innermost
    /// first: the frames are still on the stack until the next run.
    pub fn return_addresses(&self, frame: usize) -> ReturnAddresses<'_> {
        ReturnAddresses { stack: self.stack.get(), frame }
    }
}

/// A walk along the frame pointers of a run that was left.
pub struct ReturnAddresses<'a> {
    stack: Option<&'a AddressRange>,
    frame: usize,
}

impl Iterator for ReturnAddresses<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let stack = self.stack?;
        let offset = self.frame.checked_sub(stack.address())?;
        if !offset.is_multiple_of(8) || offset + 16 > stack.size() {
            return None;
        }
        let outer = stack.at::<AtomicUsize>(offset).load(Ordering::Relaxed);
        let address = stack.at::<AtomicUsize>(offset + 8).load(Ordering::Relaxed);
        // Frames of callers lie higher; anything else ends the walk.
        self.frame = if outer > self.frame { outer } else { 0 };
        (!is_entry(address)).then_some(address)
    }
}
