//! Settings of the C library's allocator for the command's process.
#![allow(unsafe_code)]

/// The step by which the heap grows, in bytes.
const STEP: libc::c_int = 1 << 20;

/// Makes heaps grow in large steps, with fewer system calls.
pub(super) fn tune() {
    // SAFETY: this is a number for the allocator, set before there is a second
    // thread.
    unsafe { libc::mallopt(libc::M_TOP_PAD, STEP) };
}
