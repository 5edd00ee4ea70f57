//! The context of a session, behind a lock, with what Python needs of it.

use crate::output::Printed;
use crate::runs::Runs;
use crate::settings::Settings;
use crate::signals::{self, Heard};
use kal::source::Source;
use kal::{Context, Error, InterruptHandle};
use parking_lot::{Mutex, MutexGuard};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// A context with what Python needs of it.
pub struct SharedSession {
    pub settings: Settings,
    context: Mutex<Context>,
    /// Changes with everything that may change what a name means, under the lock.
    version: AtomicU64,
    /// Changes when variables may have other values, under the lock.
    values: AtomicU64,
    /// The process and the thread of Python that run something with the lock held, while
    /// Python's other threads run.
    holder: Mutex<Option<(u32, u64)>>,
    interrupt: InterruptHandle,
    /// The computations of arrays, which do not take the lock.
    pub runs: Runs,
    pub printed: Printed,
}

/// Returns a number of this thread.
fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

impl SharedSession {
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let context = settings.engine()?.context()?;
        let interrupt = context.interrupt_handle();
        Ok(Self {
            settings,
            context: Mutex::new(context),
            version: AtomicU64::new(1),
            values: AtomicU64::new(1),
            holder: Mutex::default(),
            interrupt,
            runs: Runs::default(),
            printed: Printed::default(),
        })
    }

    /// Returns its context, when no other thread uses it.
    #[inline]
    pub fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Context>> {
        match self.context.try_lock() {
            Some(context) => Ok(context),
            None => self.wait(py),
        }
    }

    #[cold]
    fn wait(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Context>> {
        let own = (std::process::id(), thread_number());
        loop {
            match *self.holder.lock() {
                Some(holder) if holder == own => {
                    let message = "this session runs a program that has called this Python function, \
                                   which cannot use the session until it has returned";
                    return Err(PyRuntimeError::new_err(message));
                }
                Some((process, _)) if process != own.0 => {
                    let message = "this session ran a program when the process forked; make another one";
                    return Err(PyRuntimeError::new_err(message));
                }
                Some(_) | None => {}
            }
            if let Some(context) = py.detach(|| self.context.try_lock_for(signals::STEP)) {
                return Ok(context);
            }
            py.check_signals()?;
        }
    }

    /// Returns the number of what names mean now. It is changed under the lock.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// Returns the number of the values that variables have now. It is changed under the lock.
    pub fn values(&self) -> u64 {
        self.values.load(Ordering::Relaxed)
    }

    /// Notes that variables may have other values now.
    pub fn assigned(&self) {
        self.values.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that names may mean something else now.
    pub fn changed(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs something that may last, while other threads run and signals are heard.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Context) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let mut context = self.lock(py)?;
        self.assigned();
        *self.holder.lock() = Some((std::process::id(), thread_number()));
        let stop = || self.interrupt.interrupt_running();
        let running = &mut *context;
        let heard = py.detach(|| signals::heard(&self.printed, stop, || work(running)));
        *self.holder.lock() = None;
        drop(context);
        self.printed.finish(py)?;
        heard.outcome(py)
    }

    /// Runs a source. Returns the value of its last expression.
    pub fn define(&self, py: Python<'_>, source: &Source) -> PyResult<Option<f64>> {
        self.run(py, |context| {
            self.changed();
            last_value(context, source)
        })
    }

    /// Stops what runs in it, and the computations of arrays.
    pub fn interrupt(&self) {
        // What begins after this looks at the number of interrupts, so they are counted first.
        self.runs.interrupt();
        self.interrupt.interrupt_running();
    }

    /// Runs something on this thread, while other threads run and no signal is heard.
    pub fn run_here<T: Send>(
        &self,
        py: Python<'_>,
        context: &mut Context,
        work: impl FnOnce(&mut Context) -> T + Send,
    ) -> Heard<T> {
        *self.holder.lock() = Some((std::process::id(), thread_number()));
        let heard = py.detach(|| signals::here(&self.printed, || work(context)));
        *self.holder.lock() = None;
        heard
    }
}

/// Runs a source up to its first error; returns the value of its last expression.
fn last_value(context: &mut Context, source: &Source) -> Result<Option<f64>, Error> {
    let mut result = Ok(None);
    let _ = context.run(source, &mut |_, outcome| {
        match outcome {
            Ok(kal::Outcome::Value(value)) => result = Ok(Some(value)),
            Ok(_) => {}
            Err(error) => result = Err(error),
        }
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    result
}
