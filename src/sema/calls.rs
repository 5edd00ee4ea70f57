//! Counts of callers: for every name and number of arguments, how many of the
//! definitions in force call it so.
//!
//! They answer one question without a search through all definitions: does any
//! function call another with a wrong number of arguments?

use super::checked::CheckedFunction;
use crate::name::Name;
use rustc_hash::FxHashMap;

/// The counts. A definition that was added must be removed when it is no longer
/// in force.
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

    /// Removes what [`add`](Self::add) counted.
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

    /// Returns whether a definition calls `name` with another number of
    /// arguments than `arity`.
    pub fn misfit(&self, name: Name, arity: u32) -> bool {
        self.0.get(&name).is_some_and(|tallies| tallies.iter().any(|tally| tally.arity != arity))
    }
}
