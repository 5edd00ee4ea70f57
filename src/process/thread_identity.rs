//! Which thread did something, and whether it still exists in this process.

use super::{FORKED_BY, FORKED_SINCE, Generation};
use crate::thread_address;
use std::sync::atomic::Ordering;

/// A thread of this process, or of one that it descends from. A thread that has ended, and one that
/// has begun since, may have the same identity.
#[derive(Clone, Copy, Debug)]
pub struct ThreadIdentity {
    /// The generation in which the thread did what its identity was taken for.
    pub generation: u64,
    /// The address of what the system keeps about the thread, which no two threads of a process
    /// have at the same time.
    pub address: usize,
}

impl ThreadIdentity {
    /// Returns the identity of this thread: three instructions.
    #[inline]
    pub fn current() -> Self {
        Self { generation: Generation::current().0, address: thread_address::thread_address() }
    }

    /// Returns whether this is the thread that calls.
    pub fn is_current(self) -> bool {
        self.address == thread_address::thread_address() && self.is_here()
    }

    /// Returns whether the thread belongs to this process, and was not left behind in another one
    /// by a fork.
    pub fn is_here(self) -> bool {
        let has_forked = || {
            self.address == FORKED_BY.load(Ordering::Relaxed)
                && self.generation >= FORKED_SINCE.load(Ordering::Relaxed)
        };
        Generation(self.generation).is_current() || has_forked()
    }
}
