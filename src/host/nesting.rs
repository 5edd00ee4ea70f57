//! Nested runs: closures of the host may run programs, which may call closures.
//!
//! The interpreter runs on the stack of the thread, nested runs on top of each
//! other, so a program must not be able to choose their number. And what stops
//! a run stops those nested in it.

use crate::process;
use crate::stop::StopHandle;
use std::cell::{Cell, RefCell};

/// The number of closures of the host that may be in progress on a thread when
/// a run begins. The default 2 MiB stack of a thread is 64 KiB for each; one
/// takes some 6.4 KB, plus what its closure needs.
const MOST: u32 = 32;

thread_local! {
    /// The number of closures in progress.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The stopper of the run that has called the innermost of them.
    static CALLER: RefCell<Option<StopHandle>> = const { RefCell::new(None) };
}

/// Calls a closure of the host from a run that `caller` stops. The closure must
/// not unwind. It may fork the process.
pub fn inside<T>(caller: &StopHandle, closure: impl FnOnce() -> T) -> T {
    let outer = replace(Some(caller.clone()));
    DEPTH.set(DEPTH.get() + 1);
    let result = closure();
    DEPTH.set(DEPTH.get() - 1);
    replace(outer);
    process::settle();
    result
}

/// Sets the innermost caller; returns the previous one. Does nothing while the
/// thread ends.
fn replace(caller: Option<StopHandle>) -> Option<StopHandle> {
    CALLER.try_with(|place| place.replace(caller)).ok().flatten()
}

/// Returns whether a closure of the host is in progress on this thread.
#[inline]
pub fn is_inside() -> bool {
    DEPTH.get() != 0
}

/// Returns whether too many closures are in progress for a run to begin here.
pub fn is_too_deep() -> bool {
    DEPTH.get() > MOST
}

/// Returns the stopper of the run that has called the innermost closure in
/// progress.
pub fn caller() -> Option<StopHandle> {
    CALLER.try_with(|caller| caller.borrow().clone()).ok().flatten()
}
