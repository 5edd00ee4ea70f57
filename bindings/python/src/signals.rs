//! Running something long while Python's signals are heard.
//!
//! Python hears signals on the main thread only. So what is called there runs on another
//! thread, while the main one waits and looks at signals now and then.

use crate::callback::{self, Asked};
use crate::error::with_cause;
use crate::output::Printed;
use kal::Error;
use parking_lot::Mutex;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How long the main thread waits between two looks at signals.
pub const STEP: Duration = Duration::from_millis(50);

/// The stack of the thread that works, in bytes.
const STACK: usize = 8 << 20;

/// A result, and what was raised in Python meanwhile.
pub struct Heard<T> {
    /// What the work has returned.
    pub result: T,
    /// What ends the call of Python, too: a handler of a signal has raised it.
    pub raised: Option<PyErr>,
    /// What a Python function that the program has called raised last.
    pub cause: Option<PyErr>,
}

impl<T> Heard<Result<T, Error>> {
    /// Returns the value of what was run, or why there is none: what a signal has raised, or
    /// else the program's error, whose cause may be that of a Python function.
    pub fn outcome(self, py: Python<'_>) -> PyResult<T> {
        let Self { result, raised, cause } = self;
        match raised {
            Some(raised) => Err(raised),
            None => result.map_err(|error| with_cause(py, &error, None, cause)),
        }
    }
}

/// What was raised in Python, by who has to know it.
#[derive(Default)]
struct Raised {
    by_signal: Option<PyErr>,
    by_function: Option<PyErr>,
}

impl Raised {
    /// Notes what a Python function has raised. What is no `Exception` is meant for the caller,
    /// such as `KeyboardInterrupt`.
    fn note(&mut self, error: PyErr) {
        let is_exception = Python::attach(|py| error.is_instance_of::<PyException>(py));
        let place = if is_exception { &mut self.by_function } else { &mut self.by_signal };
        *place = Some(error);
    }

    fn with<T>(self, result: T) -> Heard<T> {
        Heard { result, raised: self.by_signal, cause: self.by_function }
    }
}

/// Returns whether this is the thread that hears signals: the one that the process began with.
pub fn is_heard_here() -> bool {
    rustix::process::getpid() == rustix::thread::gettid()
}

/// Runs `work`, detached from the interpreter as the caller is, and hears signals meanwhile.
/// `stop` stops it; what it prints is written.
pub fn heard<T: Send>(printed: &Printed, stop: impl Fn(), work: impl FnOnce() -> T + Send) -> Heard<T> {
    if !is_heard_here() {
        return here(printed, work);
    }
    let (sender, asked) = mpsc::channel();
    let work = Mutex::new(Some(work));
    let started = thread::scope(|scope| {
        let run = || {
            let work = work.lock().take();
            work.map(|work| callback::asking(sender, || printed.during(work)))
        };
        let worker = thread::Builder::new().name("kal run".into()).stack_size(STACK);
        let worker = worker.spawn_scoped(scope, run).ok()?;
        let raised = wait(&asked, printed, stop);
        let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        result.map(|result| raised.with(result))
    });
    match (started, work.into_inner()) {
        (Some(heard), _) => heard,
        // No thread can be started.
        (None, Some(work)) => here(printed, work),
        (None, None) => unreachable!("work that was begun has a result"),
    }
}

/// Runs `work` on this thread.
pub fn here<T>(printed: &Printed, work: impl FnOnce() -> T) -> Heard<T> {
    drop(callback::take_raised());
    let result = printed.during(work);
    let mut raised = Raised::default();
    callback::take_raised().into_iter().for_each(|error| raised.note(error));
    raised.with(result)
}

/// Waits until the run is over. Returns what was raised.
fn wait(asked: &mpsc::Receiver<Asked>, printed: &Printed, stop: impl Fn()) -> Raised {
    let mut raised = Raised::default();
    loop {
        match asked.recv_timeout(STEP) {
            Ok(asked) if raised.by_signal.is_some() => asked.refuse(),
            Ok(asked) => asked.make(printed).into_iter().for_each(|error| raised.note(error)),
            Err(RecvTimeoutError::Disconnected) => return raised,
            Err(RecvTimeoutError::Timeout) if raised.by_signal.is_some() => {}
            Err(RecvTimeoutError::Timeout) => raised.by_signal = look(printed).err(),
        }
        if raised.by_signal.is_some() {
            stop();
        }
    }
}

/// Runs the handlers of signals, and writes what was printed.
pub fn look(printed: &Printed) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        printed.write_out(py)
    })
}

/// Writes all that a program has printed, when it is over.
pub fn finish(printed: &Printed) -> PyResult<()> {
    if printed.is_empty() { Ok(()) } else { Python::attach(|py| printed.finish(py)) }
}
