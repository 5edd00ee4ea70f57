//! Ctrl-C: stops the evaluation in progress; pressed twice within a second, or
//! while waiting for input, it ends the process. `--timeout` also counts the
//! time spent waiting for input.
//!
//! All of that is done in the signal handler itself: a thread that waits for signals would be
//! a twelfth of the start of an executable.
#![allow(unsafe_code)]

use super::exit::{self, Exit};
use super::report::{Colors, Reporter};
use crate::process::SteadyCell;
use crate::stop::{StopHandle, StopRequest};
use crate::{InterruptHandle, process};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A second Ctrl-C within this time ends the process.
const TWICE: Duration = Duration::from_secs(1);

/// What Ctrl-C is for.
struct Interrupted {
    is_idle: Arc<AtomicBool>,
    /// It is never dropped, which a signal handler could not do.
    stopper: StopHandle,
    since: Instant,
    /// When it was pressed last, in nanoseconds since then and one more; 0 if it was not.
    last: AtomicU64,
}

static INTERRUPTED: SteadyCell<Interrupted> = SteadyCell::new();

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
    let idle = Idle { now: Arc::default(), handle, deadline };
    if let Some(stopper) = idle.handle.stopper() {
        let (is_idle, last) = (idle.now.clone(), AtomicU64::new(0));
        let _ = INTERRUPTED.set(Interrupted { is_idle, stopper, since: Instant::now(), last });
        handle_signal();
    }
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

/// Makes the system call [`interrupt`] for Ctrl-C. A process that is started with the signal
/// ignored, as in the background, leaves it so.
fn handle_signal() {
    // SAFETY: all zeros is a value of this structure, which has no flags and no mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is changed, and there is room for what the action is now.
    unsafe { libc::sigaction(libc::SIGINT, std::ptr::null(), &raw mut action) };
    if action.sa_sigaction == libc::SIG_IGN {
        return;
    }
    action.sa_sigaction = interrupt as extern "C" fn(libc::c_int) as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is complete, and the handler does only what one may do.
    unsafe { libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut()) };
}

/// Handles Ctrl-C. A signal handler may come between any two instructions: this one reads the
/// clock, changes atomic variables and may end the process without further ado.
extern "C" fn interrupt(_signal: libc::c_int) {
    let Some(Interrupted { is_idle, stopper, since, last }) = INTERRUPTED.get() else { return };
    let now = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX - 1) + 1;
    let before = last.swap(now, Ordering::SeqCst);
    let is_second = before != 0 && u128::from(now.saturating_sub(before)) < TWICE.as_nanos();
    // An interrupt that is still pending has not stopped anything.
    let is_stuck = is_second && stopper.requested() == Some(StopRequest::Interrupt);
    if is_stuck || is_idle.load(Ordering::SeqCst) {
        exit::leave(Exit::Interrupted);
    }
    stopper.request_from_handler(StopRequest::Interrupt);
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
