//! Where a function is checked for the end of the stack and for requests to
//! stop, if not at its entry.

use super::lower::SMALL_FRAME;
use crate::sema::checked::Node;
use std::ops::Range;

/// Where a function that is one `if` is checked: at the beginning of the
/// branches that call something. The end of a recursion, which is where most
/// calls go, then costs nothing. `None` if the condition calls something, or
/// the frame may be large: then it is checked at its entry.
pub(super) fn late_checks(nodes: &[Node]) -> Option<Vec<u32>> {
    let is = |index: usize, kind: Node| nodes.get(index) == Some(&kind);
    let then = nodes.iter().position(|node| matches!(node, Node::Then | Node::Call(_)))?;
    let (mut depth, mut otherwise) = (0, then);
    let end = (then..nodes.len()).find(|&index| {
        depth = depth + i32::from(is(index, Node::Then)) - i32::from(is(index, Node::If));
        otherwise = if depth == 1 && is(index, Node::Else) { index } else { otherwise };
        depth == 0
    });
    if !is(then, Node::Then) || end != Some(nodes.len() - 1) || nodes.len() > SMALL_FRAME {
        return None;
    }
    let calls = |range: Range<usize>| nodes[range].iter().any(|node| matches!(node, Node::Call(_)));
    let branches = [(then, otherwise), (otherwise, nodes.len())];
    let calling = branches.into_iter().filter(|(start, end)| calls(*start..*end));
    Some(calling.map(|(start, _)| start as u32).collect())
}
