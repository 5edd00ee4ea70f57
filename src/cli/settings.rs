//! Settings of the command's process.
#![allow(unsafe_code)]

/// The step by which the heap grows, in bytes.
const STEP: libc::c_int = 1 << 20;

/// Sets up the process, before it has a second thread.
pub(super) fn make() {
    // SAFETY: this is a number for the allocator. Heaps grow in large steps, with fewer
    // system calls.
    unsafe { libc::mallopt(libc::M_TOP_PAD, STEP) };
    // SAFETY: no handler is replaced that anybody needs: a write beyond the limit of files
    // is an error to report, or a cache that is not written, and not the end.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
