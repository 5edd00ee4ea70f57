//! What is written above declarations of variables: their `##` lines.
//!
//! Definitions have theirs in their source; a variable outlives its declaration's.

use crate::name::{HeldName, Name};
use rustc_hash::FxHashMap;

/// The `##` lines of variables, without the marks.
#[derive(Default)]
pub(super) struct VariableNotes(FxHashMap<Name, VariableNote>);

struct VariableNote {
    /// The name, which nothing else is given meanwhile.
    _name: HeldName,
    text: String,
}

impl VariableNotes {
    /// Keeps the lines of a variable, in place of earlier ones.
    pub(super) fn insert(&mut self, name: HeldName, text: String) {
        self.0.insert(name.name(), VariableNote { _name: name, text });
    }

    /// Returns the lines of a variable.
    pub(super) fn get(&self, name: Name) -> Option<&str> {
        self.0.get(&name).map(|note| &*note.text)
    }

    /// Forgets the lines of a variable.
    pub(super) fn remove(&mut self, name: Name) {
        self.0.remove(&name);
    }
}
