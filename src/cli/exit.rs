//! How commands end.
#![allow(unsafe_code)]

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// All is well.
    Fine,
    /// The program, or reading it, failed.
    Failed,
    /// The command line is wrong.
    Usage,
    /// The time is over.
    Deadline,
    /// Somebody interrupted the program.
    Interrupted,
    /// Standard output was closed.
    BrokenPipe,
}

impl Exit {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            // What `timeout` and shells show for such ends.
            Self::Deadline => 124,
            Self::Interrupted => 130,
            Self::BrokenPipe => 141,
        }
    }
}

/// Ends the process. What is buffered must have been flushed; what a run that
/// hangs has not flushed is lost, since it may hold the lock of its output.
///
/// Nothing is taken apart first: that takes time, and a compile worker may
/// still be busy with something nobody waits for any more.
pub(super) fn leave(exit: Exit) -> ! {
    // SAFETY: `_exit` has no preconditions; it runs no handlers that could
    // meet a worker using what they destroy.
    unsafe { libc::_exit(i32::from(exit.code())) }
}
