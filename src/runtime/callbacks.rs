//! What running code asks of its runner, and how the routines of the processor
//! find the runner of the run in progress.
#![allow(unsafe_code)]

use crate::abi::{Header, REGISTERS};
use crate::stop::StopRequest;
use std::sync::atomic::Ordering;

/// The calls that running code makes into its runner. Each can fail the run;
/// then the run is left, and the implementer knows why.
pub trait RuntimeCallbacks {
    /// Handles a call through a trampoline. Returns where it continues, or
    /// `None` to leave.
    fn first_call(&mut self, trampoline: usize) -> Option<Destination>;

    /// Handles a call that continues in the interpreter. Returns its result, or
    /// `None` to leave.
    fn interpreter_call(&mut self, arguments: &[f64]) -> Option<f64>;

    /// Calls a closure of the host. Returns its result, or `None` to leave.
    fn host_call(&mut self, closure: u32, arguments: &[f64]) -> Option<f64>;

    /// Records that a safepoint poll has stopped the run.
    fn stop(&mut self, stop: StopReason);

    /// Reports that the function that contains `address` is hot.
    fn hot(&mut self, address: usize);

    /// Reports that the loop of a node is hot, in the function that contains
    /// `address`, with that number of operand-stack values live across it.
    fn hot_loop(&mut self, address: usize, node: u32, values: u32) -> HotLoopAnswer;
}

/// What baseline code does that has reported a hot loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct HotLoopAnswer {
    /// The address of OSR code to continue in; 0 if none is ready.
    pub code: usize,
    /// After how many iterations it reports again.
    pub left: u64,
}

/// Where a call continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// At the address of a body.
    Body(usize),
    /// In the interpreter, with that number of arguments;
    /// [`RuntimeCallbacks::interpreter_call`] is next.
    Interpreter(u32),
}

/// Why a safepoint poll stopped the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// Stack overflow.
    Overflow,
    /// Out of fuel.
    Fuel,
    /// A request to stop.
    Requested(StopRequest),
}

/// The run in progress, as its routines find it through the header.
pub(super) struct CurrentRun<'a> {
    pub(super) callbacks: &'a mut dyn RuntimeCallbacks,
}

/// Takes the most urgent request to stop, and restores the stack limit that the
/// requester has changed.
#[cold]
pub(super) fn take_request(header: &Header) -> Option<StopRequest> {
    // First the limit, then the requests: the requester does it the other way
    // round, and the swaps order the two, so no request is missed.
    header.limit.swap(header.stack_limit.load(Ordering::Relaxed), Ordering::SeqCst);
    let request = StopRequest::first(header.requests.load(Ordering::SeqCst))?;
    let bits = request.bits();
    if header.requests.fetch_and(!bits, Ordering::SeqCst) & !bits != 0 {
        // The other requests are for the next run.
        header.limit.swap(usize::MAX, Ordering::SeqCst);
    }
    Some(request)
}

/// Passes the callbacks of the run in progress to `ask`; marks the run as
/// failed if that returns `None`.
pub(super) fn with_run<T>(
    header: &Header,
    ask: impl FnOnce(&mut dyn RuntimeCallbacks) -> Option<T>,
) -> Option<T> {
    let run = header.owner.load(Ordering::Relaxed) as *mut CurrentRun<'_>;
    // SAFETY: `call` set the pointer and is in progress: compiled code runs
    // only between its set and its reset. It lends the callbacks to nothing
    // else meanwhile, and a nested `call` sets its own `CurrentRun`.
    let answer = unsafe { ask((*run).callbacks) };
    if answer.is_none() {
        header.failed.store(1, Ordering::Relaxed);
    }
    answer
}

pub(super) extern "C" fn on_stop(header: &Header, stack: usize) {
    let stop = if let Some(request) = take_request(header) {
        StopReason::Requested(request)
    } else if stack < header.stack_limit.load(Ordering::Relaxed) {
        StopReason::Overflow
    } else if header.fuel.load(Ordering::Relaxed) < 0 {
        StopReason::Fuel
    } else {
        // The request was withdrawn.
        return;
    };
    with_run(header, |callbacks| -> Option<()> {
        callbacks.stop(stop);
        None
    });
}

pub(super) extern "C" fn on_overflow(header: &Header) {
    with_run(header, |callbacks| -> Option<()> {
        callbacks.stop(StopReason::Overflow);
        None
    });
}

pub(super) extern "C" fn on_hot(header: &Header, address: usize) {
    with_run(header, |callbacks| {
        callbacks.hot(address);
        Some(())
    });
}

pub(super) extern "C" fn on_hot_loop(
    header: &Header,
    node: u32,
    values: u32,
    address: usize,
) -> HotLoopAnswer {
    let answer = with_run(header, |callbacks| Some(callbacks.hot_loop(address, node, values)));
    answer.unwrap_or(HotLoopAnswer { code: 0, left: 1 })
}

/// # Safety
/// Called by the `host` routine only: `registers` points to the doubles that were passed in
/// registers, and `more` to those that were passed in memory, `count` in all.
pub(super) unsafe extern "C" fn on_host(
    header: &Header,
    registers: *const [f64; REGISTERS],
    more: *const f64,
    count: u32,
    closure: u32,
) -> f64 {
    // SAFETY: as the caller says; a thunk says what its closure takes.
    unsafe {
        with_arguments(registers, more, count as usize, |arguments| {
            with_run(header, |callbacks| callbacks.host_call(closure, arguments))
        })
    }
    .unwrap_or(0.0)
}

/// # Safety
/// Called by the `interpreter` routine only: `registers` points to the doubles
/// that were passed in registers, and `more` to those that were passed in
/// memory.
pub(super) unsafe extern "C" fn on_interpreter_call(
    header: &Header,
    registers: *const [f64; REGISTERS],
    more: *const f64,
) -> f64 {
    if (registers as usize) < header.limit.load(Ordering::Relaxed) {
        on_stop(header, registers as usize);
        if header.failed.load(Ordering::Relaxed) != 0 {
            return 0.0;
        }
    }
    let count = header.argument_count.load(Ordering::Relaxed);
    // SAFETY: as the caller says.
    unsafe {
        with_arguments(registers, more, count, |arguments| {
            with_run(header, |callbacks| callbacks.interpreter_call(arguments))
        })
    }
    .unwrap_or(0.0)
}

/// Calls `work` with the arguments of a call.
///
/// # Safety
/// `registers` points to the doubles that were passed in registers, and `more` to those that
/// were passed in memory, `count` in all.
unsafe fn with_arguments<T>(
    registers: *const [f64; REGISTERS],
    more: *const f64,
    count: usize,
    work: impl FnOnce(&[f64]) -> T,
) -> T {
    // SAFETY: the routine has stored all the registers there.
    let registers = unsafe { &*registers };
    match count.checked_sub(REGISTERS) {
        None | Some(0) => work(&registers[..count]),
        Some(rest) => {
            // SAFETY: the caller has passed that many doubles in memory.
            let rest = unsafe { std::slice::from_raw_parts(more, rest) };
            work(&[registers, rest].concat())
        }
    }
}
