//! Deadlines: one thread per engine that asks runs to stop in time.

use crate::stop::{Request, Stopper};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// The deadlines of an engine. Its thread starts with the first of them and
/// ends with the engine.
#[derive(Default)]
pub(crate) struct Deadlines(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<(Instant, u64), Stopper>,
    next: u64,
    running: bool,
    ended: bool,
}

/// A deadline in force; dropping it lifts it. Whoever was stopped by it has
/// taken the request: what runs on under it has it [ask again](Self::ask_again).
pub(crate) struct Deadline {
    shared: Arc<Shared>,
    key: (Instant, u64),
    stopper: Stopper,
}

impl Deadlines {
    /// Has `stopper` asked to stop at `instant`.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(crate) fn set(&self, instant: Instant, stopper: Stopper) -> std::io::Result<Deadline> {
        let mut state = self.0.state.lock();
        if !state.running {
            let shared = self.0.clone();
            thread::Builder::new().name("kal deadlines".into()).spawn(move || shared.watch())?;
            state.running = true;
        }
        let key = (instant, state.next);
        state.next += 1;
        state.waiting.insert(key, stopper.clone());
        drop(state);
        self.0.changed.notify_one();
        Ok(Deadline { shared: self.0.clone(), key, stopper })
    }
}

impl Deadline {
    /// When it is.
    pub(crate) fn instant(&self) -> Instant {
        self.key.0
    }

    /// Asks to stop if the time is over, at once and every time.
    pub(crate) fn ask_again(&self) {
        if self.instant() <= Instant::now() {
            self.stopper.request(Request::Deadline);
        }
    }
}

impl Shared {
    fn watch(&self) {
        let mut state = self.state.lock();
        while !state.ended {
            match state.waiting.first_key_value() {
                None => self.changed.wait(&mut state),
                Some((&(instant, _), _)) if instant > Instant::now() => {
                    self.changed.wait_until(&mut state, instant);
                }
                Some(_) => {
                    if let Some((_, stopper)) = state.waiting.pop_first() {
                        stopper.request(Request::Deadline);
                    }
                }
            }
        }
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.shared.state.lock().waiting.remove(&self.key);
        self.stopper.withdraw(Request::Deadline);
    }
}

impl Drop for Deadlines {
    fn drop(&mut self) {
        self.0.state.lock().ended = true;
        self.0.changed.notify_one();
    }
}
