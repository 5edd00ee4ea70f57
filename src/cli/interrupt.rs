//! Ctrl-C: stops the evaluation in progress; twice within a second, the
//! process.

use super::Exit;
use crate::InterruptHandle;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// A second Ctrl-C within this time ends the process.
const TWICE: Duration = Duration::from_secs(1);

/// Has Ctrl-C interrupt what `handle` is for. Where the system refuses, Ctrl-C
/// ends the process as it does by default.
pub(super) fn install(handle: InterruptHandle) {
    let last: Mutex<Option<Instant>> = Mutex::default();
    let _ = ctrlc::set_handler(move || {
        let now = Instant::now();
        let before = last.lock().replace(now);
        // An interrupt that still waits has not stopped anything yet.
        let is_stuck = handle.is_pending() && before.is_some_and(|before| now - before < TWICE);
        if is_stuck {
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
        handle.interrupt();
    });
}
