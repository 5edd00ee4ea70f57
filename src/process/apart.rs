//! Work that a process leaves to a child of its own when it ends.
#![allow(unsafe_code)]

use super::ENDS;
use rustix::process::{Pid, setpgid};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem;
use std::os::fd::RawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Where the system lists what files a process has open.
const OPEN_FILES: &str = "/proc/self/fd";

/// The first file that is not a standard stream.
const FIRST_FILE: RawFd = 3;

/// Returns whether this process may leave a child. The first process of a container leaves none:
/// all others end with it.
pub fn may_leave_child() -> bool {
    std::process::id() != 1
}

/// Forks this process, which is about to end, and returns; `work` is done in the child, in a
/// process group of its own, so that it has no part in the signals of a terminal, and without
/// the streams and files that this process was started with, so that nothing waits for it. The
/// child has no other thread and must run no code of a program: it shares it with this process.
/// It ends with the work.
///
/// # Errors
/// Those of the system, and that this process [may leave](may_leave_child) no child; then nothing
/// has been done.
pub fn leave_to_child(work: impl FnOnce()) -> io::Result<()> {
    if !may_leave_child() {
        return Err(io::Error::other("the first process"));
    }
    let nowhere = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    // Code need not be copied.
    ENDS.set(true);
    // SAFETY: the handlers of this library see to it that no lock of it is held by another
    // thread, and the C library does so for its own.
    let child = unsafe { libc::fork() };
    match child {
        -1 => {
            ENDS.set(false);
            Err(io::Error::last_os_error())
        }
        0 => {
            let _ = catch_unwind(AssertUnwindSafe(|| {
                detach(nowhere);
                work();
            }));
            // SAFETY: it runs no handlers, and has no other preconditions.
            unsafe { libc::_exit(0) }
        }
        _ => {
            // Both do it: one of them comes first.
            let _ = Pid::from_raw(child).map(|child| setpgid(Some(child), Some(child)));
            // It is the child's.
            mem::forget(work);
            Ok(())
        }
    }
}

/// Makes this process, a child, one of a group of its own, without what its parent was started
/// with.
fn detach(nowhere: File) {
    let _ = setpgid(None, None);
    let _ = rustix::stdio::dup2_stdin(&nowhere);
    let _ = rustix::stdio::dup2_stdout(&nowhere);
    let _ = rustix::stdio::dup2_stderr(&nowhere);
    drop(nowhere);
    let number = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let open: Vec<RawFd> = fs::read_dir(OPEN_FILES).into_iter().flatten().filter_map(number).collect();
    for file in open.into_iter().filter(|file| *file >= FIRST_FILE) {
        // SAFETY: what this program has opened itself is closed when another one is executed.
        // So nothing here has a file that is not.
        unsafe {
            if libc::fcntl(file, libc::F_GETFD) == 0 {
                libc::close(file);
            }
        }
    }
}
