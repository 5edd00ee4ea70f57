//! The routines for x86-64.
//!
//! They are in assembly, because they switch stacks and jump over frames. They
//! rely only on the System V calling convention:
//!
//! - `enter` saves the callee-saved registers, stores its stack pointer as the
//!   *way out*, switches to the execution's stack, loads the arguments and
//!   calls the body.
//! - `leave` takes the way out: it is jumped to, never called.
//! - `stop` and `probe` are called by compiled code. They call Rust and then
//!   return, or leave.
//! - `interpreter` is called in place of the body of an interpreted function, and
//!   `host`, by a thunk, in place of a closure of the host; one routine for any
//!   number of arguments, since their positions do not depend on it. They call
//!   Rust in the same way.
//! - `refuse` is called in place of a body that cannot be called.
#![allow(unsafe_code)]

use super::callbacks::{on_host, on_hot, on_hot_loop, on_interpreter_call, on_overflow, on_stop};
use crate::abi::{self, Header};
use std::arch::naked_asm;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

/// Returns the address to call in place of a body that cannot be called: it
/// leaves the run and records the call site.
pub fn refuse() -> usize {
    refuse_routine as *const () as usize
}

/// Returns the address to call in place of the body of an interpreted function.
pub(super) fn interpreter() -> usize {
    interpreter_routine as *const () as usize
}

/// Returns the address of a routine that compiled code calls by name.
pub fn support(symbol: &str) -> Option<usize> {
    (symbol == abi::PROBE).then_some(probe_routine as *const () as usize)
}

/// Stores the addresses of the runtime's routines in the header.
pub(super) fn provide_routines(header: &Header) {
    let has_avx = is_x86_feature_detected!("avx");
    let stop = if has_avx { stop_routine_avx } else { stop_routine };
    let ask = if has_avx { ask_routine_avx } else { ask_routine };
    header.stop.store(stop as *const () as usize, Ordering::Relaxed);
    header.ask.store(ask as *const () as usize, Ordering::Relaxed);
    header.leave.store(leave_routine as *const () as usize, Ordering::Relaxed);
    header.hot.store(hot_routine as *const () as usize, Ordering::Relaxed);
    header.hot_loop.store(hot_loop_routine as *const () as usize, Ordering::Relaxed);
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
pub(super) unsafe extern "C" fn enter(
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
        // Where the stack of the thread goes on, 16-byte aligned: see `thread_stack`.
        "sub rsp, 8",
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

/// Returns the top of the free part of the thread's stack, by the way out of its outermost run
/// there.
pub(super) fn thread_stack(way_out: usize) -> usize {
    way_out - 8
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

/// [`Header::stop`] and [`Header::ask`]: preserve all registers but `r11`, and `rax` where
/// that is the answer, so that their callers spill nothing. `$save` and `$restore` handle
/// the vector registers; `rsp` points to 16 slots of 32 bytes. After `$end`, `r11` is 0
/// unless the run has failed.
macro_rules! poll_routine {
    ($name:ident, $on_stop:path, $save:literal, $restore:literal, $end:literal) => {
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
                $restore,
                "mov rsp, r12",
                "mov r11, [rbx + {failed}]",
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
                $end,
                "ret",
                "2:",
                "jmp {leave}",
                on_stop = sym $on_stop,
                fault = const offset_of!(Header, fault),
                frame = const offset_of!(Header, frame),
                failed = const offset_of!(Header, failed),
                leave = sym leave_routine,
            )
        }
    };
}

/// The routines for processors without AVX, and with it: those that leave, then those that
/// answer.
macro_rules! poll_routines {
    ([$stop:ident, $stop_avx:ident], [$ask:ident, $ask_avx:ident], $on_stop:path) => {
        poll_routines!($stop, $stop_avx, $on_stop, "test r11, r11\njnz 2f");
        poll_routines!($ask, $ask_avx, $on_stop, "xor eax, eax\ntest r11, r11\nsetnz al");
    };
    ($plain:ident, $avx:ident, $on_stop:path, $end:literal) => {
        poll_routine!($plain, $on_stop, "fxsave64 [rsp]", "fxrstor64 [rsp]", $end);
        poll_routine!(
            $avx,
            $on_stop,
            ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
             vmovups [rsp + 32 * \\i], ymm\\i
             .endr",
            ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
             vmovups ymm\\i, [rsp + 32 * \\i]
             .endr",
            $end
        );
    };
}

poll_routines!([stop_routine, stop_routine_avx], [ask_routine, ask_routine_avx], on_stop);

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

/// Implements [`Header::hot_loop`].
#[unsafe(naked)]
unsafe extern "C" fn hot_loop_routine() {
    naked_asm!("mov rcx, [rsp]", "jmp {on_hot_loop}", on_hot_loop = sym on_hot_loop)
}

/// A routine that is called in place of a body, with the arguments of a call: stores those
/// in registers, and passes them, the place of the others and what a thunk says to Rust.
macro_rules! outgoing_routine {
    ($name:ident, $on_call:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
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
                "mov r11, [rbp + 8]",
                "mov [rdi + {fault}], r11",
                "mov r11, [rbp]",
                "mov [rdi + {frame}], r11",
                "mov rbx, rdi",
                "mov rsi, rsp",
                "lea rdx, [rbp + 16]",
                "mov ecx, r10d",
                "mov r8d, eax",
                "call {on_call}",
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
                on_call = sym $on_call,
                fault = const offset_of!(Header, fault),
                frame = const offset_of!(Header, frame),
                failed = const offset_of!(Header, failed),
                leave = sym leave_routine,
            )
        }
    };
}

outgoing_routine!(interpreter_routine, on_interpreter_call);
outgoing_routine!(host_routine, on_host);

/// The size of a thunk, in bytes.
pub const THUNK: usize = 17;

/// Returns the code that is called in place of a closure of the host, which has that number
/// and takes that many arguments. It can run anywhere.
pub fn thunk(closure: u32, arity: u32) -> [u8; THUNK] {
    let mut code = [0; THUNK];
    // mov eax, closure
    code[0] = 0xb8;
    code[1..5].copy_from_slice(&closure.to_le_bytes());
    // mov r10d, arity
    code[5..7].copy_from_slice(&[0x41, 0xba]);
    code[7..11].copy_from_slice(&arity.to_le_bytes());
    // jmp [rdi + host]
    code[11..13].copy_from_slice(&[0xff, 0xa7]);
    code[13..].copy_from_slice(&(offset_of!(Header, host) as u32).to_le_bytes());
    code
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

/// A poll that overwrites the vector registers, as any code that it calls may.
#[cfg(test)]
pub(super) mod testing {
    use super::*;

    poll_routines!(
        [clobbering_stop, clobbering_stop_avx],
        [clobbering_ask, clobbering_ask_avx],
        clobber_and_stop
    );

    extern "C" fn clobber_and_stop(header: &Header, stack: usize) {
        // SAFETY: it says which registers it changes.
        unsafe {
            std::arch::asm!(
                ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
                 pxor xmm\\i, xmm\\i
                 .endr",
                clobber_abi("C"),
            );
        }
        on_stop(header, stack);
    }

    /// Makes the code of an execution context poll with it.
    pub(in crate::runtime) fn provide(header: &Header) {
        let has_avx = is_x86_feature_detected!("avx");
        let stop = if has_avx { clobbering_stop_avx } else { clobbering_stop };
        let ask = if has_avx { clobbering_ask_avx } else { clobbering_ask };
        header.stop.store(stop as *const () as usize, Ordering::Relaxed);
        header.ask.store(ask as *const () as usize, Ordering::Relaxed);
    }
}
