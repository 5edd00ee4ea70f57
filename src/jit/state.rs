//! The life of a binding: a pure state machine.
//!
//! A name of a context is *bound* to at most one definition. This module
//! defines the transition of the binding for every state and event, as data:
//! the next state and the [`BindingAction`]s to take. The caller holds the lock
//! of the context's bindings and carries the actions out.
//!
//! ```text
//!                    define                  call
//!   NotDefined ─────────────────▶ Pending ──────────▶ Materializing
//!       ▲                         ▲  ▲ ▲                │      │
//!       │ drop (from any state)   │  │ └── define, ─────┘      │ materialized
//!       │                         │  │     callee changed,     │
//!       └───────────────          │  │     failed              ▼
//!                                 │  └───────────────── Materialized
//!                                 └─ define                define,
//!                                                          callee changed
//! ```
//!
//! A pending definition that has become part of its callers' code is *inlined*;
//! otherwise that state is like pending.
//!
//! Definitions are immutable, so if a name is bound to another definition while
//! its old one is being materialized, that compile simply finishes: its
//! completion finds the name bound elsewhere ([`Event::Outdated`]) and changes
//! nothing.

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
    /// The name is bound to a definition: a new one or, by undo or redo, an
    /// earlier one.
    Define,
    /// A call came through a trampoline, or the code was requested ahead of the
    /// first call.
    Call,
    /// The bound definition was inlined into a caller.
    Inlined,
    /// The code of the bound definition is ready.
    Materialized,
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
    pub const ALL: [Self; 8] = [
        Self::Define,
        Self::Call,
        Self::Inlined,
        Self::Materialized,
        Self::Outdated,
        Self::Failed,
        Self::CalleeChanged,
        Self::Drop,
    ];
}

/// What to do about an event, in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BindingAction {
    /// Bind the name to the definition that came with the event; release the
    /// one it was bound to.
    Bind,
    /// Unbind the name; release the definition.
    Unbind,
    /// Reset the name's slots to trampolines.
    Reset,
    /// Redirect the name's slots to the body.
    Redirect,
    /// Submit the definition to a worker.
    Materialize,
    /// Make the caller wait for the worker.
    Wait,
    /// Fail the call: nothing is defined.
    Refuse,
    /// Fail the waiting calls: the definition cannot be compiled.
    Report,
}

/// The next state and the actions to take.
pub type StateTransition = (State, &'static [BindingAction]);

/// Returns the transition for an event in a state.
pub fn transition(state: State, event: Event) -> StateTransition {
    use BindingAction::{Bind, Materialize, Redirect, Refuse, Report, Reset, Unbind, Wait};
    match (state, event) {
        // A name without a definition may have slots that hold a host function.
        (State::NotDefined, Event::Define) => (State::Pending, &[Bind, Reset]),
        (State::NotDefined, Event::Call) => (State::NotDefined, &[Refuse]),
        (
            State::NotDefined,
            Event::Inlined
            | Event::Materialized
            | Event::Outdated
            | Event::Failed
            | Event::CalleeChanged
            | Event::Drop,
        ) => (State::NotDefined, &[]),

        (State::Pending | State::Inlined, Event::Define | Event::CalleeChanged) => (State::Pending, &[Bind]),
        (State::Pending | State::Inlined, Event::Call) => (State::Materializing, &[Materialize, Wait]),
        (State::Pending | State::Inlined, Event::Inlined) => (State::Inlined, &[]),
        // Undo bound a definition again that a worker was still compiling.
        (State::Pending | State::Inlined, Event::Materialized) => (State::Materialized, &[Redirect]),
        (State::Pending | State::Inlined, Event::Failed) => (state, &[Report]),
        (State::Pending | State::Inlined, Event::Outdated) => (state, &[]),
        (State::Pending | State::Inlined, Event::Drop) => (State::NotDefined, &[Unbind]),

        (State::Materializing, Event::Define | Event::CalleeChanged) => (State::Pending, &[Bind]),
        (State::Materializing, Event::Call) => (State::Materializing, &[Wait]),
        (State::Materializing, Event::Materialized) => (State::Materialized, &[Redirect]),
        (State::Materializing, Event::Inlined | Event::Outdated) => (State::Materializing, &[]),
        (State::Materializing, Event::Failed) => (State::Pending, &[Report]),
        (State::Materializing, Event::Drop) => (State::NotDefined, &[Unbind]),

        (State::Materialized, Event::Define | Event::CalleeChanged) => (State::Pending, &[Bind, Reset]),
        // A slot that was allocated after the code, or a caller that waited.
        (State::Materialized, Event::Call | Event::Materialized) => (State::Materialized, &[Redirect]),
        (State::Materialized, Event::Inlined | Event::Outdated | Event::Failed) => (State::Materialized, &[]),
        (State::Materialized, Event::Drop) => (State::NotDefined, &[Unbind, Reset]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the actions change: where the slots of a name point, and whether it
    /// is bound.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Model {
        bound: bool,
        stubs_lead_to_body: bool,
    }

    fn model(state: State) -> Model {
        Model { bound: state != State::NotDefined, stubs_lead_to_body: state == State::Materialized }
    }

    fn apply(mut model: Model, actions: &[BindingAction]) -> Model {
        for action in actions {
            match action {
                BindingAction::Bind => model.bound = true,
                BindingAction::Unbind => model.bound = false,
                BindingAction::Reset => model.stubs_lead_to_body = false,
                BindingAction::Redirect => model.stubs_lead_to_body = true,
                BindingAction::Materialize
                | BindingAction::Wait
                | BindingAction::Refuse
                | BindingAction::Report => {}
            }
        }
        model
    }

    #[test]
    fn actions_bring_about_exactly_what_the_next_state_says() {
        for state in State::ALL {
            for event in Event::ALL {
                let (next, actions) = transition(state, event);
                assert_eq!(apply(model(state), actions), model(next), "{state:?} at {event:?}");
            }
        }
    }

    #[test]
    fn a_new_definition_is_always_bound_and_never_compiled() {
        for state in State::ALL {
            let (next, actions) = transition(state, Event::Define);
            assert_eq!(next, State::Pending);
            assert_eq!(actions[0], BindingAction::Bind);
            assert!(!actions.contains(&BindingAction::Materialize));
        }
    }

    #[test]
    fn outdated_code_changes_nothing_anywhere() {
        for state in State::ALL {
            assert_eq!(transition(state, Event::Outdated), (state, &[][..]));
        }
    }

    #[test]
    fn a_definition_is_handed_to_a_worker_once() {
        let (busy, actions) = transition(State::Pending, Event::Call);
        assert_eq!(actions, [BindingAction::Materialize, BindingAction::Wait]);
        assert_eq!(transition(busy, Event::Call), (busy, &[BindingAction::Wait][..]));
    }

    #[test]
    fn what_is_inlined_has_no_code_of_its_own_and_is_compiled_when_called() {
        let (state, actions) = transition(State::Pending, Event::Inlined);
        assert_eq!((state, actions), (State::Inlined, &[][..]));
        for event in Event::ALL {
            let (pending, inlined) = (transition(State::Pending, event), transition(state, event));
            assert_eq!(inlined.1, pending.1, "{event:?}");
            let is_kept = pending.0 == State::Pending && matches!(event, Event::Outdated | Event::Failed);
            assert_eq!(inlined.0, if is_kept { State::Inlined } else { pending.0 }, "{event:?}");
        }
    }

    #[test]
    fn a_failure_leaves_the_definition_pending_and_a_later_call_tries_again() {
        let (state, actions) = transition(State::Materializing, Event::Failed);
        assert_eq!((state, actions), (State::Pending, &[BindingAction::Report][..]));
        assert!(transition(state, Event::Call).1.contains(&BindingAction::Materialize));
    }

    #[test]
    fn drop_always_ends_undefined() {
        for state in State::ALL {
            let (next, actions) = transition(state, Event::Drop);
            assert_eq!(next, State::NotDefined);
            assert_eq!(actions.contains(&BindingAction::Unbind), state != State::NotDefined);
        }
        assert_eq!(transition(State::NotDefined, Event::Call).1, [BindingAction::Refuse]);
    }

    #[test]
    fn every_state_can_be_reached_and_left() {
        for target in State::ALL {
            let reached = State::ALL.iter().any(|&from| {
                from != target && Event::ALL.iter().any(|&event| transition(from, event).0 == target)
            });
            let left = Event::ALL.iter().any(|&event| transition(target, event).0 != target);
            assert!(reached && left, "{target:?}");
        }
    }
}
