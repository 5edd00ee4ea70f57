//! An asymmetric fence, for a frequent and a rare side.
//!
//! Two threads that each write one word and then read the other's need a full
//! fence in between. Where one side is rare, it can pay for both: it makes the
//! system execute a fence on every running thread of the process
//! (membarrier(2)), and the frequent side only keeps the compiler from
//! reordering.
#![allow(unsafe_code)]

use std::sync::atomic::{self, Ordering};

/// The two sides of a fence.
#[derive(Clone, Copy, Debug)]
pub struct Fence {
    /// Whether the rare side can pay for both.
    asymmetric: bool,
}

impl Fence {
    /// Registers the process for membarrier(2). Takes microseconds while the
    /// process has one thread, and ten milliseconds once it has more.
    pub fn announce() {
        membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    }

    /// Creates a fence; without support by the system, both sides pay.
    pub fn new() -> Self {
        Self { asymmetric: membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) }
    }

    /// Executes the frequent side.
    #[inline]
    pub fn light(self) {
        if self.asymmetric {
            atomic::compiler_fence(Ordering::SeqCst);
        } else {
            atomic::fence(Ordering::SeqCst);
        }
    }

    /// Executes the rare side.
    pub fn heavy(self) {
        atomic::fence(Ordering::SeqCst);
        if self.asymmetric {
            // Cannot fail once it is registered.
            membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        }
    }
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the system call takes numbers only, and touches no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}
