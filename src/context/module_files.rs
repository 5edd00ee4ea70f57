//! What the files of modules say of names that the program may have changed.
//!
//! When a file has changed, what is new in it takes effect, and what is not leaves what the
//! program has made of it: a variable that was assigned, a function that was redefined.

use crate::fingerprint::Fingerprint;
use crate::name::{HeldName, Name, Names};
use crate::sema::checked::CheckedFunction;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What files of modules have said.
#[derive(Default)]
pub(super) struct ModuleFiles {
    variables: FxHashMap<Name, FirstValue>,
    /// The functions of files that the program has redefined.
    redefined: FxHashMap<Name, Arc<CheckedFunction>>,
}

/// The first value of a variable.
struct FirstValue {
    /// The name, which nothing else is given meanwhile.
    _name: HeldName,
    /// The identity of the declaration.
    declaration: Fingerprint,
    bits: u64,
}

impl ModuleFiles {
    /// Notes the value that a declaration has given to a variable.
    pub(super) fn declared(&mut self, name: HeldName, declaration: Fingerprint, value: f64) {
        let bits = value.to_bits();
        self.variables.insert(name.name(), FirstValue { _name: name, declaration, bits });
    }

    /// Returns whether a variable has its first value by that declaration.
    pub(super) fn is_by(&self, name: Name, declaration: Fingerprint) -> bool {
        self.variables.get(&name).is_some_and(|first| first.declaration == declaration)
    }

    /// Returns whether the program has given a variable another value than its first.
    pub(super) fn is_assigned(&self, name: Name, value: f64) -> bool {
        self.variables.get(&name).is_none_or(|first| first.bits != value.to_bits())
    }

    /// Notes that the program redefines a function of a file.
    pub(super) fn redefining(&mut self, function: &Arc<CheckedFunction>) {
        self.redefined.insert(function.name, function.clone());
    }

    /// Returns whether a file still says of a function what it did when the program redefined it.
    pub(super) fn is_still(&self, function: &CheckedFunction, names: &Names) -> bool {
        self.redefined.get(&function.name).is_some_and(|known| known.means_the_same_as(function, names))
    }
}
