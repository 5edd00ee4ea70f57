//! How a kernel is to be run.

use crate::context::Context;
use crate::deadline::Deadline;
use crate::engine::Engine;
use crate::error::Error;
use crate::host::nesting;
use crate::interrupt::InterruptHandle;
use crate::process;
use crate::stop::{RunLink, StopHandle, StopRequest, Stoppable};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How a kernel is to be run.
#[derive(Default)]
pub struct Run<'a> {
    /// The number of threads that compute rows; the caller's alone if it is 0 or 1, and as long as
    /// others would take longer to start than they save. A kernel with effects uses no other.
    pub threads: usize,
    /// When the run is to be stopped. That of the engine's
    /// [limits](crate::Limits::deadline) holds as well.
    pub deadline: Option<Instant>,
    /// How many function entries and loop iterations all rows together may take, in the order
    /// of the rows; after a run, what it has left. The same fuel ends a run at the same row
    /// every time, whatever the threads, the processor and the number of rows that are
    /// computed at once. Nothing is counted if `None`.
    ///
    /// Rows without a value take none. Where rows are computed one by one, they are interpreted
    /// while they are counted, unless the engine counts anyway: then its
    /// [limit](crate::Limits::fuel) is for each row by itself. What a row takes whose stack
    /// overflows differs between the two.
    pub fuel: Option<u64>,
    /// What happens when a row fails.
    pub failing: Failing<'a>,
    /// The rows that have values; the results of others are NaN, and they cannot fail. All
    /// rows have if `None`.
    pub valid: Option<Validity<'a>>,
    state: Arc<RunState>,
    /// What else stops it.
    outer: Option<StopHandle>,
}

/// What happens when a row fails. Being stopped ends the run in any case.
#[derive(Default, Debug)]
pub enum Failing<'a> {
    /// The run ends with that row as its error.
    #[default]
    Stop,
    /// Its result is NaN.
    Nan,
    /// Its result is NaN, and its bit is set here: of row 0, the lowest of the first byte.
    Mark(&'a mut [u8]),
}

/// Which rows have values, in a bitmap as Arrow has them: a set bit for a row with one, the
/// lowest of a byte first.
#[derive(Clone, Copy, Debug)]
pub struct Validity<'a> {
    /// The bits.
    pub bitmap: &'a [u8],
    /// The bit of row 0.
    pub offset: usize,
}

impl Validity<'_> {
    /// Returns whether a row has values; `false` for one that has no bit.
    pub fn is_valid(&self, row: usize) -> bool {
        let bit = self.offset.saturating_add(row);
        self.bitmap.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }
}

/// What stops a run.
#[derive(Default)]
pub(super) struct RunState {
    requests: AtomicU64,
    /// The contexts in which rows are computed now.
    contexts: Mutex<Vec<StopHandle>>,
}

impl Stoppable for RunState {
    fn requests(&self) -> &AtomicU64 {
        &self.requests
    }

    fn wake(&self) {
        self.contexts.lock().iter().for_each(StopHandle::interrupt_now);
    }
}

impl RunState {
    /// Returns the word that is not 0 when the run is to stop.
    pub(super) fn word(&self) -> &AtomicU64 {
        &self.requests
    }

    /// Returns what the run is to stop for.
    #[inline]
    pub(super) fn requested(&self) -> Option<StopRequest> {
        if self.requests.load(Ordering::Relaxed) == 0 {
            return None;
        }
        StopRequest::first(self.requests.load(Ordering::SeqCst))
    }

    /// Takes what has stopped a run, which is for no other one, and returns the first of it.
    #[inline]
    pub(super) fn take_requests(&self) -> Option<StopRequest> {
        let first = self.requested()?;
        while self.requested().is_some() {
            let _ = self.take_request();
        }
        Some(first)
    }

    /// Adds a context in which rows are computed, which stops with the run.
    pub(super) fn add(&self, stopper: &StopHandle) {
        self.contexts.lock().push(stopper.clone());
        if self.requested().is_some() {
            stopper.interrupt_now();
        }
    }

    /// Forgets the contexts.
    pub(super) fn clear(&self) {
        self.contexts.lock().clear();
    }
}

/// A run that is in progress, until it is dropped: what it was told, and what stops it.
pub(super) struct RunInProgress<'r, 'a> {
    pub(super) threads: usize,
    pub(super) fuel: &'r mut Option<u64>,
    pub(super) failing: &'r mut Failing<'a>,
    pub(super) valid: Option<Validity<'a>>,
    state: &'r Arc<RunState>,
    end: Option<Instant>,
    outer: Option<&'r StopHandle>,
    deadline: Option<Deadline>,
    link: Option<RunLink>,
}

impl<'r> RunInProgress<'r, '_> {
    pub(super) fn stopper(&self) -> StopHandle {
        StopHandle::new(self.state.clone())
    }

    pub(super) fn state(&self) -> &'r RunState {
        self.state
    }

    /// Puts what stops it in force.
    #[inline]
    pub(super) fn watch(&mut self, engine: &Engine) -> Result<(), Error> {
        self.state.forget_interrupt_of_now();
        let is_inside = nesting::is_inside();
        if is_inside || self.outer.is_some() {
            self.link(is_inside);
        }
        if engine.config().limits.deadline.is_some() || self.end.is_some() {
            let alarm = engine.deadlines().alarm(self.stopper());
            alarm.set_end(self.end);
            alarm.watch().map_err(|error| Error::NoMemory(error.to_string()))?;
            self.deadline = Some(alarm.begin());
        }
        Ok(())
    }

    /// Links it to what else stops it: a run inside of another one stops with that.
    fn link(&mut self, is_inside: bool) {
        let mut outer = None;
        if is_inside {
            process::settle();
            outer = nesting::caller();
        }
        let outer = outer.or_else(|| self.outer.cloned());
        self.link = outer.map(|outer| RunLink::new(outer, self.stopper()));
    }
}

impl Drop for RunInProgress<'_, '_> {
    fn drop(&mut self) {
        drop((self.deadline.take(), self.link.take()));
        let _ = self.state.take_requests();
    }
}

impl<'a> Run<'a> {
    /// Returns a run on the caller's thread that ends at the first row that fails.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a run over other rows, with the same threads and deadline and the fuel that is
    /// left, that the same handles interrupt.
    pub fn next<'b>(&self) -> Run<'b> {
        let Self { threads, deadline, fuel, .. } = *self;
        let (state, outer) = (self.state.clone(), self.outer.clone());
        Run { threads, deadline, fuel, failing: Failing::Stop, valid: None, state, outer }
    }

    /// Returns a handle that interrupts it from any thread.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle::new(&self.stopper())
    }

    /// Makes it stop when what runs in a context is interrupted: for a host that has one
    /// handle for both. The interrupt stays pending in the context.
    pub fn stop_with(&mut self, context: &Context) {
        self.outer = Some(context.stopper());
    }

    /// Returns what it is to stop for.
    #[cfg(feature = "cli")]
    pub(super) fn requested(&self) -> Option<StopRequest> {
        let outer = || self.outer.as_ref().and_then(StopHandle::requested);
        self.state.requested().or_else(outer)
    }

    fn stopper(&self) -> StopHandle {
        StopHandle::new(self.state.clone())
    }

    /// Returns whether nothing but the values of all rows is asked for, and nothing stops it yet.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        let Self { deadline, fuel, valid, state, outer, failing, .. } = self;
        let is_asked = deadline.is_some() || fuel.is_some() || valid.is_some() || outer.is_some();
        let marks = matches!(failing, Failing::Mark(_));
        // An interrupt of an earlier run is still there, which `watch` forgets.
        !is_asked && !marks && state.requests.load(Ordering::Relaxed) == 0
    }

    /// Returns what stops it.
    #[inline]
    pub(super) fn state(&self) -> &RunState {
        &self.state
    }

    /// Checks that its bitmaps have a bit for each row.
    pub(super) fn check(&self, rows: usize) -> Result<(), Error> {
        let bits = |bytes: &[u8]| bytes.len().saturating_mul(8);
        let valid = self.valid.map(|valid| bits(valid.bitmap).saturating_sub(valid.offset));
        let marks = match &self.failing {
            Failing::Mark(marks) => Some(bits(marks)),
            Failing::Stop | Failing::Nan => None,
        };
        match [valid, marks].into_iter().flatten().find(|bits| *bits < rows) {
            Some(bits) => Err(Error::BitmapLength { bits, wanted: rows }),
            None => Ok(()),
        }
    }

    /// Returns it as one that is in progress, which nothing stops yet.
    #[inline]
    pub(super) fn in_progress<'r>(&'r mut self) -> RunInProgress<'r, 'a> {
        let Self { threads, deadline, fuel, failing, valid, state, outer } = self;
        let (threads, valid, end, outer) = (*threads, *valid, *deadline, outer.as_ref());
        RunInProgress { threads, fuel, failing, valid, state, end, outer, deadline: None, link: None }
    }
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("threads", &self.threads).finish_non_exhaustive()
    }
}
