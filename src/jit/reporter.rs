//! Reporting what happens to the names of a context to its observer.
//!
//! The observer is taken out while it is called, so that no lock is held: it may
//! take its time, and the process may fork meanwhile. In the child an observer
//! that another thread was calling does not exist.

use super::state::{Event, State};
use super::waiters::Waiters;
use super::worker::{self, locked};
use crate::host::discard;
use crate::name::Name;
use crate::process::{self, Activity, ThreadIdentity};
pub use crate::status::{Observer, StateChange};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Changes, and the observer that is told of them.
#[derive(Default)]
pub(super) struct ChangeReporter {
    observer: Mutex<Presence>,
    is_observed: AtomicBool,
    /// Changes that the observer has not been told of.
    unreported: Mutex<VecDeque<StateChange>>,
    /// Threads that wait for the observer.
    waiters: Waiters,
}

/// Where the observer is.
#[derive(Default)]
enum Presence {
    #[default]
    None,
    Idle(Observer),
    /// That thread is calling it.
    Busy(ThreadIdentity),
}

impl ChangeReporter {
    /// Sets the observer of later changes; `None` removes it.
    pub(super) fn set(&self, mut observer: Option<Observer>) {
        let old = self.waiters.wait(|| {
            let mut present = locked(&self.observer);
            if present.is_busy() {
                return None;
            }
            self.is_observed.store(observer.is_some(), Ordering::Relaxed);
            locked(&self.unreported).clear();
            let new = observer.take().map_or(Presence::None, Presence::Idle);
            Some(std::mem::replace(&mut *present, new))
        });
        process::within(Activity::Elsewhere, || drop(old));
        // What has happened meanwhile.
        self.report();
    }

    /// Returns whether there is an observer.
    pub(super) fn is_observed(&self) -> bool {
        self.is_observed.load(Ordering::Relaxed)
    }

    /// Queues a change for the observer, leaving out events without effect.
    /// Called under the lock of the table, which orders the changes.
    pub(super) fn note(&self, name: Name, event: Event, states: (State, State), took: Option<Duration>) {
        let (before, after) = states;
        let always = matches!(
            event,
            Event::Define | Event::Restore | Event::Improved | Event::Failed | Event::Outdated
        );
        let is_news = before != after || always;
        if is_news && self.is_observed() {
            locked(&self.unreported).push_back(StateChange { name, event, before, after, took });
        }
    }

    /// Reports queued changes to the observer. Called without the lock of the
    /// table, which the observer may have to wait for.
    pub(super) fn report(&self) {
        while self.is_observed() && !locked(&self.unreported).is_empty() {
            let Some(observer) = self.waiters.wait(|| self.take()) else { return };
            let kept = process::within(Activity::Elsewhere, || self.tell(observer));
            process::within(Activity::Steady, || {
                self.is_observed.fetch_and(kept.is_some(), Ordering::Relaxed);
                *locked(&self.observer) = kept.map_or(Presence::None, Presence::Idle);
                self.waiters.wake();
            });
            // The observer may have forked during a run.
            process::settle();
        }
    }

    /// Takes the observer to call it: `Some(None)` if there is none, or the
    /// thread that calls it reports these changes as well, which a worker does
    /// not wait for; `None` if the caller is to wait.
    fn take(&self) -> Option<Option<Observer>> {
        let mut present = locked(&self.observer);
        if let Presence::Busy(thread) = *present
            && present.is_busy()
        {
            return (worker::is_worker() || thread.is_current()).then_some(None);
        }
        match std::mem::replace(&mut *present, Presence::Busy(ThreadIdentity::current())) {
            Presence::Idle(observer) => Some(Some(observer)),
            Presence::None | Presence::Busy(_) => {
                *present = Presence::None;
                self.is_observed.store(false, Ordering::Relaxed);
                Some(None)
            }
        }
    }

    /// Reports all changes to the observer. Returns it, unless it has panicked,
    /// which must affect neither the definition nor its caller.
    fn tell(&self, mut observer: Observer) -> Option<Observer> {
        let next = || process::within(Activity::Steady, || locked(&self.unreported).pop_front());
        while let Some(change) = next() {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| observer(change))) {
                discard(panic);
                return None;
            }
        }
        Some(observer)
    }
}

impl Presence {
    /// Returns whether a thread of this process is calling the observer.
    fn is_busy(&self) -> bool {
        matches!(self, Self::Busy(thread) if thread.is_here())
    }
}

impl Drop for ChangeReporter {
    fn drop(&mut self) {
        let present = self.observer.get_mut().unwrap_or_else(PoisonError::into_inner);
        let observer = std::mem::take(present);
        // It may own anything.
        process::within(Activity::Elsewhere, || drop(observer));
    }
}
