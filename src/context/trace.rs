//! Tracing: being told what happens to names, as it happens.

use super::Context;
use crate::jit::Happened;
use crate::jit::state::{Event, State};
use std::time::Duration;

/// Something that happened to a name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Transition<'a> {
    /// The name.
    pub name: &'a str,
    /// What happened.
    pub event: Event,
    /// How far its code was before.
    pub before: State,
    /// How far its code is now.
    pub after: State,
    /// When code has become ready: the time since it was asked for.
    pub took: Option<Duration>,
}

/// Who is told. Called on whatever thread something happens, one call at a
/// time; it must not use the context. If it panics, it is not called again.
pub type Trace = Box<dyn FnMut(Transition<'_>) + Send>;

impl Context {
    /// Sets who is told of what happens to names from now on, or nobody.
    pub fn set_trace(&mut self, trace: Option<Trace>) {
        // Not the engine: the observer may be on a worker, which the engine's
        // end waits for.
        let names = self.engine.names().clone();
        self.machine.observe(trace.map(|mut trace| -> crate::jit::Observer {
            Box::new(move |happened: Happened| {
                let Happened { name, event, before, after, took } = happened;
                trace(Transition { name: names.text(name), event, before, after, took });
            })
        }));
    }
}
