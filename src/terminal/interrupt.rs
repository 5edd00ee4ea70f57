//! Ctrl-C: stops the evaluation in progress; pressed twice within a second, or
//! while waiting for input, it ends the process. `--timeout` also counts the
//! time spent waiting for input.

use super::exit::{self, Exit};
use super::report::{Colors, Reporter};
use crate::{InterruptHandle, process};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A second Ctrl-C within this time ends the process.
const TWICE: Duration = Duration::from_secs(1);

/// Whether nothing runs and the process is waiting for input, so that Ctrl-C
/// ends it at once.
pub(crate) struct Idle {
    now: Arc<AtomicBool>,
    handle: InterruptHandle,
    deadline: Option<Instant>,
}

impl Idle {
    /// Waits for input, unless Ctrl-C or the deadline came just before.
    pub(crate) fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.now.store(true, Ordering::SeqCst);
        if self.handle.is_pending() {
            exit::leave(Exit::Interrupted);
        }
        if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            out_of_time("timed out");
        }
        let input = wait();
        self.now.store(false, Ordering::SeqCst);
        input
    }
}

/// Makes Ctrl-C interrupt what `handle` is for, and the deadline end waiting
/// for input. If the system refuses this, Ctrl-C ends the process as it does by
/// default, and the deadline is noticed when input arrives.
pub(crate) fn install(handle: InterruptHandle, deadline: Option<Instant>) -> Idle {
    let last: Mutex<Option<Instant>> = Mutex::default();
    let idle = Idle { now: Arc::default(), handle, deadline };
    let (is_idle, handle) = (idle.now.clone(), idle.handle.clone());
    let _ = ctrlc::set_handler(move || {
        let now = Instant::now();
        let before = last.lock().replace(now);
        // An interrupt that is still pending has not stopped anything.
        let is_stuck = handle.is_pending() && before.is_some_and(|before| now - before < TWICE);
        if is_stuck || is_idle.load(Ordering::SeqCst) {
            exit::leave(Exit::Interrupted);
        }
        handle.interrupt();
    });
    if let Some(deadline) = deadline {
        let is_idle = idle.now.clone();
        // A run notices the deadline by itself, and waiting for input checks it
        // first.
        let _ = at(deadline, move || {
            if is_idle.load(Ordering::SeqCst) {
                out_of_time("timed out waiting for input");
            }
        });
    }
    idle
}

/// Ends the process at the deadline, whatever it is doing: for commands that
/// run no program.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn end_at(deadline: Instant) -> io::Result<()> {
    at(deadline, || out_of_time("timed out"))
}

/// Calls `act` at the deadline, on a thread of its own.
fn at(deadline: Instant, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let wait = move || {
        std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
        act();
    };
    process::spawn(std::thread::Builder::new().name("kal timeout".into()), wait).map(drop)
}

fn out_of_time(message: &str) -> ! {
    Reporter::new(Colors::default()).problem(message);
    exit::leave(Exit::Deadline)
}
