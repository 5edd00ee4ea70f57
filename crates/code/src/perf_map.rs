//! The file in which perf(1) looks for the names of functions.

use std::fs::File;
use std::io::{self, Write};

use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::process::geteuid;

use super::address::Address;

/// The file in which perf(1) looks for the names of functions, one `START SIZE NAME` a
/// line, the numbers hexadecimal. (Linux, tools/perf/Documentation/jit-interface.txt) perf
/// finds no names for forked children.
pub(super) struct PerfMap {
    file: File,
    process: u32,
}

impl PerfMap {
    /// Opens the file of this process.
    ///
    /// # Errors
    /// Why names cannot be written, for people.
    pub(super) fn open() -> Result<Self, String> {
        let process = std::process::id();
        let path = format!("/tmp/perf-{process}.map");
        let file = open_own(&path).map_err(|error| format!("cannot write {path}: {error}"))?;
        Ok(Self { file, process })
    }

    /// Writes the name of a function.
    pub(super) fn write(&self, address: Address, size: u64, name: &str) {
        if std::process::id() == self.process {
            let line = format!("{:x} {size:x} {name}\n", address.get());
            // In one write, since several threads do, and unbuffered, since the process may be
            // killed. A name that is lost harms no run.
            let _ = (&self.file).write_all(line.as_bytes());
        }
    }
}

/// Opens the file to append to.
///
/// # Errors
/// If it is not this user's alone: in a world-writable directory, another user may have put
/// a link there.
fn open_own(path: &str) -> io::Result<File> {
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::CLOEXEC
        | OFlags::NONBLOCK;
    let file = File::from(open(path, flags, Mode::from_raw_mode(0o644))?);
    let data = fstat(&file)?;
    let is_ours = file.metadata()?.is_file() && data.st_uid == geteuid().as_raw() && data.st_nlink == 1;
    if is_ours { Ok(file) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}
