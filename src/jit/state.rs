//! The life of a binding: a pure state machine.
//!
//! A name of a context is *bound* to at most one definition. This module
//! defines the transition of the binding for every state and event, as data:
//! the next state and the [`BindingAction`]s to take. The caller holds the lock
//! of the context's bindings and carries all of them out, in order.
//!
//! ```text
//!                    define                  call
//!   NotDefined ─────────────────▶ Pending ──────────▶ Materializing
//!       ▲                         ▲  ▲ ▲                │      │
//!       │ drop (from any state)   │  │ └── define, ─────┘      │ materialized
//!       │                         │  │     callee changed,     │
//!       └───────────────          │  │     failed              ▼
//!                                 │  └───────────────── Materialized ◀─ restore
//!                                 └─ define                define,     (from any
//!                                                          callee       state)
//!                                                          changed
//! ```
//!
//! A pending definition that has become part of its callers' code is *inlined*;
//! otherwise that state is like pending. Materialized code may be improved: the
//! optimising tier replaces the code of the baseline.
//!
//! Definitions are immutable, so if a name is bound to another definition while
//! its old one is being materialized, that compile simply finishes: its
//! completion finds the name bound elsewhere ([`Event::Outdated`]) and changes
//! nothing.

pub use crate::status::{Event, State};

/// What to do about an event, in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BindingAction {
    /// Bind the name to the definition that came with the event; release the
    /// one it was bound to, with its code.
    Bind,
    /// Unbind the name; release the definition.
    Unbind,
    /// Reset the name's slots to trampolines.
    Reset,
    /// Keep the code that came with the event; release the code before it.
    Install,
    /// Redirect the slot of the definition's arity to the code.
    Redirect,
    /// Note that the code is requested for the first time.
    Request,
    /// Answer the call: it waits for the code.
    Wait,
    /// Answer the call: nothing is defined.
    Refuse,
}

/// The next state and the actions to take.
pub type StateTransition = (State, &'static [BindingAction]);

/// Returns the transition for an event in a state.
pub fn transition(state: State, event: Event) -> StateTransition {
    use BindingAction::{Bind, Install, Redirect, Refuse, Request, Reset, Unbind, Wait};
    match (state, event) {
        // A name without a definition may have slots that hold a host function.
        (State::NotDefined, Event::Define) => (State::Pending, &[Bind, Reset]),
        (State::NotDefined | State::Materialized, Event::Restore) => {
            (State::Materialized, &[Bind, Reset, Install, Redirect])
        }
        (State::NotDefined, Event::Call) => (State::NotDefined, &[Refuse]),
        (
            State::NotDefined,
            Event::Inlined
            | Event::Materialized
            | Event::Improved
            | Event::Outdated
            | Event::Failed
            | Event::CalleeChanged
            | Event::Drop,
        ) => (State::NotDefined, &[]),

        (State::Pending | State::Inlined, Event::Define | Event::CalleeChanged) => (State::Pending, &[Bind]),
        (State::Pending | State::Inlined | State::Materializing, Event::Restore) => {
            (State::Materialized, &[Bind, Install, Redirect])
        }
        (State::Pending | State::Inlined, Event::Call) => (State::Materializing, &[Request, Wait]),
        (State::Pending | State::Inlined, Event::Inlined) => (State::Inlined, &[]),
        // Undo bound a definition again that a worker was still compiling.
        (State::Pending | State::Inlined, Event::Materialized) => (State::Materialized, &[Install, Redirect]),
        (State::Pending | State::Inlined, Event::Improved | Event::Outdated | Event::Failed) => (state, &[]),
        (State::Pending | State::Inlined, Event::Drop) => (State::NotDefined, &[Unbind]),

        (State::Materializing, Event::Define | Event::CalleeChanged) => (State::Pending, &[Bind]),
        (State::Materializing, Event::Call) => (State::Materializing, &[Wait]),
        (State::Materializing, Event::Materialized) => (State::Materialized, &[Install, Redirect]),
        (State::Materializing, Event::Inlined | Event::Improved | Event::Outdated) => {
            (State::Materializing, &[])
        }
        (State::Materializing, Event::Failed) => (State::Pending, &[]),
        (State::Materializing, Event::Drop) => (State::NotDefined, &[Unbind]),

        (State::Materialized, Event::Define | Event::CalleeChanged) => (State::Pending, &[Bind, Reset]),
        // A slot that was allocated after the code.
        (State::Materialized, Event::Call) => (State::Materialized, &[Redirect]),
        // A caller that waited, or the optimising tier.
        (State::Materialized, Event::Materialized | Event::Improved) => {
            (State::Materialized, &[Install, Redirect])
        }
        (State::Materialized, Event::Inlined | Event::Outdated | Event::Failed) => (State::Materialized, &[]),
        (State::Materialized, Event::Drop) => (State::NotDefined, &[Unbind, Reset]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the actions change: whether the name is bound, whether it has code,
    /// and where its slots point.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Model {
        bound: bool,
        code: bool,
        slots_lead_to_code: bool,
    }

    fn model(state: State) -> Model {
        let compiled = state == State::Materialized;
        Model { bound: state != State::NotDefined, code: compiled, slots_lead_to_code: compiled }
    }

    fn apply(mut model: Model, actions: &[BindingAction]) -> Model {
        for action in actions {
            match action {
                BindingAction::Bind => (model.bound, model.code) = (true, false),
                BindingAction::Unbind => (model.bound, model.code) = (false, false),
                BindingAction::Reset => model.slots_lead_to_code = false,
                BindingAction::Install => {
                    assert!(model.bound);
                    model.code = true;
                }
                BindingAction::Redirect => {
                    assert!(model.code);
                    model.slots_lead_to_code = true;
                }
                BindingAction::Request | BindingAction::Wait | BindingAction::Refuse => {}
            }
        }
        model
    }

    #[test]
    fn every_call_has_one_answer_and_nothing_else_has() {
        let answers = [BindingAction::Redirect, BindingAction::Wait, BindingAction::Refuse];
        for state in State::ALL {
            let (_, actions) = transition(state, Event::Call);
            assert_eq!(actions.iter().filter(|action| answers.contains(action)).count(), 1, "{state:?}");
            for event in Event::ALL.into_iter().filter(|event| *event != Event::Call) {
                let (_, actions) = transition(state, event);
                assert!(!actions.iter().any(|action| answers[1..].contains(action)), "{state:?} {event:?}");
            }
        }
    }

    #[test]
    fn restored_code_is_in_use_at_once() {
        for state in State::ALL {
            let (next, actions) = transition(state, Event::Restore);
            assert_eq!((next, actions[0]), (State::Materialized, BindingAction::Bind), "{state:?}");
            assert!(actions.ends_with(&[BindingAction::Install, BindingAction::Redirect]), "{state:?}");
        }
    }

    #[test]
    fn only_materialized_code_is_improved() {
        for state in State::ALL {
            let (next, actions) = transition(state, Event::Improved);
            assert_eq!((next, actions.is_empty()), (state, state != State::Materialized), "{state:?}");
        }
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
            assert!(!actions.contains(&BindingAction::Request));
        }
    }

    #[test]
    fn outdated_code_changes_nothing_anywhere() {
        for state in State::ALL {
            assert_eq!(transition(state, Event::Outdated), (state, &[][..]));
        }
    }

    #[test]
    fn code_is_requested_once() {
        let (busy, actions) = transition(State::Pending, Event::Call);
        assert_eq!(actions, [BindingAction::Request, BindingAction::Wait]);
        assert_eq!(transition(busy, Event::Call), (busy, &[BindingAction::Wait][..]));
    }

    #[test]
    fn what_is_inlined_has_no_code_of_its_own_and_is_compiled_when_called() {
        let (state, actions) = transition(State::Pending, Event::Inlined);
        assert_eq!((state, actions), (State::Inlined, &[][..]));
        for event in Event::ALL {
            let (pending, inlined) = (transition(State::Pending, event), transition(state, event));
            assert_eq!(inlined.1, pending.1, "{event:?}");
            let keeps = matches!(event, Event::Improved | Event::Outdated | Event::Failed);
            let is_kept = pending.0 == State::Pending && keeps;
            assert_eq!(inlined.0, if is_kept { State::Inlined } else { pending.0 }, "{event:?}");
        }
    }

    #[test]
    fn a_failure_leaves_the_definition_pending_and_a_later_call_tries_again() {
        let (state, actions) = transition(State::Materializing, Event::Failed);
        assert_eq!((state, actions), (State::Pending, &[][..]));
        assert!(transition(state, Event::Call).1.contains(&BindingAction::Request));
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
