//! Running something long while Python's signals are heard.
//!
//! Python hears signals on the main thread only. So what is called there runs on another
//! thread, while the main one waits and looks at signals now and then.

use crate::callback::{self, Asked};
use crate::output::Printed;
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How long the main thread waits between two looks at signals.
pub const STEP: Duration = Duration::from_millis(50);

/// The stack of the thread that works, in bytes.
const STACK: usize = 8 << 20;

/// A result, and what was raised meanwhile: by a handler of a signal, which has stopped the
/// run, or by a Python function that the program has called.
pub struct Heard<T> {
    /// What the work has returned.
    pub result: T,
    /// What was raised.
    pub raised: Option<PyErr>,
}

/// Returns whether this is the thread that hears signals: the one that the process began with.
pub fn is_heard_here() -> bool {
    rustix::process::getpid() == rustix::thread::gettid()
}

/// Runs `work`, detached from the interpreter as the caller is, and hears signals meanwhile.
/// `stop` stops it; what it prints is written.
pub fn heard<T: Send>(
    printed: Option<&Printed>,
    stop: impl Fn(),
    work: impl FnOnce() -> T + Send,
) -> Heard<T> {
    if !is_heard_here() {
        return here(work);
    }
    let (sender, asked) = mpsc::channel();
    let work = Mutex::new(Some(work));
    let started = thread::scope(|scope| {
        let run = || {
            let work = work.lock().take();
            work.map(|work| callback::asking(sender, work))
        };
        let worker = thread::Builder::new().name("kal run".into()).stack_size(STACK);
        let worker = worker.spawn_scoped(scope, run).ok()?;
        let raised = wait(&asked, printed, stop);
        let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        result.map(|result| Heard { result, raised })
    });
    match (started, work.into_inner()) {
        (Some(heard), _) => heard,
        // No thread can be started.
        (None, Some(work)) => here(work),
        (None, None) => unreachable!("work that was begun has a result"),
    }
}

/// Runs `work` on this thread.
fn here<T>(work: impl FnOnce() -> T) -> Heard<T> {
    drop(callback::take_raised());
    let result = work();
    Heard { result, raised: callback::take_raised() }
}

/// Waits until the run is over. Returns what was raised.
fn wait(asked: &mpsc::Receiver<Asked>, printed: Option<&Printed>, stop: impl Fn()) -> Option<PyErr> {
    let mut raised = None;
    loop {
        let error = match asked.recv_timeout(STEP) {
            Ok(asked) if raised.is_some() => {
                asked.refuse();
                None
            }
            Ok(asked) => asked.make(),
            Err(RecvTimeoutError::Disconnected) => return raised,
            Err(RecvTimeoutError::Timeout) => look(printed).err(),
        };
        if raised.is_none() {
            raised = error;
        }
        if raised.is_some() {
            stop();
        }
    }
}

/// Runs the handlers of signals, and writes what was printed.
pub fn look(printed: Option<&Printed>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        printed.map_or(Ok(()), |printed| printed.write_out(py))
    })
}
