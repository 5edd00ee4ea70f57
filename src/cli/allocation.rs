//! How the C library's allocator works in the command's process.
#![allow(unsafe_code)]

/// How much the heap grows at a time, in bytes.
const STEP: libc::c_int = 1 << 20;

/// Has all threads share one heap that grows in large steps. A heap of its own,
/// which a compile worker would get, grows page by page, with a system call
/// each. Threads that compile at once rarely meet: what is small and freed
/// soon, each keeps for itself.
pub(super) fn tune() {
    // SAFETY: these are numbers for the allocator, set before there is a
    // second thread.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TOP_PAD, STEP);
    }
}
