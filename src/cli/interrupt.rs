//! Ctrl-C: stops the evaluation in progress; twice within a second, or while
//! input is waited for, the process.

use super::Exit;
use crate::InterruptHandle;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A second Ctrl-C within this time ends the process.
const TWICE: Duration = Duration::from_secs(1);

/// Whether nothing runs and the process waits for input, so that Ctrl-C ends
/// it at once.
#[derive(Clone, Default)]
pub(super) struct Idle(Arc<AtomicBool>);

impl Idle {
    /// Waits for input.
    pub(super) fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.0.store(true, Ordering::SeqCst);
        let input = wait();
        self.0.store(false, Ordering::SeqCst);
        input
    }
}

/// Has Ctrl-C interrupt what `handle` is for. Where the system refuses, Ctrl-C
/// ends the process as it does by default.
pub(super) fn install(handle: InterruptHandle) -> Idle {
    let last: Mutex<Option<Instant>> = Mutex::default();
    let idle = Idle::default();
    let is_idle = idle.0.clone();
    let _ = ctrlc::set_handler(move || {
        let now = Instant::now();
        let before = last.lock().replace(now);
        // An interrupt that still waits has not stopped anything yet.
        let is_stuck = handle.is_pending() && before.is_some_and(|before| now - before < TWICE);
        if is_stuck || is_idle.load(Ordering::SeqCst) {
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
        handle.interrupt();
    });
    idle
}
