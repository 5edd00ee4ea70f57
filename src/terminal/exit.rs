//! How commands end.
#![allow(unsafe_code)]

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Success.
    Fine,
    /// The program failed, or could not be read.
    Failed,
    /// The command line is wrong.
    Usage,
    /// There is a bug in Kal.
    Bug,
    /// The time limit was reached.
    Deadline,
    /// The program was interrupted.
    Interrupted,
    /// Standard output was closed.
    BrokenPipe,
}

impl Exit {
    /// Returns how a process of this program ended that has ended with this code.
    #[cfg(feature = "cli")]
    pub(crate) fn of_code(code: i32) -> Self {
        let all = [Self::Fine, Self::Usage, Self::Bug, Self::Deadline, Self::Interrupted, Self::BrokenPipe];
        all.into_iter().find(|exit| i32::from(exit.code()) == code).unwrap_or(Self::Failed)
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            // `EX_SOFTWARE` of `sysexits.h`.
            Self::Bug => 70,
            // The exit codes of `timeout` and of shells for these cases.
            Self::Deadline => 124,
            Self::Interrupted => 130,
            Self::BrokenPipe => 141,
        }
    }
}

/// Ends the process. What is buffered must have been flushed; what a run that
/// hangs has not flushed is lost, since it may hold the lock of its output.
///
/// Nothing is freed first: that takes time, and a compile worker may still be
/// busy with a job whose result is no longer needed.
pub(crate) fn leave(exit: Exit) -> ! {
    // SAFETY: `_exit` has no preconditions; it runs no handlers that could
    // destroy what a worker is using.
    unsafe { libc::_exit(i32::from(exit.code())) }
}
