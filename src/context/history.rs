//! The history of a context: what names were bound to before.
//!
//! A definition never changes, so undoing one means binding its name to the
//! earlier definition again, whose code still exists. The history holds those
//! definitions for the number of steps it was asked to keep: none by default,
//! so that a program that keeps redefining does not grow.

use crate::backend::BoundDefinition;
use crate::diagnostic::Diagnostic;
use crate::name::Name;
use crate::sema::Extern;
use crate::syntax::operator::{Fixity, Operators};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// How a definition's source was read.
#[derive(Clone)]
pub(super) struct Reading {
    /// The operators in force before it.
    pub(super) operators: Arc<Operators>,
    /// The operator it defines.
    pub(super) fixity: Option<Fixity>,
}

/// What a name is bound to, and how that was read.
#[derive(Clone)]
pub(super) struct BindingRecord {
    pub(super) bound: BoundDefinition,
    pub(super) reading: Reading,
}

/// The steps that can be undone and redone.
#[derive(Default)]
pub(super) struct History {
    pub(super) readings: FxHashMap<Name, Reading>,
    pub(super) depth: usize,
    pub(super) done: VecDeque<UndoStep>,
    pub(super) undone: Vec<UndoStep>,
    /// Whether the next change begins a step.
    pub(super) at_beginning: bool,
    /// Held by the operation that is making a step.
    pub(super) step: Arc<()>,
}

type UndoStep = Vec<Move>;

/// One change, with what is needed to undo and redo it.
pub(super) enum Move {
    /// A name was bound to something else.
    Bound { name: Name, before: Moment, after: Moment },
    /// A variable was dropped.
    Dropped(Name),
    /// A declaration was added, changed or removed.
    Declared { name: Name, before: Option<Extern>, after: Option<Extern> },
}

/// A binding and the operators in force at one time.
pub(super) struct Moment {
    pub(super) binding: Option<BindingRecord>,
    pub(super) operators: Arc<Operators>,
}

/// What an undo or a redo did to one name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// The name.
    pub name: String,
    /// Whether it names a variable rather than a function.
    pub is_variable: bool,
    /// Whether the function's declaration has changed, not its definition.
    pub is_declaration: bool,
    /// Whether the name means something now: a definition, a variable or a
    /// declaration.
    pub is_defined: bool,
    /// Warnings about callers that do not fit the present definition.
    pub warnings: Vec<Diagnostic>,
}

impl History {
    /// Begins a step, or joins that of the source that is being run. All
    /// changes belong to it until the returned token is dropped.
    pub(super) fn step(&mut self) -> Arc<()> {
        if Arc::strong_count(&self.step) == 1 {
            self.end();
        }
        self.step.clone()
    }

    /// Ends the step: the next change begins another.
    pub(super) fn end(&mut self) {
        self.at_beginning = true;
    }

    pub(super) fn push(&mut self, change: Move) {
        self.undone.clear();
        if self.depth == 0 {
            return;
        }
        match self.done.back_mut() {
            Some(step) if !self.at_beginning => step.push(change),
            Some(_) | None => self.done.push_back(vec![change]),
        }
        self.at_beginning = false;
        self.trim();
    }

    /// Drops the oldest steps beyond the limit, in both directions.
    pub(super) fn trim(&mut self) {
        let excess = self.done.len().saturating_sub(self.depth);
        self.done.drain(..excess);
        let excess = self.undone.len().saturating_sub(self.depth);
        self.undone.drain(..excess);
    }
}
