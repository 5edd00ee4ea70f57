//! Which line of compiled code is waiting for a call. Its addresses have no
//! line table, but knowing the callee often leaves only one line.

use crate::interp::inspect::PausedRun;
use crate::name::Name;
use crate::sema::checked::{CheckedFunction, CheckedNode};
use crate::world::World;
use rustc_hash::FxHashSet;

/// Returns the line of the call that a compiled frame is waiting for, if only
/// one line is possible.
pub(super) fn line(world: &World, stop: &PausedRun<'_>, number: usize) -> Option<usize> {
    let frame = stop.frames.get(number).filter(|frame| frame.offset.is_none())?;
    let callee = &stop.frames.get(number.checked_sub(1)?)?.function;
    let mut lines = lines(&frame.function, callee);
    let line = lines.next()?;
    let is_only = lines.all(|other| other == line) && !is_called_through(world, &frame.function, callee.name);
    is_only.then_some(line)
}

/// Returns the lines on which a function calls another.
fn lines<'a>(function: &'a CheckedFunction, callee: &'a CheckedFunction) -> impl Iterator<Item = usize> + 'a {
    let is_call = |node: &CheckedNode| match node {
        CheckedNode::Call(index) => {
            let called = &function.callees[*index as usize];
            called.name == callee.name && called.arity == callee.arity()
        }
        _ => false,
    };
    let calls = function.nodes.iter().zip(function.spans.iter()).filter(move |(node, _)| is_call(node));
    calls.map(|(_, span)| function.source.line(span.start))
}

/// Returns whether another callee of a function may call `callee` in turn: if
/// it was inlined, its calls are made by the function's own code.
fn is_called_through(world: &World, function: &CheckedFunction, callee: Name) -> bool {
    let mut seen = FxHashSet::from_iter([function.name, callee]);
    let mut waiting: Vec<Name> = function.callees.iter().map(|called| called.name).collect();
    while let Some(name) = waiting.pop() {
        let Some(inner) = seen.insert(name).then(|| world.function(name)).flatten() else { continue };
        if inner.callees.iter().any(|called| called.name == callee) {
            return true;
        }
        waiting.extend(inner.callees.iter().map(|called| called.name));
    }
    false
}
