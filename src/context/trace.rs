//! Tracing: being told what happens to names, as it happens.

use super::Context;
use crate::sema::instance::shown;
use crate::status::{Event, Observer, State, StateChange};
use std::time::Duration;

/// Something that happened to a name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Transition<'a> {
    /// The function, as messages show it: `twice(sin, …)` for an instance.
    pub name: &'a str,
    /// The event that caused the transition.
    pub event: Event,
    /// Its compilation status before.
    pub before: State,
    /// Its compilation status now.
    pub after: State,
    /// For code that has become ready: the time since it was requested.
    pub took: Option<Duration>,
}

/// An observer of transitions. Called on the thread where they happen, one call
/// at a time; it must not use the context. If it panics, it is not called
/// again. It may fork the process; in a child that was forked while another
/// thread called it, there is none.
pub type Trace = Box<dyn FnMut(Transition<'_>) + Send>;

impl Context {
    /// Sets the observer of what happens to names from now on; `None` removes
    /// it.
    pub fn set_trace(&mut self, trace: Option<Trace>) {
        // Not the engine: the observer may be on a worker, which the engine's
        // end waits for.
        let names = self.engine.names().clone();
        self.backend.observe(trace.map(|mut trace| -> Observer {
            Box::new(move |change: StateChange| {
                let StateChange { name, event, before, after, took } = change;
                trace(Transition { name: &shown(&names.text(name)), event, before, after, took });
            })
        }));
    }
}
