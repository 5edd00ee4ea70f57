//! The history of a context: what names meant before.
//!
//! A definition never changes, so undoing one means binding its name to the
//! earlier definition again, whose code still exists. The history holds older
//! values of the book of names, and the definitions with their code, for the
//! number of steps it was asked to keep: none by default, so that a program that
//! keeps redefining does not grow.

use crate::backend::BoundDefinition;
use crate::diagnostic::Diagnostic;
use crate::name::{HeldName, Name};
use crate::world::World;
use std::collections::VecDeque;
use std::mem::{self, Discriminant};
use std::sync::Arc;

/// The steps that can be undone and redone.
#[derive(Default)]
pub(super) struct History {
    pub(super) depth: usize,
    pub(super) done: VecDeque<UndoStep>,
    pub(super) undone: Vec<UndoStep>,
    /// Whether the next change begins a step.
    pub(super) at_beginning: bool,
    /// Held by the operation that is making a step.
    pub(super) step: Arc<()>,
}

/// What one operation has changed.
pub(super) struct UndoStep {
    pub(super) before: World,
    pub(super) after: World,
    pub(super) changed: Vec<Changed>,
}

/// A name whose meaning has changed.
pub(super) enum Changed {
    /// It was bound to another definition, or to one or none.
    Function { name: HeldName, before: Option<BoundDefinition>, after: Option<BoundDefinition> },
    /// A variable was declared or removed.
    Variable(HeldName),
    /// A declaration was added, changed or removed.
    Declaration(HeldName),
    /// A module was imported.
    Import(HeldName),
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
    /// Whether it names a module that is imported, or is no more.
    pub is_import: bool,
    /// Whether the name means something now: a definition, a variable or a
    /// declaration.
    pub is_defined: bool,
    /// Warnings about callers that do not fit the present definition.
    pub warnings: Vec<Diagnostic>,
}

impl Changed {
    pub(super) fn name(&self) -> &HeldName {
        let (Self::Function { name, .. }
        | Self::Variable(name)
        | Self::Declaration(name)
        | Self::Import(name)) = self;
        name
    }

    /// Returns what it changes: a name has a function, a variable and a
    /// declaration.
    pub(super) fn subject(&self) -> (Name, Discriminant<Self>) {
        (self.name().name(), mem::discriminant(self))
    }
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

    /// Returns the book as it is before a change; `None` if no history is kept.
    pub(super) fn moment(&self, world: &World) -> Option<World> {
        (self.depth > 0).then(|| world.clone())
    }

    /// Records a change of the book, which was `before` and is `after` now.
    pub(super) fn push(&mut self, before: Option<World>, after: &World, changed: Changed) {
        self.undone.clear();
        let Some(before) = before else { return };
        match self.done.back_mut() {
            Some(step) if !self.at_beginning => {
                step.after = after.clone();
                step.changed.push(changed);
            }
            Some(_) | None => {
                self.done.push_back(UndoStep { before, after: after.clone(), changed: vec![changed] });
            }
        }
        self.at_beginning = false;
        self.trim();
    }

    /// Returns the variables that an undo or a redo can bring back.
    pub(super) fn variables(&self) -> impl Iterator<Item = Name> {
        let changed = self.done.iter().chain(&self.undone).flat_map(|step| &step.changed);
        changed.filter_map(|changed| match changed {
            Changed::Variable(name) => Some(name.name()),
            Changed::Function { .. } | Changed::Declaration(_) | Changed::Import(_) => None,
        })
    }

    /// Drops the oldest steps beyond the limit, in both directions.
    pub(super) fn trim(&mut self) {
        let excess = self.done.len().saturating_sub(self.depth);
        self.done.drain(..excess);
        let excess = self.undone.len().saturating_sub(self.depth);
        self.undone.drain(..excess);
    }
}
