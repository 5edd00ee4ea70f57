//! Calls that are certain to happen once a function runs: those outside of
//! branches. A loop runs at least once.
//!
//! A loop is compiled when it begins, and its code stays until it ends. So that
//! what it calls can be inlined, callees it is certain to call are compiled
//! before it; a callee it may never call is left alone.

use super::tier::SMALL;
use crate::name::Name;
use crate::sema::checked::{Callee, Function, Node};
use std::sync::Arc;

/// So many functions are compiled ahead of a loop at most.
const MOST: usize = 64;

/// What a call finds.
pub(super) enum Found {
    /// A definition that takes so many arguments.
    Definition(Arc<Function>),
    /// A host function.
    Host,
    /// Nothing that fits.
    Nothing,
}

/// The small functions that a function with a loop is certain to call, those
/// that they are certain to call, and so on, callees first. None if one of the
/// calls would fail: what comes behind it is not certain then.
pub(super) fn callees(function: &Function, find: &dyn Fn(&Callee) -> Found) -> Vec<Arc<Function>> {
    let mut search = Search { find, visited: vec![function.name], found: Vec::new() };
    let has_loop = function.nodes.contains(&Node::For);
    if has_loop && search.calls(function).is_some() { search.found } else { Vec::new() }
}

struct Search<'a> {
    find: &'a dyn Fn(&Callee) -> Found,
    visited: Vec<Name>,
    found: Vec<Arc<Function>>,
}

impl Search<'_> {
    /// `None` if a call would fail.
    fn calls(&mut self, function: &Function) -> Option<()> {
        for callee in certain(function) {
            let found = match (self.find)(callee) {
                Found::Definition(found) => found,
                Found::Host => continue,
                Found::Nothing => return None,
            };
            if self.visited.len() > MOST || self.visited.contains(&found.name) || found.nodes.len() > SMALL {
                continue;
            }
            self.visited.push(found.name);
            self.calls(&found)?;
            self.found.push(found);
        }
        Some(())
    }
}

/// The calls of a body outside of its branches.
fn certain(function: &Function) -> impl Iterator<Item = &Callee> {
    let mut branches = 0_u32;
    function.nodes.iter().filter_map(move |node| {
        match node {
            Node::Then | Node::ShortCircuit(_) => branches += 1,
            Node::If => branches = branches.saturating_sub(1),
            Node::Binary(op) if op.short_circuits() => branches = branches.saturating_sub(1),
            Node::Call(index) if branches == 0 => return function.callees.get(*index as usize),
            _ => {}
        }
        None
    })
}
