//! Stopping what runs, from any thread.

use crate::error::KalError;
use crate::guard::{free, quiet};
use kal::{InterruptHandle, Run};
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops what runs in a context, or the run of a kernel that it is given to. Any thread may use
/// it at any time, also when the context is gone: then it does nothing.
pub struct KalInterrupt {
    handle: InterruptHandle,
    /// Of one for kernels.
    run: Option<StoppableRun>,
}

struct StoppableRun {
    run: Run<'static>,
    is_running: AtomicBool,
}

impl KalInterrupt {
    /// Creates one for a context.
    pub fn of_context(handle: InterruptHandle) -> Self {
        Self { handle, run: None }
    }

    /// Calls `work` with a run that this stops.
    ///
    /// # Errors
    /// If it is one of a context, or another run has it.
    pub fn stopping<T>(
        &self,
        work: impl FnOnce(Run<'_>) -> Result<T, Box<KalError>>,
    ) -> Result<T, Box<KalError>> {
        let Some(StoppableRun { run, is_running }) = &self.run else {
            return Err(KalError::of_caller("the interrupt is of a context, not for kernels"));
        };
        if is_running.swap(true, Ordering::Acquire) {
            return Err(KalError::in_use("interrupt"));
        }
        let _running = Running(is_running);
        work(run.next())
    }
}

struct Running<'a>(&'a AtomicBool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Creates an interrupt for runs of kernels, of which one at a time may have it in its
/// `kal_run`; NULL only after a bug.
#[unsafe(no_mangle)]
pub extern "C" fn kal_interrupt_new() -> Option<Box<KalInterrupt>> {
    quiet(None, || {
        let run = Run::new();
        let handle = run.interrupt_handle();
        let run = Some(StoppableRun { run, is_running: AtomicBool::new(false) });
        Some(Box::new(KalInterrupt { handle, run }))
    })
}

/// Stops what runs now, which ends with an error of the kind `KAL_ERROR_INTERRUPTED`. If nothing
/// does, nothing happens: what a stop button should do.
#[unsafe(no_mangle)]
pub extern "C" fn kal_interrupt_now(interrupt: Option<&KalInterrupt>) {
    quiet((), || interrupt.into_iter().for_each(|interrupt| interrupt.handle.interrupt_running()));
}

/// Stops what runs now; if nothing does, the next that would run.
#[unsafe(no_mangle)]
pub extern "C" fn kal_interrupt_now_or_next(interrupt: Option<&KalInterrupt>) {
    quiet((), || interrupt.into_iter().for_each(|interrupt| interrupt.handle.interrupt()));
}

/// Forgets an interrupt that has not stopped anything.
#[unsafe(no_mangle)]
pub extern "C" fn kal_interrupt_clear(interrupt: Option<&KalInterrupt>) {
    quiet((), || interrupt.into_iter().for_each(|interrupt| interrupt.handle.clear()));
}

/// Frees an interrupt; nothing for NULL. No run of a kernel has it.
#[unsafe(no_mangle)]
pub extern "C" fn kal_interrupt_free(interrupt: Option<Box<KalInterrupt>>) {
    free(interrupt);
}
