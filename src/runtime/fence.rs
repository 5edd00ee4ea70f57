//! A fence between what is done often and what is done rarely.
//!
//! Two threads that each write one thing and then look at the other's need a
//! full fence in between. Where one side is rare, it can pay for both: the
//! system then has every running thread of the process pass a fence
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
    /// Tells the system that there will be fences. That takes it microseconds
    /// while the process has one thread, and ten milliseconds once it has more.
    pub fn announce() {
        membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    }

    /// A fence; where the system does not help, both sides pay.
    pub fn new() -> Self {
        Self { asymmetric: membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) }
    }

    /// The frequent side.
    #[inline]
    pub fn light(self) {
        if self.asymmetric {
            atomic::compiler_fence(Ordering::SeqCst);
        } else {
            atomic::fence(Ordering::SeqCst);
        }
    }

    /// The rare side.
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
