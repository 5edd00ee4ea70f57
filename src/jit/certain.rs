//! Calls that are certain to happen once a function runs: those outside of
//! branches. A loop body runs at least once.
//!
//! What a function is certain to call is compiled in the same batch, which is
//! quicker than one at a time. A callee that may never be called is left out.
//! (Without baseline code, functions with loops are left alone: small callees are
//! inlined into them, certain or not.)

use super::definition::Definition;
use super::state::State;
use crate::name::Name;
use crate::sema::checked::{Callee, CheckedFunction};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// What a call resolves to.
pub(super) enum Resolution {
    /// A definition of the same arity.
    Definition(State, Arc<Definition>),
    /// A function of the host, or a declared one of the process.
    Host,
    /// Nothing of this arity.
    Nothing,
}

/// The largest number of definitions to find.
const MOST: usize = 1024;

/// The largest depth of calls to follow.
const DEEPEST: usize = 64;

/// Returns the pending definitions that a function is certain to call,
/// transitively, in the order of the calls; none with loops unless `with_loops`.
/// Empty if one of the calls would fail, since nothing after it is certain.
pub(super) fn callees(
    function: &CheckedFunction,
    with_loops: bool,
    find: &mut dyn FnMut(&Callee) -> Resolution,
) -> Vec<Arc<Definition>> {
    if function.has_loop() && !with_loops {
        return Vec::new();
    }
    let (visited, found) = (FxHashSet::from_iter([function.name]), Vec::new());
    let mut search = Search { find, with_loops, visited, found };
    search.calls(function, 0).map_or_else(Vec::new, |()| search.found)
}

struct Search<'a> {
    find: &'a mut dyn FnMut(&Callee) -> Resolution,
    with_loops: bool,
    visited: FxHashSet<Name>,
    found: Vec<Arc<Definition>>,
}

impl Search<'_> {
    /// Visits the certain calls of a function; `None` if one of them would
    /// fail.
    fn calls(&mut self, function: &CheckedFunction, depth: usize) -> Option<()> {
        for callee in function.certain_calls() {
            let definition = match (self.find)(callee) {
                Resolution::Definition(State::Pending | State::Inlined, definition) => definition,
                Resolution::Definition(..) | Resolution::Host => continue,
                Resolution::Nothing => return None,
            };
            let found = definition.function().clone();
            let is_out = found.has_loop() && !self.with_loops;
            if is_out || self.found.len() >= MOST || !self.visited.insert(found.name) {
                continue;
            }
            self.found.push(definition);
            if depth < DEEPEST {
                self.calls(&found, depth + 1)?;
            }
        }
        Some(())
    }
}
