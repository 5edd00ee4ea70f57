//! The file in which perf(1) looks for the names of functions.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::param::clock_ticks_per_second;
use rustix::process::geteuid;
use rustix::time::{ClockId, clock_gettime};

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
        /// The process that has opened its map last.
        static OPENED: AtomicU32 = AtomicU32::new(0);
        let is_first = OPENED.swap(process, Ordering::Relaxed) != process;
        let path = format!("/tmp/perf-{process}.map");
        let file = open_own(&path, is_first).map_err(|error| format!("cannot write {path}: {error}"))?;
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

/// Opens the file to append to. The first time, what an earlier process of the same number left
/// there goes. (In containers, processes often have the same numbers at each start.)
///
/// # Errors
/// If it is not this user's alone: in a world-writable directory, another user may have put
/// a link there.
fn open_own(path: &str, is_first: bool) -> io::Result<File> {
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::CLOEXEC
        | OFlags::NONBLOCK;
    let file = File::from(open(path, flags, Mode::from_raw_mode(0o644))?);
    let data = fstat(&file)?;
    let is_ours = file.metadata()?.is_file() && data.st_uid == geteuid().as_raw() && data.st_nlink == 1;
    if !is_ours {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // Another compiler of this process may have written names.
    let written = file.metadata()?.modified()?;
    if is_first && started().is_some_and(|started| written < started) {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Returns when this process was started, to a tick of the clock; `None` if the system does
/// not say.
fn started() -> Option<SystemTime> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The 22nd word; the second one may contain spaces, and ends with the last parenthesis.
    let ticks: u64 = text.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()?;
    let start = Duration::from_secs(ticks) / u32::try_from(clock_ticks_per_second()).ok()?;
    let now = Duration::try_from(clock_gettime(ClockId::Boottime)).ok()?;
    SystemTime::now().checked_sub(now.checked_sub(start)?)
}
