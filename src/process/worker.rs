//! What compile workers need to know: which threads a fork has left behind,
//! which symbols, and how many addresses there are.
#![allow(unsafe_code)]

use super::{AT_FORK, AtFork, FIRST_THREAD, FORKED_BY, Generation, NEXT_THREAD, NUMBER, watch};
use std::sync::atomic::Ordering;

/// Identifies a thread of this process, or of one that it descends from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadNumber(pub u64);

impl ThreadNumber {
    /// Returns the number of this thread.
    #[inline]
    pub fn current() -> Self {
        if NUMBER.get() == 0 {
            NUMBER.set(NEXT_THREAD.fetch_add(1, Ordering::Relaxed));
        }
        Self(NUMBER.get())
    }

    /// Returns whether the thread belongs to this process, and was not left
    /// behind in another one by a fork.
    pub fn is_here(self) -> bool {
        self.0 >= FIRST_THREAD.load(Ordering::Relaxed) || self.0 == FORKED_BY.load(Ordering::Relaxed)
    }
}

impl Generation {
    /// Returns a suffix that distinguishes its symbols from those of its parent
    /// processes: a symbol that was being compiled at a fork stays defined in
    /// the child, but is never ready.
    pub fn suffix(self) -> String {
        if self.0 == 0 { String::new() } else { format!("$fork{}", self.0) }
    }
}

/// Sets the callbacks around forks and begins to watch forks; only the first
/// call has an effect.
pub fn at_fork(what: AtFork) {
    let _ = AT_FORK.set(what);
    watch();
}

/// Returns the address space limit of this process in bytes; `u64::MAX` if
/// there is none.
pub fn most_addresses() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: writes the limit to the place it is given, which is valid.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    limit.rlim_cur
}
