//! Who calls what, as a tally: for every name, with which numbers of arguments
//! the definitions in force call it.
//!
//! It answers one question without looking at all definitions: does somebody
//! call a function with a number of arguments that it does not take?

use super::checked::CheckedFunction;
use crate::name::Name;
use rustc_hash::FxHashMap;

/// The tally. What is added must be removed when it is no longer in force.
#[derive(Debug, Default)]
pub struct Calls(FxHashMap<Name, Vec<ArityCount>>);

#[derive(Debug)]
struct ArityCount {
    arity: u32,
    callers: u32,
}

impl Calls {
    /// Counts the calls of a definition.
    pub fn add(&mut self, caller: &CheckedFunction) {
        for callee in &caller.callees {
            let tallies = self.0.entry(callee.name).or_default();
            match tallies.iter_mut().find(|tally| tally.arity == callee.arity) {
                Some(tally) => tally.callers += 1,
                None => tallies.push(ArityCount { arity: callee.arity, callers: 1 }),
            }
        }
    }

    /// Takes back what [`add`](Self::add) counted.
    pub fn remove(&mut self, caller: &CheckedFunction) {
        for callee in &caller.callees {
            let Some(tallies) = self.0.get_mut(&callee.name) else { continue };
            if let Some(tally) = tallies.iter_mut().find(|tally| tally.arity == callee.arity) {
                tally.callers -= 1;
            }
            tallies.retain(|tally| tally.callers > 0);
            if tallies.is_empty() {
                self.0.remove(&callee.name);
            }
        }
    }

    /// Returns whether somebody calls `name` with another number of arguments
    /// than `arity`.
    pub fn misfit(&self, name: Name, arity: u32) -> bool {
        self.0.get(&name).is_some_and(|tallies| tallies.iter().any(|tally| tally.arity != arity))
    }
}
