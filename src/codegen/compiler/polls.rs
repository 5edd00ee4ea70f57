//! Where functions poll.

use crate::sema::checked::CheckedNode;
use std::ops::Range;

/// Functions of at most this many nodes have frames of a few KiB.
pub(super) const SMALL_FRAME: usize = 200;

/// Returns where to poll in a function that is one `if`: at the beginning of
/// the branches that call something. The end of a recursion, where most calls
/// go, then costs nothing. `None` if the condition calls something, or the
/// frame may be large: the function polls at its entry then.
pub(super) fn late_checks(nodes: &[CheckedNode], is_call: &dyn Fn(u32) -> bool) -> Option<Vec<u32>> {
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
