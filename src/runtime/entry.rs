//! Entering and leaving compiled code.
//!
//! The routines are in assembly, because they switch stacks and jump over
//! frames. They rely only on the System V calling convention of x86-64:
//!
//! - `enter` saves the callee-saved registers, stores its stack pointer as the
//!   *way out*, switches to the execution's stack, loads the arguments and
//!   calls the body.
//! - `leave` takes the way out: it is jumped to, never called.
//! - `stop`, `probe` and `host` are called by compiled code. They call Rust and
//!   then return, or leave.
//! - `interpreter` is called in place of the body of an interpreted function;
//!   one routine for any number of arguments, since their positions do not
//!   depend on it. It calls Rust in the same way.
//! - `refuse` is called in place of a body that cannot be called.
#![allow(unsafe_code)]

use super::Execution;
use crate::abi::{self, Header};
use crate::stop::StopRequest;
use std::arch::naked_asm;
use std::cell::Cell;
use std::mem::offset_of;
use std::ptr;
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
    fn host_call(&mut self, closure: u64, arguments: &[f64]) -> Option<f64>;

    /// Records that a safepoint poll has stopped the run.
    fn stop(&mut self, stop: StopReason);

    /// Reports that the function that contains `address` is hot.
    fn hot(&mut self, address: usize);
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

/// Where a run was left before its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// An address in the function where the run failed; 0 if unknown.
    pub fault: usize,
    /// Its frame pointer.
    pub frame: usize,
}

/// The run in progress, as the routines below find it through the header.
struct CurrentRun<'a> {
    callbacks: &'a mut dyn RuntimeCallbacks,
}

thread_local! {
    /// The innermost execution context that runs on this thread.
    static CURRENT: Cell<*const Header> = const { Cell::new(ptr::null()) };
}

/// The arguments of a call, in memory that is large enough for all argument
/// registers.
#[derive(Clone, Copy, Debug)]
pub struct CallArguments<'a> {
    doubles: &'a [f64],
    count: usize,
}

/// The number of arguments passed in registers.
pub const REGISTERS: usize = 8;

impl<'a> CallArguments<'a> {
    /// Wraps the first `count` of these arguments.
    #[inline]
    pub fn few(registers: &'a [f64; REGISTERS], count: u32) -> Self {
        Self { doubles: registers, count: REGISTERS.min(count as usize) }
    }

    /// Wraps any number of arguments, copied to `buffer` if they are few.
    pub fn new(arguments: &'a [f64], buffer: &'a mut [f64; REGISTERS]) -> Self {
        let count = arguments.len();
        match buffer.get_mut(..count) {
            Some(start) => {
                start.copy_from_slice(arguments);
                Self { doubles: buffer, count }
            }
            None => Self { doubles: arguments, count },
        }
    }

    /// Returns the arguments.
    #[inline]
    pub fn as_slice(&self) -> &'a [f64] {
        &self.doubles[..self.count]
    }
}

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
    /// trampolines whose landing is [`enter_trampoline`], or [`refuse`].
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
        let outer = CURRENT.replace(header);
        let mut result = 0.0;
        let more = arguments.count.saturating_sub(REGISTERS);
        // SAFETY: the header is that of this execution; `body` and the slots
        // are as the caller promises; the arguments are at least 8 doubles
        // (`CallArguments`) and `more` beyond them; the stack is this execution's own,
        // or 0 when it is the one in use. The pointer to `run` is used only
        // by routines that `enter` calls, and is reset below.
        let left = unsafe { enter(header, body, arguments.doubles.as_ptr(), more, stack, &raw mut result) };
        CURRENT.set(outer);
        let header = self.memory.header();
        header.owner.store(outer_run, Ordering::Relaxed);
        if left == 0 {
            return Ok(Ok(result));
        }
        header.failed.store(0, Ordering::Relaxed);
        let fault = header.fault.swap(0, Ordering::Relaxed);
        Ok(Err(Left { fault, frame: header.frame.swap(0, Ordering::Relaxed) }))
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

/// Takes the most urgent request to stop, and restores the stack limit that the
/// requester has changed.
#[cold]
fn take_request(header: &Header) -> Option<StopRequest> {
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

/// Asks the run in progress on this thread where a call of `trampoline`
/// continues. Returns the address of a body, or [`refuse`].
pub fn enter_trampoline(trampoline: usize) -> usize {
    let header = CURRENT.get();
    if header.is_null() {
        return refuse();
    }
    // SAFETY: not null, so it was set by a `call` that is still in progress
    // on this thread and keeps the header alive.
    let header = unsafe { &*header };
    match with_run(header, |callbacks| callbacks.first_call(trampoline)) {
        Some(Destination::Body(body)) => body,
        Some(Destination::Interpreter(passed)) => {
            header.argument_count.store(passed as usize, Ordering::Relaxed);
            interpreter_routine as *const () as usize
        }
        None => refuse(),
    }
}

/// Passes the callbacks of the run in progress to `ask`; marks the run as
/// failed if that returns `None`.
fn with_run<T>(header: &Header, ask: impl FnOnce(&mut dyn RuntimeCallbacks) -> Option<T>) -> Option<T> {
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

/// Overwrites the vector registers, as any code called by a poll may.
#[cfg(test)]
fn clobber_vectors() {
    // SAFETY: it says which registers it changes.
    unsafe {
        std::arch::asm!(
            ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
             pxor xmm\\i, xmm\\i
             .endr",
            clobber_abi("C"),
        );
    }
}

extern "C" fn on_stop(header: &Header, stack: usize) {
    #[cfg(test)]
    clobber_vectors();
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

extern "C" fn on_overflow(header: &Header) {
    with_run(header, |callbacks| -> Option<()> {
        callbacks.stop(StopReason::Overflow);
        None
    });
}

extern "C" fn on_hot(header: &Header, address: usize) {
    with_run(header, |callbacks| {
        callbacks.hot(address);
        Some(())
    });
}

/// # Safety
/// Called by the `host` routine only: `arguments` points to `count` doubles.
unsafe extern "C" fn on_host(header: &Header, closure: u64, arguments: *const f64, count: usize) -> f64 {
    // SAFETY: the thunk has stored that many doubles there.
    let arguments = unsafe { std::slice::from_raw_parts(arguments, count) };
    with_run(header, |callbacks| callbacks.host_call(closure, arguments)).unwrap_or(0.0)
}

/// # Safety
/// Called by the `interpreter` routine only: `registers` points to the doubles
/// that were passed in registers, and `more` to those that were passed in
/// memory.
unsafe extern "C" fn on_interpreter_call(
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
    let passed = header.argument_count.load(Ordering::Relaxed);
    // SAFETY: the routine has stored all the registers there.
    let registers = unsafe { &*registers };
    let result = match passed.checked_sub(REGISTERS) {
        None | Some(0) => with_run(header, |callbacks| callbacks.interpreter_call(&registers[..passed])),
        Some(rest) => {
            // SAFETY: the caller has passed that many doubles in memory.
            let rest = unsafe { std::slice::from_raw_parts(more, rest) };
            with_run(header, |callbacks| callbacks.interpreter_call(&[registers, rest].concat()))
        }
    };
    result.unwrap_or(0.0)
}

/// Returns the address to call in place of a body that cannot be called: it
/// leaves the run and records the call site.
pub fn refuse() -> usize {
    refuse_routine as *const () as usize
}

/// Returns the address of a routine that compiled code calls by name.
pub fn support(symbol: &str) -> Option<usize> {
    (symbol == abi::PROBE).then_some(probe_routine as *const () as usize)
}

/// Stores the addresses of the runtime's routines in the header.
pub(super) fn provide_routines(header: &Header) {
    let stop = if is_x86_feature_detected!("avx") { stop_routine_avx } else { stop_routine };
    header.stop.store(stop as *const () as usize, Ordering::Relaxed);
    header.hot.store(hot_routine as *const () as usize, Ordering::Relaxed);
    header.host.store(host_routine as *const () as usize, Ordering::Relaxed);
}

/// Returns whether an address is inside the entry routine, and so in no
/// compiled code.
pub fn is_entry(address: usize) -> bool {
    let start = enter as *const () as usize;
    (start..start + ENTRY_SIZE).contains(&address)
}

/// More than the size of `enter` in bytes, and less than the distance to other
/// code that calls bodies.
const ENTRY_SIZE: usize = 192;

/// The distance of a nested run from the outer frames on the same stack, in
/// bytes: after it was left, its frames are read by routines whose own frames
/// begin there.
const GAP: usize = 8 << 10;

/// Enters compiled code. Returns 0 and sets `result`, or 1 if the run was left.
#[unsafe(naked)]
unsafe extern "C" fn enter(
    header: *const Header,
    body: usize,
    arguments: *const f64,
    more: usize,
    stack: usize,
    result: *mut f64,
) -> u64 {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push r9",
        "push qword ptr [rdi + {way_out}]",
        "mov [rdi + {way_out}], rsp",
        "lea rax, [rsp - {gap}]",
        "test r8, r8",
        "cmovz r8, rax",
        "mov rsp, r8",
        // Arguments beyond the eighth go to the stack, 16-byte aligned.
        "test rcx, rcx",
        "jz 4f",
        "lea rax, [rcx * 8 + 15]",
        "and rax, -16",
        "sub rsp, rax",
        "and rsp, -16",
        "xor eax, eax",
        "2:",
        "cmp rax, rcx",
        "jae 3f",
        "mov r10, [rdx + rax * 8 + 64]",
        "mov [rsp + rax * 8], r10",
        "inc rax",
        "jmp 2b",
        "4:",
        "and rsp, -16",
        "3:",
        "movsd xmm0, [rdx]",
        "movsd xmm1, [rdx + 8]",
        "movsd xmm2, [rdx + 16]",
        "movsd xmm3, [rdx + 24]",
        "movsd xmm4, [rdx + 32]",
        "movsd xmm5, [rdx + 40]",
        "movsd xmm6, [rdx + 48]",
        "movsd xmm7, [rdx + 56]",
        "mov rbx, rdi",
        "call rsi",
        "mov rdi, rbx",
        "xor eax, eax",
        "jmp {way_out_routine}",
        gap = const GAP,
        way_out = const offset_of!(Header, way_out),
        way_out_routine = sym way_out_routine,
    )
}

/// Restores what `enter` saved and returns from it: `rdi` is the header, `eax`
/// the value to return, `xmm0` the result.
#[unsafe(naked)]
unsafe extern "C" fn way_out_routine() {
    naked_asm!(
        "mov rsp, [rdi + {way_out}]",
        "pop qword ptr [rdi + {way_out}]",
        "pop r9",
        "movsd [r9], xmm0",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        way_out = const offset_of!(Header, way_out),
    )
}

/// Jumped to with the header in `rdi`: leaves the run.
#[unsafe(naked)]
unsafe extern "C" fn leave_routine() {
    naked_asm!("mov eax, 1", "jmp {way_out}", way_out = sym way_out_routine)
}

/// [`Header::stop`]: preserves all registers but `r11`, so that its caller
/// spills nothing. `$save` and `$restore` handle the vector registers; `rsp`
/// points to 16 slots of 32 bytes.
macro_rules! stop_routine {
    ($name:ident, $save:literal, $restore:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "mov r11, [rsp]",
                "mov [rdi + {fault}], r11",
                "mov [rdi + {frame}], rbp",
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "push rbx",
                "push r12",
                "mov rbx, rdi",
                "mov rsi, rsp",
                "mov r12, rsp",
                "sub rsp, 512",
                "and rsp, -32",
                $save,
                "call {on_stop}",
                "cmp qword ptr [rbx + {failed}], 0",
                "jne 2f",
                $restore,
                "mov rsp, r12",
                "pop r12",
                "pop rbx",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                "ret",
                "2:",
                "mov rdi, rbx",
                "jmp {leave}",
                on_stop = sym on_stop,
                fault = const offset_of!(Header, fault),
                frame = const offset_of!(Header, frame),
                failed = const offset_of!(Header, failed),
                leave = sym leave_routine,
            )
        }
    };
}

stop_routine!(stop_routine, "fxsave64 [rsp]", "fxrstor64 [rsp]");
stop_routine!(
    stop_routine_avx,
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
     vmovups [rsp + 32 * \\i], ymm\\i
     .endr",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
     vmovups ymm\\i, [rsp + 32 * \\i]
     .endr"
);

/// `kal$probe`: returns if a frame of `rax` bytes below the return address ends
/// above the stack limit, with all registers but flags preserved; else stops
/// the run. Requests to stop wait for the next poll.
#[unsafe(naked)]
unsafe extern "C" fn probe_routine() {
    naked_asm!(
        "push r11",
        "mov r11, rsp",
        "sub r11, rax",
        "jb 2f",
        "cmp r11, [rdi + {stack_limit}]",
        "jb 2f",
        "pop r11",
        "ret",
        "2:",
        "pop r11",
        "mov rax, [rsp]",
        "mov [rdi + {fault}], rax",
        "mov [rdi + {frame}], rbp",
        "mov rbx, rdi",
        // The stack is as the function's caller left it, plus what the function
        // has saved: its alignment is unknown.
        "and rsp, -16",
        "call {on_overflow}",
        "mov rdi, rbx",
        "jmp {leave}",
        on_overflow = sym on_overflow,
        stack_limit = const offset_of!(Header, stack_limit),
        fault = const offset_of!(Header, fault),
        frame = const offset_of!(Header, frame),
        leave = sym leave_routine,
    )
}

/// Implements [`Header::hot`].
#[unsafe(naked)]
unsafe extern "C" fn hot_routine() {
    naked_asm!("mov rsi, [rsp]", "jmp {on_hot}", on_hot = sym on_hot)
}

/// Implements [`Header::host`].
#[unsafe(naked)]
unsafe extern "C" fn host_routine() {
    naked_asm!(
        "mov rax, [rsp]",
        "mov [rdi + {fault}], rax",
        "mov [rdi + {frame}], rbp",
        "push rbx",
        "mov rbx, rdi",
        "call {on_host}",
        "mov rdi, rbx",
        "pop rbx",
        "cmp qword ptr [rdi + {failed}], 0",
        "jne {leave}",
        "ret",
        on_host = sym on_host,
        fault = const offset_of!(Header, fault),
        frame = const offset_of!(Header, frame),
        failed = const offset_of!(Header, failed),
        leave = sym leave_routine,
    )
}

/// Called in place of the body of an interpreted function.
#[unsafe(naked)]
unsafe extern "C" fn interpreter_routine() {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rbx",
        "sub rsp, 72",
        "movsd [rsp], xmm0",
        "movsd [rsp + 8], xmm1",
        "movsd [rsp + 16], xmm2",
        "movsd [rsp + 24], xmm3",
        "movsd [rsp + 32], xmm4",
        "movsd [rsp + 40], xmm5",
        "movsd [rsp + 48], xmm6",
        "movsd [rsp + 56], xmm7",
        // The call site, for traces.
        "mov rax, [rbp + 8]",
        "mov [rdi + {fault}], rax",
        "mov rax, [rbp]",
        "mov [rdi + {frame}], rax",
        "mov rbx, rdi",
        "mov rsi, rsp",
        "lea rdx, [rbp + 16]",
        "call {on_interpreter_call}",
        "mov rdi, rbx",
        "cmp qword ptr [rdi + {failed}], 0",
        "jne 2f",
        "add rsp, 72",
        "pop rbx",
        "pop rbp",
        "ret",
        "2:",
        // The innermost frame of compiled code is the caller's.
        "mov rax, [rbp + 8]",
        "mov [rdi + {fault}], rax",
        "mov rax, [rbp]",
        "mov [rdi + {frame}], rax",
        "jmp {leave}",
        on_interpreter_call = sym on_interpreter_call,
        fault = const offset_of!(Header, fault),
        frame = const offset_of!(Header, frame),
        failed = const offset_of!(Header, failed),
        leave = sym leave_routine,
    )
}

/// Called in place of a body: the caller's address is on top of the stack.
#[unsafe(naked)]
unsafe extern "C" fn refuse_routine() {
    naked_asm!(
        "mov rax, [rsp]",
        "mov [rdi + {fault}], rax",
        "mov [rdi + {frame}], rbp",
        "jmp {leave}",
        fault = const offset_of!(Header, fault),
        frame = const offset_of!(Header, frame),
        leave = sym leave_routine,
    )
}
