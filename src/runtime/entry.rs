//! Entering compiled code, and what the code that is entered finds.
#![allow(unsafe_code)]

use super::arguments::CallArguments;
use super::callbacks::{CurrentRun, Destination, RuntimeCallbacks, StopReason, take_request, with_run};
use super::execution::{Execution, Left};
use super::x86_64;
use crate::abi::{CONTEXT_FREE, CONTEXT_FREE_ALIGNMENT, ENVIRONMENT_FREE, Header, REGISTERS};
use crate::float_environment::PresentEnvironment;
use std::cell::Cell;
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::Ordering;

thread_local! {
    /// The innermost run on this thread.
    static CURRENT: Cell<*const EnteredRun> = const { Cell::new(ptr::null()) };
}

/// A run in progress, on the stack of its execution.
struct EnteredRun {
    header: *const Header,
    /// The lowest and the highest address of that stack.
    stack: (usize, usize),
}

/// The alignment of stacks, in bytes.
const ALIGNMENT: usize = 16;

impl Execution {
    /// Calls compiled code, unless a request to stop is already waiting.
    ///
    /// # Errors
    /// [`Left`] if the run failed; `callbacks` knows why. An I/O error if there
    /// is no memory for a stack.
    ///
    /// # Safety
    /// `body` must be the address of a function compiled for [`crate::abi`]
    /// that takes exactly these arguments, stays in memory during the call,
    /// and whose slots in this execution's memory all hold such addresses,
    /// trampolines whose landing is [`enter_trampoline`], or
    /// [`refuse`](x86_64::refuse).
    #[inline]
    pub unsafe fn call(
        &self,
        body: usize,
        arguments: CallArguments<'_>,
        callbacks: &mut dyn RuntimeCallbacks,
    ) -> std::io::Result<Result<f64, Left>> {
        let stack = self.prepare()?.unwrap_or(0);
        if let Some(stop) = self.stop_before(arguments) {
            callbacks.stop(stop);
            return Ok(Err(Left { fault: 0, frame: 0 }));
        }
        let header: *const Header = self.memory.header();
        let mut run = CurrentRun { callbacks };
        // Only the thread that runs uses the owner.
        let owner = &self.memory.header().owner;
        let outer_run = owner.load(Ordering::Relaxed);
        owner.store((&raw mut run) as usize, Ordering::Relaxed);
        let entered = EnteredRun { header, stack: self.stack_range() };
        let outer = CURRENT.replace(&raw const entered);
        let mut result = 0.0;
        let more = arguments.beyond_registers();
        let mut buffer = [0.0; REGISTERS];
        let doubles = arguments.in_registers(&mut buffer).as_ptr();
        // SAFETY: the header is that of this execution; `body` and the slots
        // are as the caller promises; the arguments are at least 8 doubles
        // (`in_registers`) and `more` beyond them; the stack is this execution's own,
        // or 0 when it is the one in use. The pointer to `run` is used only
        // by routines that `enter` calls, and is reset below.
        let left = unsafe { x86_64::enter(header, body, doubles, more, stack, &raw mut result) };
        // Unlike `set`, this is inlined.
        CURRENT.with(|current| current.set(outer));
        let header = self.memory.header();
        header.owner.store(outer_run, Ordering::Relaxed);
        if left == 0 {
            return Ok(Ok(result));
        }
        header.failed.store(0, Ordering::Relaxed);
        let fault = header.fault.swap(0, Ordering::Relaxed);
        Ok(Err(Left { fault, frame: header.frame.swap(0, Ordering::Relaxed) }))
    }

    /// Calls a body on the stack of the caller, if it is [context-free](CONTEXT_FREE): there is
    /// nothing to prepare then but the floating-point environment, and it cannot fail. `None`,
    /// without effect, if it is another one, or a request to stop is waiting.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    #[inline(always)]
    pub unsafe fn call_context_free(
        &self,
        body: usize,
        arguments: CallArguments<'_>,
        present: PresentEnvironment,
    ) -> Option<f64> {
        type Header = *const crate::abi::Header;
        type Body1 = unsafe extern "sysv64" fn(Header, f64) -> f64;
        type Body2 = unsafe extern "sysv64" fn(Header, f64, f64) -> f64;
        type Body3 = unsafe extern "sysv64" fn(Header, f64, f64, f64) -> f64;
        let header: Header = self.memory.header();
        let is_stopped = self.memory.header().limit.load(Ordering::Relaxed) == usize::MAX;
        // SAFETY: code is there, as the caller says.
        if is_stopped || arguments.beyond_registers() > 0 || !unsafe { is_context_free(body) } {
            return None;
        }
        let code = ptr::with_exposed_provenance::<()>(body);
        // SAFETY: a body follows these calling conventions, and takes these arguments, or at most
        // these: more in registers do not matter. Since it does not use its context, it does not
        // depend on what `call` prepares.
        Some(present.in_default(&self.usual_host, || unsafe {
            match *arguments.as_slice() {
                [a] => transmute::<*const (), Body1>(code)(header, a),
                [a, b] => transmute::<*const (), Body2>(code)(header, a, b),
                [a, b, c] => transmute::<*const (), Body3>(code)(header, a, b, c),
                _ => call_in_registers(code, header, arguments),
            }
        }))
    }

    /// Returns why a prepared call must not begin. Code without a poll would
    /// not notice an earlier request.
    #[inline]
    fn stop_before(&self, arguments: CallArguments<'_>) -> Option<StopReason> {
        let header = self.memory.header();
        if header.limit.load(Ordering::Relaxed) == usize::MAX
            && let Some(request) = take_request(header)
        {
            return Some(StopReason::Requested(request));
        }
        (size_of_val(arguments.as_slice()) > self.argument_space()).then_some(StopReason::Overflow)
    }
}

/// Calls context-free code that takes at most as many arguments as there are registers.
///
/// # Safety
/// It does.
#[inline(never)]
unsafe fn call_in_registers(code: *const (), header: *const Header, arguments: CallArguments<'_>) -> f64 {
    type Body = unsafe extern "sysv64" fn(*const Header, f64, f64, f64, f64, f64, f64, f64, f64) -> f64;
    let mut registers = [0.0; REGISTERS];
    let [a, b, c, d, e, f, g, h] = *arguments.in_registers(&mut registers);
    // SAFETY: a body follows this calling convention; more in registers do not matter.
    unsafe { transmute::<*const (), Body>(code)(header, a, b, c, d, e, f, g, h) }
}

/// Returns whether a body is [context-free](CONTEXT_FREE).
///
/// # Safety
/// Code must be at that address.
#[inline]
pub unsafe fn is_context_free(body: usize) -> bool {
    // SAFETY: as the caller says.
    matches!(unsafe { mark(body) }, CONTEXT_FREE | ENVIRONMENT_FREE)
}

/// Returns whether a body is [environment-free](ENVIRONMENT_FREE).
///
/// # Safety
/// Code must be at that address.
#[cfg(feature = "executable")]
pub unsafe fn is_environment_free(body: usize) -> bool {
    // SAFETY: as the caller says.
    unsafe { mark(body) == ENVIRONMENT_FREE }
}

/// Returns the first eight bytes of a body; 0 if no mark can be there.
///
/// # Safety
/// Code must be at that address.
#[inline]
unsafe fn mark(body: usize) -> u64 {
    if !body.is_multiple_of(CONTEXT_FREE_ALIGNMENT) {
        return 0;
    }
    // SAFETY: code can be read; since it is aligned, so can the rest of the eight bytes.
    unsafe { ptr::with_exposed_provenance::<u64>(body).read() }
}

/// Asks the run in progress on this thread where a call of `trampoline`
/// continues. Returns the address of a body, or [`refuse`](x86_64::refuse).
pub fn enter_trampoline(trampoline: usize) -> usize {
    let entered = CURRENT.get();
    if entered.is_null() {
        return x86_64::refuse();
    }
    // SAFETY: not null, so it was set by a `call` that is still in progress
    // on this thread and keeps both alive.
    let header = unsafe { &*(*entered).header };
    match with_run(header, |callbacks| callbacks.first_call(trampoline)) {
        Some(Destination::Body(body)) => body,
        Some(Destination::Interpreter(passed)) => {
            header.argument_count.store(passed as usize, Ordering::Relaxed);
            x86_64::interpreter()
        }
        None => x86_64::refuse(),
    }
}

/// Calls `work` on the stack of the thread: if it is called on that of an execution, below the
/// frame from which that was entered. `work` must not unwind.
pub fn on_thread_stack(work: &mut dyn FnMut()) {
    let here = (&raw const work).addr();
    let entered = CURRENT.get();
    // SAFETY: it is null, or was set by a `call` that is still in progress on this thread.
    let Some(EnteredRun { header, stack: (low, high) }) = (unsafe { entered.as_ref() }) else {
        return work();
    };
    if !(*low..*high).contains(&here) {
        return work();
    }
    // SAFETY: the call keeps the header alive.
    let mut frame = unsafe { &**header }.way_out.load(Ordering::Relaxed);
    loop {
        // SAFETY: `enter` has saved the way out of the run around this one there.
        let outer = unsafe { ptr::with_exposed_provenance::<usize>(frame).read() };
        if outer == 0 {
            break;
        }
        frame = outer;
    }
    let base = ptr::with_exposed_provenance_mut::<u8>(x86_64::thread_stack(frame) - ALIGNMENT);
    // SAFETY: the thread has left its stack at that frame, and returns there only when this has
    // returned, so what is below is free. It is aligned, and `work` does not unwind.
    unsafe { psm::on_stack(base, ALIGNMENT, work) };
}
