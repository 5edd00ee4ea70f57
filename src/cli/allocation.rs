//! Settings of the C library's allocator for the command's process.
#![allow(unsafe_code)]

/// The step by which the heap grows, in bytes.
const STEP: libc::c_int = 1 << 20;

/// Makes all threads share one heap that grows in large steps. A compile worker
/// would otherwise get a heap of its own, which grows page by page, with a
/// system call each. Contention is low: every thread caches its small blocks.
pub(super) fn tune() {
    // SAFETY: these are numbers for the allocator, set before there is a
    // second thread.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TOP_PAD, STEP);
    }
}
