//! Threads that wait for something that another thread does.
//!
//! They sleep without a lock, so that a fork finds none locked that the child
//! needs.

use super::worker::locked;
use crate::process::{self, Activity};
use std::sync::Mutex;
use std::thread::{self, Thread};

/// The threads that wait for one thing.
#[derive(Default)]
pub(super) struct Waiters(Mutex<Vec<Thread>>);

impl Waiters {
    /// Waits until `look` finds something; looks again whenever the threads are
    /// [woken](Self::wake).
    pub(super) fn wait<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        let mut found = process::within(Activity::Steady, &mut look);
        loop {
            if let Some(found) = found {
                return found;
            }
            // What happens after the look wakes this thread.
            found = process::within(Activity::Steady, || {
                locked(&self.0).push(thread::current());
                look()
            });
            if found.is_none() {
                process::within(Activity::Elsewhere, thread::park);
            }
        }
    }

    /// Wakes all threads, which look again.
    pub(super) fn wake(&self) {
        std::mem::take(&mut *locked(&self.0)).iter().for_each(Thread::unpark);
    }
}
