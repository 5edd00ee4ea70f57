//! What compile workers need to know: which symbols a fork has left behind, and
//! how many addresses there are.
#![allow(unsafe_code)]

use super::{AT_FORK, AtFork, Generation, watch};

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
