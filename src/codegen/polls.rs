//! Where functions poll, and where they leave hot loops: the same in all code.

use crate::sema::checked::{CheckedFunction, CheckedNode};
use std::ops::Range;

/// Functions of at most this many nodes have frames of a few KiB.
pub const SMALL_FRAME: usize = 200;

/// Returns whether a function polls at all, apart from its loops. A function that cannot
/// recur needs not, and its frame fits the reserve below the limit unless it is huge.
pub fn checks_entry(function: &CheckedFunction, may_recur: bool, counts_fuel: bool) -> bool {
    counts_fuel || may_recur || function.nodes.len() > LARGE
}

/// Returns how many values the loops of a function may pass on to OSR code, all together.
/// The code for that grows with their number: with hundreds of loops and locals, the outer
/// loops stay in baseline code.
pub fn room(function: &CheckedFunction) -> usize {
    1024 + 4 * function.nodes.len()
}

/// Functions of more nodes than this may have large frames.
const LARGE: usize = 1000;

/// Returns where to poll in a function that is one `if`: at the beginning of
/// the branches that call something. The end of a recursion, where most calls
/// go, then costs nothing. `None` if the condition calls something, or the
/// frame may be large: the function polls at its entry then.
pub fn late_checks(nodes: &[CheckedNode], is_call: &dyn Fn(u32) -> bool) -> Option<Vec<u32>> {
    let is = |index: usize, kind: CheckedNode| nodes.get(index) == Some(&kind);
    let calls_one = |node: &CheckedNode| matches!(node, CheckedNode::Call(index) if is_call(*index));
    let then = nodes.iter().position(|node| *node == CheckedNode::Then || calls_one(node))?;
    let (mut depth, mut otherwise) = (0, then);
    let end = (then..nodes.len()).find(|&index| {
        depth = depth + i32::from(is(index, CheckedNode::Then)) - i32::from(is(index, CheckedNode::If));
        otherwise = if depth == 1 && is(index, CheckedNode::Else) { index } else { otherwise };
        depth == 0
    });
    if !is(then, CheckedNode::Then) || end != Some(nodes.len() - 1) || nodes.len() > SMALL_FRAME {
        return None;
    }
    let calls = |range: Range<usize>| nodes[range].iter().any(calls_one);
    let branches = [(then, otherwise), (otherwise, nodes.len())];
    let calling = branches.into_iter().filter(|(start, end)| calls(*start..*end));
    Some(calling.map(|(start, _)| start as u32).collect())
}
