//! Runs inside runs: closures of the host may run programs, which may call
//! closures.
//!
//! Tapes run on the stack of the thread, one run on top of the other, so a
//! program must not choose how many there are. And what stops a run stops those
//! inside of it.

use crate::stop::Stopper;
use std::cell::{Cell, RefCell};

/// How many closures of the host may be in progress on a thread when a run
/// begins. The 2 MiB of stack that a thread has if nobody asks for more are 64 KiB
/// for each; one takes some 6.4 KB, and what its closure needs.
const MOST: u32 = 32;

thread_local! {
    /// How many closures are in progress.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// What stops the run that has called the innermost of them.
    static CALLER: RefCell<Option<Stopper>> = const { RefCell::new(None) };
}

/// Calls a closure of the host from a run that `caller` stops. It must not
/// unwind.
pub fn inside<T>(caller: &Stopper, closure: impl FnOnce() -> T) -> T {
    let outer = replace(Some(caller.clone()));
    DEPTH.set(DEPTH.get() + 1);
    let result = closure();
    DEPTH.set(DEPTH.get() - 1);
    replace(outer);
    result
}

/// Without effect while the thread ends.
fn replace(caller: Option<Stopper>) -> Option<Stopper> {
    CALLER.try_with(|place| place.replace(caller)).ok().flatten()
}

/// Returns whether a closure of the host is in progress on this thread.
#[inline]
pub fn is_inside() -> bool {
    DEPTH.get() != 0
}

/// Returns whether no run may begin here.
pub fn is_too_deep() -> bool {
    DEPTH.get() > MOST
}

/// Returns what stops the run that has called the innermost closure in progress.
pub fn caller() -> Option<Stopper> {
    CALLER.try_with(|caller| caller.borrow().clone()).ok().flatten()
}
