//! The contract between compiled code and the process that runs it.
//!
//! Every compiled function takes a pointer to an *execution context* as a
//! hidden first parameter, in an integer register that no double competes for,
//! and then its doubles by the C calling convention. Code contains no address
//! of the process: it reaches everything relative to that pointer, at offsets
//! that are fixed ([`Header`]) or that enter as symbols when the object is
//! linked ([`Symbol`]). So one piece of code serves every context of an engine.

use super::VARIABLE_COUNT;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize};

/// The instruction that a *context-free* body begins with, `nop [rax + rax + …]`: code of LLVM that
/// does not use its execution context, so it reads and writes no variable, calls nothing
/// through a slot and polls nowhere. It is small, and may run on any stack.
pub const CONTEXT_FREE: u64 = u64::from_le_bytes([0x0f, 0x1f, 0x84, 0x00, 0x4b, 0x61, 0x6c, 0x2e]);

/// The instruction that an *environment-free* body begins with: context-free code in which each
/// instruction says itself how it rounds, and raises no exception. It computes the same in
/// every floating-point environment, unless subnormal numbers are flushed to zero there, and leaves that
/// as it is.
pub const ENVIRONMENT_FREE: u64 = u64::from_le_bytes([0x0f, 0x1f, 0x84, 0x00, 0x4b, 0x61, 0x6c, 0x2f]);

/// What the address of a context-free body is a multiple of, in bytes.
pub const CONTEXT_FREE_ALIGNMENT: usize = 16;

/// The start of an execution context, as compiled code and the entry routines
/// see it.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Header {
    /// The lowest stack address that code may use. The largest address makes
    /// the next safepoint poll fail.
    pub limit: AtomicUsize,
    /// The stack pointer that leaving a run restores; 0 outside of runs.
    pub way_out: AtomicUsize,
    /// The remaining function entries and loop iterations, in code that was
    /// compiled to count them. Below 0, the next safepoint poll fails.
    pub fuel: AtomicI64,
    /// Not 0 once the current run has failed and must leave.
    pub failed: AtomicU64,
    /// Where the run failed: an address in the innermost function.
    pub fault: AtomicUsize,
    /// The frame pointer of the innermost function where the run failed.
    pub frame: AtomicUsize,
    /// The value of `limit` without a request to stop.
    pub stack_limit: AtomicUsize,
    /// The pending requests to stop: bits that the runtime defines.
    pub requests: AtomicU64,
    /// The runtime's own pointer, opaque to code.
    pub owner: AtomicUsize,
    /// The number of arguments of a call that is on its way to the interpreter.
    pub argument_count: AtomicUsize,
    /// Interpreter stack limit in slots. Zero forces the next safepoint poll to
    /// take its slow path.
    pub interp_limit: AtomicUsize,
    /// Not 0 once code has become ready that the interpreter may wait for.
    pub code_ready: AtomicUsize,
    /// The routine that a failing safepoint poll calls: `void stop(context)`.
    /// Preserves all registers, as LLVM's convention `preserve_all` requires.
    pub stop: AtomicUsize,
    /// The routine that a failing safepoint poll of optimised code calls in a loop: `bool
    /// ask(context)`, whether the run must leave, by calling [`Header::leave`]. In between,
    /// the code stores the variables that it keeps in registers during the loop. Preserves
    /// all registers but `rax`.
    pub ask: AtomicUsize,
    /// The routine that leaves the run: `noreturn void leave(context)`.
    pub leave: AtomicUsize,
    /// The routine that hot baseline code calls: `void hot(context)`.
    pub hot: AtomicUsize,
    /// The routine that a hot loop of baseline code calls:
    /// `struct { void *code; uint64_t left; } hot_loop(context, node, values)`, of the loop's node and
    /// the number of operand-stack values that are live across it. Returns OSR code to
    /// continue in, or null, and after how many iterations it is to be called again.
    pub hot_loop: AtomicUsize,
    /// The routine that a closure's thunk jumps to, with the arguments of the call in
    /// place, the number of the closure in `eax` and that of its arguments in `r10d`.
    pub host: AtomicUsize,
}

/// The number of doubles that are passed in registers; the others are on the stack.
pub const REGISTERS: usize = 8;

/// Offset of the fuel counter, in bytes.
pub const FUEL: usize = std::mem::offset_of!(Header, fuel);

/// Offset of the requests to stop, in bytes.
pub const REQUESTS: usize = std::mem::offset_of!(Header, requests);

/// Offset of the address of [`Header::stop`], in bytes.
pub const STOP: usize = std::mem::offset_of!(Header, stop);

/// Offset of the address of [`Header::ask`], in bytes.
pub const ASK: usize = std::mem::offset_of!(Header, ask);

/// Offset of the address of [`Header::leave`], in bytes.
pub const LEAVE: usize = std::mem::offset_of!(Header, leave);

/// Offset of the address of [`Header::hot`], in bytes.
pub const HOT: usize = std::mem::offset_of!(Header, hot);

/// Offset of the address of [`Header::hot_loop`], in bytes.
pub const HOT_LOOP: usize = std::mem::offset_of!(Header, hot_loop);

/// Offset of the first dispatch slot in an execution context, in bytes: on the
/// page of the header, so that a small program touches no page for its slots.
pub const SLOTS: usize = 256;

const _: () = assert!(size_of::<Header>() <= SLOTS);

/// The number of dispatch slots.
pub const SLOT_COUNT: usize = 1 << 22;

/// Offset of the first variable, in bytes.
pub const VARIABLES: usize = SLOTS + SLOT_COUNT * 8;

/// Offset of the first call counter, in bytes: one of four bytes for each
/// dispatch slot, in which baseline code counts its calls.
pub const COUNTERS: usize = VARIABLES + VARIABLE_COUNT * 8;

/// Offset of the first address of numbers, in bytes: one of eight bytes for each
/// dispatch slot, where code finds the numbers of its definition that it shares
/// with others of the same shape.
pub const NUMBERS: usize = COUNTERS + SLOT_COUNT * 4;

/// Size of an execution context in bytes; almost all of it is never touched.
pub const SIZE: usize = NUMBERS + SLOT_COUNT * 8;

/// The routine that code calls before it makes a frame of [`SMALL_FRAME`] bytes
/// or more, by LLVM's convention for stack probes: the size is in `rax`, and
/// all registers are as at the function's entry.
pub const PROBE: &str = "kal$probe";

/// Frames below this size, in bytes, are made without a probe. Several fit the
/// reserve below the stack limit.
pub const SMALL_FRAME: usize = 32 << 10;

/// An offset in an object, a symbol until the object is linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symbol<'a> {
    /// Offset of the dispatch slot for calls of a name with that number of
    /// arguments.
    Slot(&'a str, u32),
    /// Offset of the call counter of a name with that number of arguments.
    Counter(&'a str, u32),
    /// Offset of the address of the numbers of a name with that number of
    /// arguments.
    Numbers(&'a str, u32),
    /// Offset of a variable.
    Variable(&'a str),
}

/// Returns the symbol of what a function with that number of arguments has in the execution
/// context. Baseline code has several for each call, and formatting takes ten times as long.
fn of_function(function: &str, kind: &str, arity: u32) -> String {
    match char::from_digit(arity, 10) {
        Some(digit) => [function, kind, digit.encode_utf8(&mut [0; 4])].concat(),
        None => [function, kind, &arity.to_string()].concat(),
    }
}

impl<'a> Symbol<'a> {
    /// Returns the linker symbol. `$` cannot occur in a name, so none collide.
    pub fn mangle(self) -> String {
        match self {
            Self::Slot(function, arity) => of_function(function, "$slot$", arity),
            Self::Counter(function, arity) => of_function(function, "$counter$", arity),
            Self::Numbers(function, arity) => of_function(function, "$numbers$", arity),
            Self::Variable(variable) => [variable, "$variable"].concat(),
        }
    }

    /// Returns whether a linker symbol is of a slot.
    pub fn is_of_slot(symbol: &str) -> bool {
        match Symbol::parse(symbol) {
            Some(Symbol::Slot(..) | Symbol::Counter(..) | Symbol::Numbers(..)) => true,
            Some(Symbol::Variable(_)) | None => false,
        }
    }

    /// Parses a linker symbol; `None` if it is not an offset.
    pub fn parse(symbol: &'a str) -> Option<Self> {
        let (rest, last) = split_last(symbol)?;
        if last == "variable" {
            return Some(Self::Variable(rest));
        }
        let (function, kind) = split_last(rest)?;
        let arity = last.parse().ok()?;
        match kind {
            "slot" => Some(Self::Slot(function, arity)),
            "counter" => Some(Self::Counter(function, arity)),
            "numbers" => Some(Self::Numbers(function, arity)),
            _ => None,
        }
    }
}

/// Returns what is before and after the last `$`, which is near the end of most symbols.
fn split_last(symbol: &str) -> Option<(&str, &str)> {
    let at = symbol.bytes().rposition(|byte| byte == b'$')?;
    Some((&symbol[..at], &symbol[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_survive_mangling() {
        let slots = [
            Symbol::Slot("f", 0),
            Symbol::Slot("binary$", 2),
            Symbol::Counter("binary$", 2),
            Symbol::Numbers("f", 1),
        ];
        for symbol in slots.into_iter().chain([Symbol::Variable("größe")]) {
            assert_eq!(Symbol::parse(&symbol.mangle()), Some(symbol));
        }
        assert_eq!(Symbol::parse("f$impl"), None);
        assert_eq!(Symbol::parse("fmod"), None);
    }
}
