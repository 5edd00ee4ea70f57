//! Ctrl-C: stops the evaluation in progress; twice within a second, or while
//! input is waited for, the process.

use super::{Exit, exit};
use crate::InterruptHandle;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A second Ctrl-C within this time ends the process.
const TWICE: Duration = Duration::from_secs(1);

/// Whether nothing runs and the process waits for input, so that Ctrl-C ends
/// it at once.
pub(super) struct Idle {
    now: Arc<AtomicBool>,
    handle: InterruptHandle,
}

impl Idle {
    /// Waits for input; not any more if Ctrl-C came just before.
    pub(super) fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.now.store(true, Ordering::SeqCst);
        if self.handle.is_pending() {
            exit::leave(Exit::Interrupted);
        }
        let input = wait();
        self.now.store(false, Ordering::SeqCst);
        input
    }
}

/// Has Ctrl-C interrupt what `handle` is for. Where the system refuses, Ctrl-C
/// ends the process as it does by default.
pub(super) fn install(handle: InterruptHandle) -> Idle {
    let last: Mutex<Option<Instant>> = Mutex::default();
    let idle = Idle { now: Arc::default(), handle: handle.clone() };
    let is_idle = idle.now.clone();
    let _ = ctrlc::set_handler(move || {
        let now = Instant::now();
        let before = last.lock().replace(now);
        // An interrupt that still waits has not stopped anything yet.
        let is_stuck = handle.is_pending() && before.is_some_and(|before| now - before < TWICE);
        if is_stuck || is_idle.load(Ordering::SeqCst) {
            exit::leave(Exit::Interrupted);
        }
        handle.interrupt();
    });
    idle
}
