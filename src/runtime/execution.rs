//! What compiled code runs on: memory that the hidden context pointer points to,
//! and a stack.

use super::memory::{AddressRange, PAGE};
use super::slot::{Slot, Variable};
use super::x86_64;
use crate::abi::{self, Header};
use crate::float_environment::UsualEnvironment;
use crate::stop::{InnerRun, Stoppable};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Where a run was left before its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// An address in the function where the run failed; 0 if unknown.
    pub fault: usize,
    /// Its frame pointer.
    pub frame: usize,
}

/// The default stack of compiled code, in bytes: reserved, and committed only
/// as it is used.
pub const DEFAULT_STACK: usize = 256 << 20;

/// The smallest stack, in bytes.
const SMALLEST_STACK: usize = 1 << 20;

/// The stack that a host function may use wherever it is called, in bytes: as
/// much as a thread of Rust has.
const HOST_STACK: usize = 2 << 20;

/// The stack for the routines between the program and a host function, and for
/// unchecked frames and arguments, in bytes.
const ROUTINES_STACK: usize = 256 << 10;

/// The part of the stack below the limit, which the program may not use, in
/// bytes.
const RESERVE: usize = HOST_STACK + ROUTINES_STACK;

/// The memory that compiled code works on, shared with the threads that
/// redirect slots.
pub struct ExecutionMemory {
    range: AddressRange,
    inner: InnerRun,
    /// The pages on which slots lead somewhere, by their numbers.
    slot_pages: Mutex<FxHashSet<usize>>,
}

impl ExecutionMemory {
    /// Creates memory whose slots and variables are 0.
    ///
    /// # Errors
    /// If the system has no address space left.
    pub fn new() -> std::io::Result<Self> {
        let range = AddressRange::new(abi::SIZE)?;
        let memory = Self { range, inner: InnerRun::default(), slot_pages: Mutex::default() };
        x86_64::provide_routines(memory.header());
        Ok(memory)
    }

    /// Makes polls overwrite the vector registers, as any code that they call
    /// may.
    #[cfg(test)]
    pub fn clobber_in_polls(&self) {
        x86_64::testing::provide(self.header());
    }

    #[inline]
    pub(super) fn header(&self) -> &Header {
        self.range.at(0)
    }

    /// Returns the address in a slot; 0 if none has been stored.
    #[inline]
    pub fn slot(&self, slot: Slot) -> usize {
        self.range.at::<AtomicUsize>(slot.offset()).load(Ordering::Acquire)
    }

    /// Stores an address in a slot, for the next calls.
    #[inline]
    pub fn redirect(&self, slot: Slot, address: usize) {
        let before = self.range.at::<AtomicUsize>(slot.offset()).swap(address, Ordering::Release);
        self.note(slot, before);
    }

    /// Stores addresses in slots, for the next calls.
    pub fn redirect_all(&self, entries: impl IntoIterator<Item = (Slot, usize)>) {
        let (mut pages, mut last) = (self.slot_pages.lock(), None);
        for (slot, address) in entries {
            // Slots are changed by one thread at a time, which has the lock of the slots.
            let word = self.range.at::<AtomicUsize>(slot.offset());
            let before = word.load(Ordering::Relaxed);
            word.store(address, Ordering::Release);
            // Mostly the page of the one before.
            let page = Some(slot.offset() / PAGE).filter(|page| before == 0 && last != Some(*page));
            page.into_iter().for_each(|page| _ = pages.insert(page));
            last = page.or(last);
        }
    }

    /// Records that a slot that led to `before` leads somewhere.
    fn note(&self, slot: Slot, before: usize) {
        if before == 0 {
            self.slot_pages.lock().insert(slot.offset() / PAGE);
        }
    }

    /// Sets slots, in ascending order, and their counters of calls to 0. Only the
    /// pages on which slots lead somewhere are looked at.
    pub fn forget(&self, slots: &[Slot]) {
        for page in &*self.slot_pages.lock() {
            let first = slots.partition_point(|slot| slot.offset() / PAGE < *page);
            for slot in slots[first..].iter().take_while(|slot| slot.offset() / PAGE == *page) {
                if self.slot(*slot) != 0 {
                    self.range.at::<AtomicUsize>(slot.offset()).store(0, Ordering::Release);
                    self.range.at::<AtomicU32>(slot.counter_offset()).store(0, Ordering::Relaxed);
                }
            }
        }
    }

    /// Stores the address of the numbers that code behind a slot loads.
    pub fn set_numbers(&self, slot: Slot, address: usize) {
        self.range.at::<AtomicUsize>(slot.numbers_offset()).store(address, Ordering::Release);
    }

    /// Sets all slots, variables and counters of calls to 0.
    pub fn clear(&self) {
        let first = self.range.many::<AtomicUsize>(abi::SLOTS, (PAGE - abi::SLOTS) / size_of::<usize>());
        first.iter().for_each(|slot| slot.store(0, Ordering::Release));
        self.range.release(self.range.size());
        self.slot_pages.lock().clear();
    }

    /// Stores an address in a slot that holds none yet.
    pub fn fill(&self, slot: Slot, address: usize) {
        // Another thread may have redirected it meanwhile.
        let word = self.range.at::<AtomicUsize>(slot.offset());
        let filled = word.compare_exchange(0, address, Ordering::Release, Ordering::Relaxed);
        self.note(slot, filled.unwrap_or_else(|present| present));
    }

    /// Returns the value of a variable.
    pub fn variable(&self, variable: Variable) -> f64 {
        f64::from_bits(self.range.at::<AtomicU64>(variable.offset()).load(Ordering::Relaxed))
    }

    /// Returns the call site where code has called out last.
    pub fn called_from(&self) -> Left {
        let header = self.header();
        let (fault, frame) = (header.fault.load(Ordering::Relaxed), header.frame.load(Ordering::Relaxed));
        Left { fault, frame }
    }

    /// Makes the interpreter poll for code that has become ready.
    pub fn signal_code_ready(&self) {
        self.header().code_ready.swap(1, Ordering::SeqCst);
        self.header().interp_limit.swap(0, Ordering::SeqCst);
    }

    /// Sets the value of a variable.
    pub fn set_variable(&self, variable: Variable, value: f64) {
        self.range.at::<AtomicU64>(variable.offset()).store(value.to_bits(), Ordering::Relaxed);
    }
}

impl Stoppable for ExecutionMemory {
    #[inline]
    fn requests(&self) -> &AtomicU64 {
        &self.header().requests
    }

    fn wake(&self) {
        // Every address is below this limit.
        self.header().limit.swap(usize::MAX, Ordering::SeqCst);
        self.header().interp_limit.swap(0, Ordering::SeqCst);
    }

    fn inner(&self) -> Option<&InnerRun> {
        Some(&self.inner)
    }
}

impl abi::Memory for ExecutionMemory {
    fn variables(&self) -> &[AtomicU64] {
        self.range.many(abi::VARIABLES, abi::VARIABLE_COUNT)
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

/// What compiled code runs on, used by one thread at a time.
///
/// The system allows a process some 65,000 mappings, and a stack with its guard
/// page takes two. So the first executions keep their stacks between runs, and
/// the others take one for each run, mostly that of the thread's last run.
pub struct Execution {
    pub(super) memory: Arc<ExecutionMemory>,
    stack: RefCell<Option<Arc<AddressRange>>>,
    /// The highest address of the stack; 0 without one.
    top: Cell<usize>,
    /// Its lowest address.
    bottom: Cell<usize>,
    /// The environment that calls of context-free code come from.
    pub(super) usual_host: UsualEnvironment,
    /// Whether it keeps the stack, if it has one, when a run ends.
    keeps_stack: Cell<bool>,
    /// The part of it that the program may use, in bytes.
    stack_size: usize,
}

/// The part of a stack that stays committed between runs, in bytes.
const KEPT: usize = 256 << 10;

/// The stacks that are kept between runs.
static KEPT_STACKS: AtomicUsize = AtomicUsize::new(0);

/// The most stacks that are kept between runs.
const MOST_KEPT_STACKS: usize = 1024;

thread_local! {
    /// The stack of the last run on this thread whose execution has not kept it.
    static SPARE_STACK: Cell<Option<Arc<AddressRange>>> = const { Cell::new(None) };
}

impl Execution {
    /// Creates an execution over `memory`, with a stack of `stack_size` bytes
    /// for the program that is reserved at the first run.
    pub fn new(memory: Arc<ExecutionMemory>, stack_size: usize) -> Self {
        Self {
            memory,
            stack: RefCell::default(),
            top: Cell::new(0),
            bottom: Cell::new(0),
            usual_host: UsualEnvironment::default(),
            keeps_stack: Cell::new(true),
            stack_size: stack_size.max(SMALLEST_STACK),
        }
    }

    /// Returns the top of the stack to switch to; `None` for a nested run,
    /// which is already on that stack.
    #[inline]
    pub(super) fn prepare(&self) -> std::io::Result<Option<usize>> {
        let header = self.memory.header();
        if header.way_out.load(Ordering::Relaxed) != 0 {
            return Ok(None);
        }
        // The limit is in force: a thread that requests a stop changes it, and
        // the run that takes the request restores it.
        Ok(Some(match self.top.get() {
            0 => self.set_up_stack()?,
            top => top,
        }))
    }

    /// Returns the lowest and the highest address of the stack.
    #[inline]
    pub(super) fn stack_range(&self) -> (usize, usize) {
        (self.bottom.get(), self.top.get())
    }

    /// Takes a stack. Returns its highest address.
    #[cold]
    fn set_up_stack(&self) -> std::io::Result<usize> {
        let header = self.memory.header();
        let size = self.stack_size.saturating_add(RESERVE).checked_next_multiple_of(PAGE);
        let size = size.ok_or(std::io::ErrorKind::OutOfMemory)?;
        let spare = SPARE_STACK.try_with(Cell::take).ok().flatten();
        let stack = match spare.filter(|spare| spare.size() == size && Arc::strong_count(spare) == 1) {
            Some(spare) => spare,
            None => Arc::new(AddressRange::with_guard(size)?),
        };
        let keeps = KEPT_STACKS.fetch_add(1, Ordering::Relaxed) < MOST_KEPT_STACKS;
        if !keeps {
            KEPT_STACKS.fetch_sub(1, Ordering::Relaxed);
        }
        self.keeps_stack.set(keeps);
        let top = stack.address() + stack.size();
        self.top.set(top);
        self.bottom.set(stack.address());
        let limit = stack.address() + RESERVE;
        header.stack_limit.store(limit, Ordering::Relaxed);
        header.limit.swap(limit, Ordering::SeqCst);
        if header.requests.load(Ordering::SeqCst) != 0 {
            header.limit.swap(usize::MAX, Ordering::SeqCst);
        }
        *self.stack.borrow_mut() = Some(stack);
        Ok(top)
    }

    /// Ends a run that is in no other, after its frames have been looked at.
    #[inline]
    pub fn end_run(&self) {
        if !self.keeps_stack.get() {
            self.top.set(0);
            let stack = self.stack.take();
            // A thread that is ending keeps nothing.
            let _ = SPARE_STACK.try_with(|spare| spare.set(stack));
        }
    }

    /// Returns how many bytes of arguments a call may pass on the stack. A
    /// nested call begins somewhere on it, so its arguments must fit the
    /// reserve.
    #[inline]
    pub(super) fn argument_space(&self) -> usize {
        let is_inner = self.memory.header().way_out.load(Ordering::Relaxed) != 0;
        if is_inner { ROUTINES_STACK / 4 } else { self.stack_size - ROUTINES_STACK }
    }

    /// Returns most of the stack's memory to the system, after deep use.
    pub fn release_stack(&self) {
        if let Some(stack) = &*self.stack.borrow() {
            stack.release(stack.size().saturating_sub(KEPT));
        }
    }

    /// Returns the return addresses of the run that was left at `frame`,
    /// innermost first: the frames stay on the stack until the next run.
    pub fn return_addresses(&self, frame: usize) -> ReturnAddresses {
        ReturnAddresses { stack: self.stack.borrow().clone(), frame }
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        if self.keeps_stack.get() && self.stack.take().is_some() {
            KEPT_STACKS.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// An iterator along the frame pointers of a run that was left.
pub struct ReturnAddresses {
    stack: Option<Arc<AddressRange>>,
    frame: usize,
}

impl Iterator for ReturnAddresses {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let stack = self.stack.as_ref()?;
        let offset = self.frame.checked_sub(stack.address())?;
        if !offset.is_multiple_of(8) || offset + 16 > stack.size() {
            return None;
        }
        let outer = stack.at::<AtomicUsize>(offset).load(Ordering::Relaxed);
        let address = stack.at::<AtomicUsize>(offset + 8).load(Ordering::Relaxed);
        // Frames of callers are at higher addresses; anything else ends the
        // walk.
        self.frame = if outer > self.frame { outer } else { 0 };
        (!x86_64::is_entry(address)).then_some(address)
    }
}
