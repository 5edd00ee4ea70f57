//! The scopes of locals, as an undo list.

use crate::name::Name;
use rustc_hash::FxHashMap;

/// The names in scope, each with its local; inner ones hide outer ones.
#[derive(Default)]
pub(super) struct LocalScope {
    locals: FxHashMap<Name, u32>,
    /// The name that each open scope declared, and its meaning before.
    undo: Vec<(Name, Option<u32>)>,
    most: u32,
}

impl LocalScope {
    /// Begins the scope of a name; returns its local.
    pub(super) fn open(&mut self, name: Name) -> u32 {
        let local = self.undo.len() as u32;
        self.undo.push((name, self.locals.insert(name, local)));
        self.most = self.most.max(local + 1);
        local
    }

    /// Returns the local of the innermost scope.
    pub(super) fn innermost(&self) -> u32 {
        self.undo.len() as u32 - 1
    }

    /// Returns how many locals there are at most.
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// Ends the innermost scope.
    pub(super) fn close(&mut self) {
        match self.undo.pop() {
            Some((name, Some(outer))) => self.locals.insert(name, outer),
            Some((name, None)) => self.locals.remove(&name),
            None => None,
        };
    }

    /// Returns the local of a name.
    pub(super) fn local(&self, name: Name) -> Option<u32> {
        self.locals.get(&name).copied()
    }

    /// Returns the names of the open scopes, outermost first.
    pub(super) fn names(&self) -> impl Iterator<Item = Name> + '_ {
        self.undo.iter().map(|(name, _)| *name)
    }
}
