//! Calls that are certain to happen once a function runs: those outside of
//! branches. A loop runs at least once.
//!
//! A loop is compiled when it begins, and its code stays until it ends, so what
//! it is certain to call is inlined as if it had been called before. What code
//! without loops is certain to call is compiled together with it, which is
//! quicker than one by one. A callee that may never be called is left alone.

use super::bindings::Resolution;
use super::definition::Definition;
use super::state::State;
use super::tier::SMALL;
use crate::name::Name;
use crate::sema::checked::{Callee, CheckedFunction};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// So many definitions are looked for at most.
const MOST: usize = 1024;

/// So deep in the calls.
const DEEPEST: usize = 64;

/// The pending definitions that a function is certain to call, those that they
/// are certain to call, and so on, in the order of the calls: for a function
/// with a loop the small ones, otherwise those without loops. None if one of
/// the calls would fail: what comes behind it is not certain then.
pub(super) fn callees(
    function: &CheckedFunction,
    find: &dyn Fn(&Callee) -> Resolution,
) -> Vec<Arc<Definition>> {
    let (visited, found) = (FxHashSet::from_iter([function.name]), Vec::new());
    let mut search = Search { find, is_inlined: function.has_loop(), visited, found };
    search.calls(function, 0).map_or_else(Vec::new, |()| search.found)
}

struct Search<'a> {
    find: &'a dyn Fn(&Callee) -> Resolution,
    is_inlined: bool,
    visited: FxHashSet<Name>,
    found: Vec<Arc<Definition>>,
}

impl Search<'_> {
    /// `None` if a call would fail.
    fn calls(&mut self, function: &CheckedFunction, depth: usize) -> Option<()> {
        for callee in function.certain_calls() {
            let definition = match (self.find)(callee) {
                Resolution::Definition(State::Pending | State::Inlined, definition) => definition,
                Resolution::Definition(..) | Resolution::Host => continue,
                Resolution::Foreign | Resolution::Nothing => return None,
            };
            let found = definition.function().clone();
            let is_wanted = if self.is_inlined { found.nodes.len() <= SMALL } else { !found.has_loop() };
            if !is_wanted || self.found.len() >= MOST || !self.visited.insert(found.name) {
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
