//! Counts of callers: for every name and number of arguments, how many of the
//! definitions in force call it so.
//!
//! They answer one question without a search through all definitions: does any
//! function call another with a wrong number of arguments?

use crate::name::{Name, NameMap};
use crate::sema::checked::CheckedFunction;

/// The counts. A definition that was added must be removed when it is no longer
/// in force.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(NameMap<Tally>);

/// The calls of one name: nearly always all with the same number of arguments.
#[derive(Clone, Debug, Default)]
struct Tally {
    first: ArityCount,
    others: Vec<ArityCount>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ArityCount {
    arity: u32,
    callers: u32,
}

impl Tally {
    fn counts(&mut self) -> impl Iterator<Item = &mut ArityCount> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    fn is_empty(&self) -> bool {
        self.first.callers == 0 && self.others.is_empty()
    }
}

impl Calls {
    /// Counts the calls of a definition.
    pub(super) fn add(&mut self, caller: &CheckedFunction) {
        for callee in &caller.callees {
            let tally = self.0.entry(callee.name);
            let known = tally.counts().find(|count| count.callers == 0 || count.arity == callee.arity);
            match known {
                Some(count) => *count = ArityCount { arity: callee.arity, callers: count.callers + 1 },
                None => tally.others.push(ArityCount { arity: callee.arity, callers: 1 }),
            }
        }
    }

    /// Removes what [`add`](Self::add) counted.
    pub(super) fn remove(&mut self, caller: &CheckedFunction) {
        for callee in &caller.callees {
            let Some(tally) = self.0.get_mut(callee.name) else { continue };
            let mut counts = tally.counts();
            if let Some(count) = counts.find(|count| count.callers > 0 && count.arity == callee.arity) {
                count.callers -= 1;
            }
            drop(counts);
            tally.others.retain(|count| count.callers > 0);
            if tally.is_empty() {
                self.0.remove(callee.name);
            }
        }
    }

    /// Returns whether any definition calls `name`.
    pub(super) fn any(&self, name: Name) -> bool {
        self.0.contains(name)
    }

    /// Returns the names that definitions call.
    pub(super) fn names(&self) -> impl Iterator<Item = Name> {
        self.0.names()
    }

    /// Returns whether a definition calls `name` with another number of
    /// arguments than `arity`.
    pub(super) fn misfit(&self, name: Name, arity: u32) -> bool {
        let differs = |count: &ArityCount| count.callers > 0 && count.arity != arity;
        self.0.get(name).is_some_and(|tally| differs(&tally.first) || tally.others.iter().any(differs))
    }
}
