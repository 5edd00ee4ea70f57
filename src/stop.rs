//! Asking a run to stop, from any thread.
//!
//! What runs programs looks at one word at every check; whoever wants a run to
//! end leaves a [`Request`] and changes that word. What the word is, and how a
//! run ends, is the business of what runs.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Source, Span};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// Why a run is asked to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Somebody interrupts it.
    Interrupt = 1,
    /// Its time is over.
    Deadline = 2,
}

impl Request {
    /// The most urgent of some requests.
    pub fn first(bits: u64) -> Option<Self> {
        [Self::Interrupt, Self::Deadline].into_iter().find(|request| bits & *request as u64 != 0)
    }

    /// The diagnostic for reading that was stopped there.
    pub fn while_reading(self, source: &Source, span: Span) -> Diagnostic {
        let (code, message) = match self {
            Self::Interrupt => (Code::Interrupted, "interrupted"),
            Self::Deadline => (Code::DeadlineExceeded, "reading took longer than allowed"),
        };
        Diagnostic::error(code, source, span, message).with_note("not read from here on")
    }
}

/// Something whose runs can be asked to stop.
pub trait Stoppable: Send + Sync {
    /// The requests that wait, one bit each.
    fn requests(&self) -> &AtomicU64;

    /// Makes the next check of the run in progress look for requests.
    fn wake(&self);

    /// Takes the request back that a run stops for now.
    fn take_request(&self) -> Option<Request> {
        let request = Request::first(self.requests().load(Ordering::SeqCst))?;
        self.requests().fetch_and(!(request as u64), Ordering::SeqCst);
        Some(request)
    }
}

/// A stopper that does not keep what it is for.
#[derive(Clone)]
pub struct WeakStopper(Weak<dyn Stoppable>);

impl WeakStopper {
    /// The stopper, if what it is for is still there.
    pub fn upgrade(&self) -> Option<Stopper> {
        self.0.upgrade().map(Stopper)
    }
}

/// Asks the runs of something to stop. Cheap to clone.
#[derive(Clone)]
pub struct Stopper(Arc<dyn Stoppable>);

impl Stopper {
    /// A stopper for what runs there.
    pub fn new(runs: Arc<dyn Stoppable>) -> Self {
        Self(runs)
    }

    /// The same, without keeping it.
    pub fn downgrade(&self) -> WeakStopper {
        WeakStopper(Arc::downgrade(&self.0))
    }

    /// Makes the run in progress stop at its next check. The request stays
    /// until a run has stopped for it, or it is withdrawn.
    pub fn request(&self, request: Request) {
        self.0.requests().fetch_or(request as u64, Ordering::SeqCst);
        self.0.wake();
    }

    /// Makes the run in progress look for requests, though there is none.
    #[cfg(test)]
    pub fn wake(&self) {
        self.0.wake();
    }

    /// Takes a request back.
    pub fn withdraw(&self, request: Request) {
        self.0.requests().fetch_and(!(request as u64), Ordering::SeqCst);
    }

    /// The request that a run would stop for now.
    pub fn requested(&self) -> Option<Request> {
        Request::first(self.0.requests().load(Ordering::SeqCst))
    }

    /// Takes the request back that a run stops for now.
    pub fn take(&self) -> Option<Request> {
        self.0.take_request()
    }
}

/// Asked now and then by work that may take long without being a run, such as
/// reading a source: whether it is to stop. By default it never is.
#[derive(Clone, Default)]
pub struct Poll {
    stopper: Option<Stopper>,
    deadline: Option<Instant>,
    steps: Cell<u32>,
}

/// Every step of this number looks for a request: some microseconds of work.
const STEPS: u32 = 1 << 10;

impl Poll {
    /// Stops work when runs are asked to stop. The request stays for the run.
    pub fn of(stopper: Stopper) -> Self {
        Self { stopper: Some(stopper), ..Self::default() }
    }

    /// Stops work at an instant, if there is one.
    pub fn until(deadline: Option<Instant>) -> Self {
        Self { deadline, ..Self::default() }
    }

    /// Counts a step of the work. Returns the request to stop for, if it is
    /// time to look and there is one.
    #[inline]
    pub fn step(&self) -> Option<Request> {
        let steps = self.steps.get().wrapping_add(1);
        self.steps.set(steps);
        if steps.is_multiple_of(STEPS) { self.request() } else { None }
    }

    /// The request to stop for, if there is one.
    #[cold]
    pub fn request(&self) -> Option<Request> {
        let requested = self.stopper.as_ref().and_then(Stopper::requested);
        let is_late = || self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        requested.or_else(|| is_late().then_some(Request::Deadline))
    }
}

impl std::fmt::Debug for Poll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poll").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
