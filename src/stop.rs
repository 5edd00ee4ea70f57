//! Asking a run to stop, from any thread.
//!
//! What runs programs looks at one word at every check; whoever wants a run to
//! end leaves a [`Request`] and changes that word. What the word is, and how a
//! run ends, is the business of what runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Asks the runs of something to stop. Cheap to clone.
#[derive(Clone)]
pub struct Stopper(Arc<dyn Stoppable>);

impl Stopper {
    /// A stopper for what runs there.
    pub fn new(runs: Arc<dyn Stoppable>) -> Self {
        Self(runs)
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
