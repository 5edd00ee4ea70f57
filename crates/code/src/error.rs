//! Why there is no memory for code.

use std::io;

/// Why there is no memory for code.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// The system refuses it.
    #[error("no code memory: {call}: {error}")]
    System {
        /// The system call that failed.
        call: &'static str,
        /// What it failed with.
        #[source]
        error: io::Error,
    },
    /// There is not so much left.
    #[error("the code memory is full: of {limit} bytes {used} are in use, and {needed} more are needed")]
    Full {
        /// How much may be in use, in bytes.
        limit: u64,
        /// How much is in use, in bytes.
        used: u64,
        /// How much was asked for, in bytes.
        needed: u64,
    },
    /// Something must be aligned more than a page is.
    #[error("a section's alignment is larger than a page")]
    Alignment,
    /// The process was forked, and another one may use the same memory.
    #[error("the code memory could not be copied when the process was forked")]
    Forked,
}
