//! Settings of the command's process.
#![allow(unsafe_code)]

use crate::process;

/// The step by which the heap grows, in bytes.
const STEP: libc::c_int = 1 << 20;

/// Where there are fewer addresses than this, all threads share a heap: one of its own takes
/// up to 128 MB of them.
const FEW_ADDRESSES: u64 = 8 << 30;

/// Sets up the process, before it has a second thread.
pub(super) fn make() {
    // SAFETY: this is a number for the allocator. Heaps grow in large steps, with fewer
    // system calls.
    unsafe { libc::mallopt(libc::M_TOP_PAD, STEP) };
    if process::most_addresses() < FEW_ADDRESSES {
        // SAFETY: this is a number for the allocator.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
    // SAFETY: no handler is replaced that anybody needs: a write beyond the limit of files
    // is an error to report, or a cache that is not written, and not the end.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
