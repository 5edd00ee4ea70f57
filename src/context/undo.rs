//! Undo and redo, and removing what names are bound to.

use super::history::{BindingRecord, Change, History, Moment, Move, Reading};
use super::{Context, Error};
use crate::name::Name;
use crate::sema::Extern;
use crate::sema::checked::CheckedFunction;
use crate::syntax::operator::{BinaryAction, Fixity, Infix, Operators, UnaryMeaning};
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl Context {
    /// Sets how many steps are kept for [`undo`](Self::undo), and as many for
    /// [`redo`](Self::redo), with the definitions that they replaced; 0 at
    /// first.
    pub fn keep_history(&mut self, steps: usize) {
        self.history.depth = steps;
        self.history.trim();
    }

    /// Reverts what the last source, [`drop_function`](Self::drop_function) or
    /// [`drop_variable`](Self::drop_variable) changed; calls made while a
    /// source was running belong to its step. Names are bound to their earlier
    /// definitions, operators are read as before. Nothing is compiled again.
    /// Variables keep their values. Returns what changed, each name once; empty
    /// if there is nothing to undo.
    pub fn undo(&mut self) -> Vec<Change> {
        let Some(step) = self.history.done.pop_back() else { return Vec::new() };
        let back = |change: &Move| match change {
            Move::Bound { name, before, .. } => self.go_to(*name, before),
            Move::Dropped(name) => self.set_declared(*name, true),
            Move::Declared { name, before, .. } => self.declare_again(*name, before),
        };
        let mut changes = net(step.iter().rev().map(back).collect());
        changes.reverse();
        self.history.undone.push(step);
        self.history.trim();
        self.history.end();
        changes
    }

    /// Reverts the last undo; returns what changed, each name once.
    pub fn redo(&mut self) -> Vec<Change> {
        let Some(step) = self.history.undone.pop() else { return Vec::new() };
        let forth = |change: &Move| match change {
            Move::Bound { name, after, .. } => self.go_to(*name, after),
            Move::Dropped(name) => self.set_declared(*name, false),
            Move::Declared { name, after, .. } => self.declare_again(*name, after),
        };
        let changes = net(step.iter().map(forth).collect());
        self.history.done.push_back(step);
        self.history.trim();
        self.history.end();
        changes
    }

    /// Removes a function: unbinds its name, and removes its declaration.
    /// Callers then fail; an operator gets its built-in meaning back.
    ///
    /// # Errors
    /// [`Error::NoFunction`] if nothing of that name is defined or declared.
    pub fn drop_function(&mut self, name: &str) -> Result<(), Error> {
        let known = self.engine.names().get(name);
        let is_known = |name: &Name| self.backend.binding(*name).is_some() || self.externs.contains_key(name);
        let name = known.filter(is_known).ok_or_else(|| Error::NoFunction(name.to_owned()))?;
        let _step = self.history.step();
        if let Some(declared) = self.set_extern(name, None) {
            self.history.push(Move::Declared { name, before: Some(declared), after: None });
        }
        if self.backend.binding(name).is_none() {
            return Ok(());
        }
        let before = self.binding_of(name);
        self.backend.drop_binding(name);
        if let Some(fixity) = self.history.readings.get(&name).and_then(|reading| reading.fixity) {
            Arc::make_mut(&mut self.operators).forget(fixity, self.engine.names());
        }
        self.note_change(name, before, None);
        Ok(())
    }

    /// Removes a variable that no definition uses.
    ///
    /// # Errors
    /// [`Error::NoVariable`] if it is not declared, [`Error::VariableInUse`] if
    /// a definition reads or assigns it.
    pub fn drop_variable(&mut self, name: &str) -> Result<(), Error> {
        let declared = self.declared(name)?;
        let users = self.users(name);
        if !users.is_empty() {
            return Err(Error::VariableInUse { name: name.to_owned(), users });
        }
        self.variables.remove(&declared);
        let _step = self.history.step();
        self.history.push(Move::Dropped(declared));
        Ok(())
    }

    /// Removes everything: definitions, variables, operators, history.
    pub fn reset(&mut self) {
        for (_, function) in self.backend.all() {
            self.backend.drop_binding(function.name);
        }
        for name in std::mem::take(&mut self.variables) {
            // Its place exists, since it was declared.
            let _ = self.backend.set_variable(&self.engine, name, 0.0);
        }
        let declared: Vec<Name> = self.externs.keys().copied().collect();
        declared.into_iter().for_each(|name| _ = self.set_extern(name, None));
        self.operators = Arc::new(Operators::new(self.engine.names()));
        let History { depth, ref step, .. } = self.history;
        self.history = History { depth, step: step.clone(), ..History::default() };
        self.redefined = 0;
    }

    /// Returns how the definition that a name is bound to was read.
    pub(super) fn reading(&self, name: Name) -> Option<&Reading> {
        self.history.readings.get(&name)
    }

    /// Returns what a name is bound to, for the history; `None` if it is
    /// unbound or no history is kept.
    pub(super) fn binding_of(&self, name: Name) -> Option<Moment> {
        (self.history.depth > 0)
            .then(|| Moment { binding: self.current(name), operators: self.operators.clone() })
    }

    fn current(&self, name: Name) -> Option<BindingRecord> {
        let bound = self.backend.bound(name)?;
        Some(BindingRecord { bound, reading: self.reading(name)?.clone() })
    }

    /// Records that a name was bound to another definition, or to nothing.
    pub(super) fn note_change(&mut self, name: Name, before: Option<Moment>, reading: Option<Reading>) {
        match reading {
            Some(reading) => self.history.readings.insert(name, reading),
            None => self.history.readings.remove(&name),
        };
        let Some(before) = before else { return };
        let after = Moment { binding: self.current(name), operators: self.operators.clone() };
        self.history.push(Move::Bound { name, before, after });
    }

    fn go_to(&mut self, name: Name, moment: &Moment) -> Change {
        self.operators = moment.operators.clone();
        let warnings = match &moment.binding {
            Some(binding) => {
                let defined = self.backend.rebind(&binding.bound);
                self.history.readings.insert(name, binding.reading.clone());
                self.warnings(&defined.stale, binding.bound.function())
            }
            None => {
                self.backend.drop_binding(name);
                self.history.readings.remove(&name);
                Vec::new()
            }
        };
        let is_defined = moment.binding.is_some();
        let name = self.engine.names().text(name).to_owned();
        Change { name, is_variable: false, is_declaration: false, is_defined, warnings }
    }

    fn declare_again(&mut self, name: Name, declared: &Option<Extern>) -> Change {
        self.set_extern(name, declared.clone());
        Change {
            name: self.engine.names().text(name).to_owned(),
            is_variable: false,
            is_declaration: true,
            is_defined: declared.is_some(),
            warnings: Vec::new(),
        }
    }

    fn set_declared(&mut self, variable: Name, is_declared: bool) -> Change {
        if is_declared {
            self.variables.insert(variable);
        } else {
            self.variables.remove(&variable);
        }
        let name = self.engine.names().text(variable).to_owned();
        Change {
            name,
            is_variable: true,
            is_declaration: false,
            is_defined: is_declared,
            warnings: Vec::new(),
        }
    }

    /// Returns whether a name is already bound to an equal definition.
    pub(super) fn is_bound_to(&self, function: &CheckedFunction, fixity: Option<Fixity>) -> bool {
        let bound = self.backend.binding(function.name);
        bound.is_some_and(|(_, bound)| bound.means_the_same_as(function, self.engine.names()))
            && fixity.is_none_or(|fixity| self.reads_as(fixity, function.name))
    }

    fn reads_as(&self, fixity: Fixity, function: Name) -> bool {
        match fixity {
            Fixity::Unary { operator } => {
                self.operators.unary(operator) == Some(UnaryMeaning::Function(function))
            }
            Fixity::Binary { operator, .. } if self.operators.assigns(operator) => true,
            Fixity::Binary { operator, precedence } => {
                self.operators.binary(operator).is_some_and(|meaning| {
                    meaning.infix == Infix::defined(precedence)
                        && meaning.action == BinaryAction::Function(function)
                })
            }
        }
    }
}

/// Keeps the last of several changes of one name.
fn net(mut changes: Vec<Change>) -> Vec<Change> {
    let mut seen = FxHashSet::default();
    changes.reverse();
    changes.retain(|change| seen.insert((change.name.clone(), change.is_variable)));
    changes.reverse();
    changes
}
