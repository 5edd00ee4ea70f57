//! Compilation status: the states of a binding, and the events that change
//! them. `jit::state` has the transitions.

use crate::name::Name;
use crate::tier::Tier;
use std::sync::Arc;
use std::time::Duration;

/// The state of a binding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum State {
    /// Not bound. The slots hold trampolines.
    #[default]
    NotDefined,
    /// Bound and never called. The slots hold trampolines.
    Pending,
    /// Bound; its only code is inlined into its callers. The slots hold
    /// trampolines.
    Inlined,
    /// A worker is compiling it. The slots hold trampolines, where callers
    /// wait.
    Materializing,
    /// The slots hold the address of its body.
    Materialized,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::NotDefined, Self::Pending, Self::Inlined, Self::Materializing, Self::Materialized];

    /// Returns the name of the state as users see it.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotDefined => "not defined",
            Self::Pending => "pending",
            Self::Inlined => "inlined",
            Self::Materializing => "materializing",
            Self::Materialized => "materialized",
        }
    }
}

/// What can happen to a binding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// The name is bound to a definition without code: a new one or, by undo or
    /// redo, an earlier one.
    Define,
    /// Undo or redo binds the name to an earlier definition whose code is still
    /// there.
    Restore,
    /// A call came through a trampoline, or the code was requested ahead of the
    /// first call.
    Call,
    /// The bound definition was inlined into a caller.
    Inlined,
    /// The code of the bound definition is ready.
    Materialized,
    /// Better code of the bound definition is ready: that of the optimising
    /// tier.
    Improved,
    /// The code of a definition that is no longer bound is ready.
    Outdated,
    /// The bound definition could not be compiled.
    Failed,
    /// Something that was compiled into the code has changed: the name is bound
    /// to the same source, read again.
    CalleeChanged,
    /// The name is unbound.
    Drop,
}

impl Event {
    /// Every event.
    pub const ALL: [Self; 10] = [
        Self::Define,
        Self::Restore,
        Self::Call,
        Self::Inlined,
        Self::Materialized,
        Self::Improved,
        Self::Outdated,
        Self::Failed,
        Self::CalleeChanged,
        Self::Drop,
    ];
}

/// A callback for every change of a binding, in order. Runs on the thread that
/// caused the change, or on one that is already running the callback. It may
/// use other contexts, but must not call back into these bindings.
pub type Observer = Box<dyn FnMut(StateChange) + Send>;

/// A change of a binding.
#[derive(Clone, Copy, Debug)]
pub struct StateChange {
    pub name: Name,
    /// The event that caused it.
    pub event: Event,
    /// The state of the binding before.
    pub before: State,
    /// The state of the binding after.
    pub after: State,
    /// The time from the first request for the code until it was ready; `None`
    /// for other events.
    pub took: Option<Duration>,
}

/// A function that was compiled.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Compilation<'a> {
    /// Its name.
    pub name: &'a str,
    /// The number of its arguments.
    pub arity: u32,
    /// The tier of its code.
    pub tier: Tier,
    /// Whether the code is for the rest of a loop that runs already (OSR).
    pub is_osr: bool,
    /// The time to compile and link it: its share, if others were compiled with it.
    pub took: Duration,
}

/// What is told of functions that are compiled.
pub type CompileObserver = Arc<dyn Fn(&Compilation<'_>) + Send + Sync>;
