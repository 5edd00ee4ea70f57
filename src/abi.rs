//! The contract between compiled code and the process that runs it.
//!
//! Every compiled function takes a pointer to an *execution context* as a
//! hidden first parameter, in an integer register that no double competes for,
//! and then its doubles the C way. Code contains no address of the process: it
//! reaches everything relative to that pointer, at offsets that are fixed
//! ([`Header`]) or that enter as symbols when the object is linked
//! ([`Symbol`]). So one piece of code serves every context of an engine.

use crate::name::Name;
use crate::stop::Stoppable;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize};

/// The start of an execution context, as compiled code and the entry routines
/// see it.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Header {
    /// The lowest stack address that code may use; the largest address asks
    /// it to stop at the next check.
    pub limit: AtomicUsize,
    /// Stack pointer of the innermost entry: the way out. 0 outside.
    pub way_out: AtomicUsize,
    /// How many function entries and loop rounds are left, in code that was
    /// compiled to count them; below 0 asks it to stop.
    pub fuel: AtomicI64,
    /// Not 0 once the current run has failed and must leave.
    pub failed: AtomicU64,
    /// Where the run failed: an address in the innermost function.
    pub fault: AtomicUsize,
    /// The frame pointer of the innermost function where the run failed.
    pub frame: AtomicUsize,
    /// What `limit` is while nobody asks to stop.
    pub stack_limit: AtomicUsize,
    /// Who asks to stop: bits that the runtime defines.
    pub requests: AtomicU64,
    /// The runtime's own pointer, opaque to code.
    pub owner: AtomicUsize,
    /// How many arguments the call passes that is on its way to a tape.
    pub argument_count: AtomicUsize,
    /// How many slots of their stack tapes may use; 0 has a tape look, at its
    /// next check, whether it is to stop and whether there is news.
    pub interp_limit: AtomicUsize,
    /// Not 0 once code has been made that a tape may have waited for.
    pub code_ready: AtomicUsize,
    /// The routine that code calls when the stack check fails:
    /// `void stop(context)`. It keeps all registers, as LLVM's convention
    /// `preserve_all` wants it.
    pub stop: AtomicUsize,
    /// The routine that code calls when it has been called often:
    /// `void hot(context)`.
    pub hot: AtomicUsize,
    /// The routine that a closure's thunk calls:
    /// `double host(context, name, arguments, count)`.
    pub host: AtomicUsize,
}

/// What all that runs the program of one context works on, compiled code and
/// tapes alike.
pub trait Memory: Stoppable {
    /// The variables, by their numbers.
    fn variables(&self) -> &[AtomicU64];

    /// See [`Header::fuel`].
    fn fuel(&self) -> &AtomicI64;

    /// See [`Header::interp_limit`].
    fn interp_limit(&self) -> &AtomicUsize;

    /// See [`Header::code_ready`].
    fn code_ready(&self) -> &AtomicUsize;
}

/// The numbers of variables: the same in every context of an engine.
#[derive(Debug, Default)]
pub struct Variables(Mutex<FxHashMap<Name, u32>>);

impl Variables {
    /// The number of a variable; `None` if there are too many.
    pub fn number(&self, name: Name) -> Option<u32> {
        let mut numbers = self.0.lock();
        let next = numbers.len();
        if let Some(number) = numbers.get(&name) {
            return Some(*number);
        }
        (next < VARIABLE_COUNT).then(|| *numbers.entry(name).or_insert(next as u32))
    }
}

/// Offset of the fuel counter.
pub const FUEL: usize = std::mem::offset_of!(Header, fuel);

/// Offset of the address of [`Header::stop`].
pub const STOP: usize = std::mem::offset_of!(Header, stop);

/// Offset of the address of [`Header::hot`].
pub const HOT: usize = std::mem::offset_of!(Header, hot);

/// Offset of the address of [`Header::host`].
pub const HOST: usize = std::mem::offset_of!(Header, host);

/// Offset of the first dispatch slot in an execution context, in bytes.
pub const SLOTS: usize = 4096;

/// How many dispatch slots there are.
pub const SLOT_COUNT: usize = 1 << 24;

/// Offset of the first variable.
pub const VARIABLES: usize = SLOTS + SLOT_COUNT * 8;

/// How many variables there are.
pub const VARIABLE_COUNT: usize = 1 << 20;

/// Size of an execution context in bytes; almost all of it is never touched.
pub const SIZE: usize = VARIABLES + VARIABLE_COUNT * 8;

/// The routine that code calls before it makes a frame of [`SMALL_FRAME`] bytes
/// or more, by LLVM's convention for stack probes: the size is in `rax`, and
/// all registers are as they were for the function.
pub const PROBE: &str = "kal$probe";

/// Frames below this size, in bytes, are made without asking. Several fit what
/// is reserved below the stack limit.
pub const SMALL_FRAME: &str = "32768";

/// The library function behind `^`.
pub const POW: &str = "kal$pow";

/// What stands for an offset in an object until it is linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symbol<'a> {
    /// Offset of the dispatch slot for calls of a function with that many
    /// arguments.
    Slot(&'a str, u32),
    /// Offset of a variable.
    Variable(&'a str),
}

impl<'a> Symbol<'a> {
    /// The linker symbol. `$` cannot occur in a name, so none collide.
    pub fn mangle(self) -> String {
        match self {
            Self::Slot(function, arity) => format!("{function}$slot${arity}"),
            Self::Variable(variable) => format!("{variable}$variable"),
        }
    }

    /// What a linker symbol stands for, if it is one of these.
    pub fn parse(symbol: &'a str) -> Option<Self> {
        if let Some(variable) = symbol.strip_suffix("$variable") {
            return Some(Self::Variable(variable));
        }
        let (function, arity) = symbol.rsplit_once("$slot$")?;
        Some(Self::Slot(function, arity.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_survive_mangling() {
        for symbol in [Symbol::Slot("f", 0), Symbol::Slot("binary$", 2), Symbol::Variable("größe")] {
            assert_eq!(Symbol::parse(&symbol.mangle()), Some(symbol));
        }
        assert_eq!(Symbol::parse("f$impl"), None);
        assert_eq!(Symbol::parse("fmod"), None);
    }
}
