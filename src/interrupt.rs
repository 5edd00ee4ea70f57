//! Interrupting a run from another thread.

use crate::stop::{StopHandle, StopRequest, WeakStopHandle};

/// Interrupts what runs in a context, from any thread. Cheap to clone. It does
/// not keep the context alive, and does nothing once that is dropped.
///
/// ```
/// let mut context = kal::Engine::new()?.context()?;
/// let handle = context.interrupt_handle();
/// let other = std::thread::spawn(move || handle.interrupt());
/// let error = context.eval("for i = 0, 1 in i").unwrap_err();
/// assert_eq!(error.to_string(), "interrupted");
/// # other.join().unwrap();
/// # Ok::<(), kal::Error>(())
/// ```
#[derive(Clone)]
pub struct InterruptHandle(WeakStopHandle);

impl InterruptHandle {
    pub(crate) fn new(stopper: &StopHandle) -> Self {
        Self(stopper.downgrade())
    }

    /// Stops the evaluation in progress at its next check, with an error. If
    /// none is in progress, the next one is stopped instead, unless the
    /// interrupt is [cleared](Self::clear) before.
    pub fn interrupt(&self) {
        if let Some(stopper) = self.0.upgrade() {
            stopper.request(StopRequest::Interrupt);
        }
    }

    /// Stops the evaluation in progress at its next check, with an error. If
    /// none is in progress, nothing is stopped: what a stop button should do.
    pub fn interrupt_running(&self) {
        if let Some(stopper) = self.0.upgrade() {
            stopper.interrupt_now();
        }
    }

    /// Forgets an interrupt that has not stopped anything.
    pub fn clear(&self) {
        if let Some(stopper) = self.0.upgrade() {
            stopper.withdraw(StopRequest::Interrupt);
        }
    }

    /// Returns what stops the context, which then keeps the memory of its runs; `None` once it is
    /// dropped.
    #[cfg(feature = "executable")]
    pub(crate) fn stopper(&self) -> Option<StopHandle> {
        self.0.upgrade()
    }

    /// Returns whether an interrupt is pending.
    pub fn is_pending(&self) -> bool {
        self.0.upgrade().is_some_and(|stopper| stopper.requested() == Some(StopRequest::Interrupt))
    }
}
