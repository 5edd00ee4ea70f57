//! Computations of arrays that are in progress, which a session interrupts.
//!
//! Any number of them run at once, and none has the session for itself. One may consist of
//! several runs, between which nothing could be interrupted. So interrupts are counted, and a
//! run stops if there was one since its computation began.

use kal::InterruptHandle;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The computations of a session that are in progress.
#[derive(Default)]
pub struct Runs {
    interrupts: AtomicU64,
    running: Mutex<Vec<(u64, InterruptHandle)>>,
}

/// A run that is interrupted with the others, until it is dropped.
pub struct RunInProgress<'a> {
    runs: &'a Runs,
    since: u64,
    number: u64,
    interrupt: InterruptHandle,
}

impl Runs {
    /// Returns the number of interrupts so far.
    pub fn interrupts(&self) -> u64 {
        self.interrupts.load(Ordering::SeqCst)
    }

    /// Interrupts all of them.
    pub fn interrupt(&self) {
        self.interrupts.fetch_add(1, Ordering::SeqCst);
        self.running.lock().iter().for_each(|(_, handle)| handle.interrupt());
    }

    /// Adds a run, of a computation that began after this number of interrupts. The handle is
    /// that of the run.
    pub fn begin(&self, since: u64, interrupt: InterruptHandle) -> RunInProgress<'_> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.running.lock().push((number, interrupt.clone()));
        let run = RunInProgress { runs: self, since, number, interrupt };
        run.heed();
        run
    }
}

impl RunInProgress<'_> {
    /// Interrupts the run if its computation was interrupted: for what it runs next, as what
    /// ends by itself takes an interrupt with it.
    pub fn heed(&self) {
        if self.runs.interrupts() != self.since {
            self.interrupt.interrupt();
        }
    }

    /// Interrupts the run alone.
    pub fn stop(&self) {
        self.interrupt.interrupt_running();
    }
}

impl Drop for RunInProgress<'_> {
    fn drop(&mut self) {
        self.runs.running.lock().retain(|(number, _)| *number != self.number);
    }
}
