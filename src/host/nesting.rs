//! How deep runs are inside runs: closures of the host may run programs, which
//! may call closures.
//!
//! Tapes run on the stack of the thread, one run on top of the other, so a
//! program must not choose how many there are.

use std::cell::Cell;

/// How many closures of the host may be in progress on a thread when a run
/// begins. The 2 MiB of stack that a thread has if nobody asks for more are 64 KiB
/// for each; one takes some 6.4 KB, and what its closure needs.
const MOST: u32 = 32;

thread_local! {
    /// How many closures are in progress.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Calls a closure of the host. It must not unwind.
pub fn inside<T>(closure: impl FnOnce() -> T) -> T {
    DEPTH.set(DEPTH.get() + 1);
    let result = closure();
    DEPTH.set(DEPTH.get() - 1);
    result
}

/// Whether no run may begin here.
#[inline]
pub fn is_too_deep() -> bool {
    DEPTH.get() > MOST
}
