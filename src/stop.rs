//! Requests to stop a run, from any thread.
//!
//! Running code polls one word at its safepoints; to stop a run, another thread
//! leaves a [`StopRequest`] and changes that word. What the word is, and how a run
//! ends, depends on what runs it.
//!
//! A run may wait for a host function that runs something else: a [`RunLink`]
//! forwards the requests to the outer run to the inner one.

use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::process::{self, Activity};
use crate::source::{Source, Span};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

/// Why a run is requested to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopRequest {
    /// An interrupt by the user or the embedder.
    Interrupt = 1,
    /// The deadline has passed.
    Deadline = 2,
}

/// The bit of an interrupt for the current run only.
const NOW: u64 = 1 << 2;

/// The number of bits by which the requests to an outer run are shifted.
const OUTER: u32 = 4;

/// The bits of requests to a run itself.
const OWN: u64 = (1 << OUTER) - 1;

impl StopRequest {
    /// Returns the most urgent of the pending requests.
    pub fn first(bits: u64) -> Option<Self> {
        [Self::Interrupt, Self::Deadline].into_iter().find(|request| bits & request.bits() != 0)
    }

    /// Returns the bits of the request: its own, and those that tell where it
    /// comes from.
    pub const fn bits(self) -> u64 {
        let own = match self {
            Self::Interrupt => Self::Interrupt as u64 | NOW,
            Self::Deadline => Self::Deadline as u64,
        };
        own | own << OUTER
    }

    /// Returns the diagnostic for reading that was stopped at `span`.
    pub fn while_reading(self, source: &Source, span: Span) -> Diagnostic {
        let (code, message) = match self {
            Self::Interrupt => (ErrorCode::Interrupted, "interrupted"),
            Self::Deadline => (ErrorCode::DeadlineExceeded, "reading took longer than allowed"),
        };
        Diagnostic::error(code, source, span, message).with_note("not read from here on")
    }
}

/// Returns what requests to a run are to the run inside it.
fn forwarded(bits: u64) -> u64 {
    (bits & OWN) << OUTER | bits & !OWN
}

/// Something whose runs can be stopped.
pub trait Stoppable: Send + Sync {
    /// Returns the pending requests: see [`StopRequest::bits`].
    fn requests(&self) -> &AtomicU64;

    /// Makes the next safepoint poll of the run in progress look for requests.
    fn wake(&self);

    /// Returns the run inside this one; `None` if there never is one.
    fn inner(&self) -> Option<&InnerRun> {
        None
    }

    /// Forgets an interrupt that was meant for an earlier run.
    fn forget_interrupt_of_now(&self) {
        if self.is_interrupted_now() {
            self.requests().fetch_and(!NOW, Ordering::SeqCst);
        }
    }

    /// Returns whether an interrupt of what runs at its time waits, be it that of an earlier run.
    #[inline]
    fn is_interrupted_now(&self) -> bool {
        self.requests().load(Ordering::Relaxed) & NOW != 0
    }

    /// Takes the request that a run stops for now.
    fn take_request(&self) -> Option<StopRequest> {
        let request = StopRequest::first(self.requests().load(Ordering::SeqCst))?;
        self.requests().fetch_and(!request.bits(), Ordering::SeqCst);
        Some(request)
    }
}

/// The run that a host function has begun while the outer run waits for it.
#[derive(Default)]
pub struct InnerRun(Mutex<Option<StopHandle>>);

impl InnerRun {
    /// Does something with the stopper of the run. A fork finds it unlocked.
    fn locked<T>(&self, act: impl FnOnce(&mut Option<StopHandle>) -> T) -> T {
        let stopper = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        process::within(Activity::Steady, || act(&mut stopper()))
    }

    /// Does so with that of the run, if there is one, unless it is just being replaced; in a signal
    /// handler.
    #[cfg(feature = "executable")]
    fn unless_locked(&self, act: impl FnMut(&StopHandle)) {
        if let Some(stopper) = self.0.try_lock().ok().as_deref() {
            stopper.iter().for_each(act);
        }
    }
}

/// Forwards requests to an outer run to an inner one, until it is dropped.
pub struct RunLink {
    outer: StopHandle,
    inner: StopHandle,
    /// The previous link of the outer run.
    before: Option<StopHandle>,
}

impl RunLink {
    /// Links two runs; forwards requests that the outer one already has.
    pub fn new(outer: StopHandle, inner: StopHandle) -> Self {
        let before = outer.0.inner().and_then(|run| run.locked(|stopper| stopper.replace(inner.clone())));
        let link = Self { outer, inner, before };
        link.ask_again();
        link
    }

    /// Forwards the pending requests of the outer run again.
    pub fn ask_again(&self) {
        self.pass_on(&self.inner);
    }

    fn pass_on(&self, inner: &StopHandle) {
        let bits = self.outer.0.requests().load(Ordering::SeqCst);
        if bits != 0 {
            inner.ask_inner(bits);
        }
    }
}

impl Drop for RunLink {
    fn drop(&mut self) {
        if let Some(run) = self.outer.0.inner() {
            // Requests are forwarded under this lock: none comes later.
            run.locked(|stopper| stopper.clone_from(&self.before));
        }
        self.inner.0.requests().fetch_and(OWN, Ordering::SeqCst);
        self.before.iter().for_each(|before| self.pass_on(before));
    }
}

/// A handle that does not keep its target alive.
#[derive(Clone)]
pub struct WeakStopHandle(Weak<dyn Stoppable>);

impl WeakStopHandle {
    /// Returns the handle, if its target still exists.
    pub fn upgrade(&self) -> Option<StopHandle> {
        self.0.upgrade().map(StopHandle)
    }
}

/// A handle that stops the runs of something. Cheap to clone.
#[derive(Clone)]
pub struct StopHandle(Arc<dyn Stoppable>);

impl StopHandle {
    /// Creates a handle for what runs there.
    pub fn new(runs: Arc<dyn Stoppable>) -> Self {
        Self(runs)
    }

    /// Returns a handle that does not keep the target alive.
    pub fn downgrade(&self) -> WeakStopHandle {
        WeakStopHandle(Arc::downgrade(&self.0))
    }

    /// Stops the run in progress at its next safepoint poll. The request stays
    /// until a run has stopped for it, or it is withdrawn.
    pub fn request(&self, request: StopRequest) {
        self.ask(request as u64);
    }

    /// As [`request`](Self::request), and may be called in a signal handler. A run inside this one
    /// that is just being linked is told when that is done: it asks for the requests to this one.
    #[cfg(feature = "executable")]
    pub fn request_from_handler(&self, request: StopRequest) {
        self.ask_from_handler(request as u64);
    }

    #[cfg(feature = "executable")]
    fn ask_from_handler(&self, bits: u64) {
        self.0.requests().fetch_or(bits, Ordering::SeqCst);
        self.0.wake();
        if let Some(inner) = self.0.inner() {
            inner.unless_locked(|inner| inner.ask_from_handler(forwarded(bits)));
        }
    }

    /// Interrupts the run in progress, but none that begins later.
    pub fn interrupt_now(&self) {
        self.ask(NOW);
    }

    fn ask(&self, bits: u64) {
        self.0.requests().fetch_or(bits, Ordering::SeqCst);
        self.0.wake();
        if let Some(inner) = self.0.inner() {
            inner.locked(|inner| inner.iter().for_each(|inner| inner.ask_inner(bits)));
        }
    }

    /// Forwards the requests to the outer run, or those that were forwarded to
    /// it.
    fn ask_inner(&self, bits: u64) {
        self.ask(forwarded(bits));
    }

    /// Makes the run in progress look for requests, though there is none.
    #[cfg(test)]
    pub fn wake(&self) {
        self.0.wake();
    }

    /// Withdraws a request to this run, but none to an outer run.
    pub fn withdraw(&self, request: StopRequest) {
        self.0.requests().fetch_and(!(request.bits() & OWN), Ordering::SeqCst);
    }

    /// Returns the request that a run would stop for now.
    pub fn requested(&self) -> Option<StopRequest> {
        StopRequest::first(self.0.requests().load(Ordering::SeqCst))
    }

    /// Takes the request that a run stops for now.
    pub fn take(&self) -> Option<StopRequest> {
        self.0.take_request()
    }
}

/// Polled now and then by long work that is not a run, such as parsing, to find
/// out whether to stop. The default never stops.
#[derive(Clone, Default)]
pub struct Poll {
    stopper: Option<StopHandle>,
    deadline: Option<Instant>,
    steps: Cell<u32>,
}

/// The number of steps between two looks for a request: some microseconds of
/// work.
const STEPS: u32 = 1 << 10;

impl Poll {
    /// Creates a poll that stops when runs are requested to stop. The request
    /// stays for the run.
    pub fn of(stopper: StopHandle) -> Self {
        Self { stopper: Some(stopper), ..Self::default() }
    }

    /// Creates a poll that stops at an instant, if there is one.
    pub fn until(deadline: Option<Instant>) -> Self {
        Self { deadline, ..Self::default() }
    }

    /// Counts a step of the work. Returns the request to stop for, if it is
    /// time to look and there is one.
    #[inline]
    pub fn step(&self) -> Option<StopRequest> {
        let steps = self.steps.get().wrapping_add(1);
        self.steps.set(steps);
        if steps.is_multiple_of(STEPS) { self.request() } else { None }
    }

    /// Returns the request to stop for, if there is one.
    #[cold]
    pub fn request(&self) -> Option<StopRequest> {
        let requested = self.stopper.as_ref().and_then(StopHandle::requested);
        let is_late = || self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        requested.or_else(|| is_late().then_some(StopRequest::Deadline))
    }
}

impl std::fmt::Debug for Poll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poll").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
