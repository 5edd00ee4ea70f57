//! What lowering must know ahead: one walk backwards over a checked body.
//!
//! Backwards, a node that takes values comes before the nodes that leave them,
//! so the walk knows of every value who takes it.

use crate::sema::checked::{CheckedFunction, CheckedNode};

/// One fact for each node; what it says depends on the node.
pub(super) struct ValueFlow(Box<[bool]>);

impl ValueFlow {
    /// The facts about the body of a function.
    pub(super) fn of(function: &CheckedFunction) -> Self {
        let nodes = &function.nodes;
        let end = nodes.len();
        let mut facts = vec![false; end].into_boxed_slice();
        // For each local the next node that changes it.
        let mut changed = vec![usize::MAX; function.locals as usize];
        // The takers of the values that are on the stack at this place.
        let mut takers = vec![end];
        for (at, node) in nodes.iter().enumerate().rev() {
            let taker = if leaves(*node) { takers.pop().unwrap_or(end) } else { end };
            match node {
                CheckedNode::Local(local) => facts[at] = changed[*local as usize] > taker,
                CheckedNode::SetLocal(local) => {
                    facts[at] = changed[*local as usize] > taker;
                    changed[*local as usize] = at;
                }
                CheckedNode::Bind(local) | CheckedNode::ForVariable(local) => changed[*local as usize] = at,
                // Only `if` and its `else` have this fact set and take values.
                CheckedNode::If | CheckedNode::Else => {
                    let inner = nodes
                        .get(taker)
                        .is_some_and(|taker| matches!(taker, CheckedNode::If | CheckedNode::Else));
                    facts[at] = taker == end || (inner && facts[taker]);
                }
                CheckedNode::Number(_)
                | CheckedNode::Variable(_)
                | CheckedNode::SetVariable(_)
                | CheckedNode::Unary(_)
                | CheckedNode::Binary(_)
                | CheckedNode::ShortCircuit(_)
                | CheckedNode::Call(_)
                | CheckedNode::Intrinsic(_)
                | CheckedNode::Then
                | CheckedNode::ForCondition
                | CheckedNode::ForStep
                | CheckedNode::For => {}
            }
            takers.resize(takers.len() + takes(function, *node), at);
        }
        Self(facts)
    }

    /// For a read of a local, or an assignment to one: whether the local keeps
    /// its value until the value is taken, so that it can be read only then.
    pub(super) fn keeps(&self, node: usize) -> bool {
        self.0[node]
    }

    /// For an `if` or `else`: whether the value of the `if` is what the
    /// function returns.
    pub(super) fn returns(&self, node: usize) -> bool {
        self.0[node]
    }
}

/// How many values and marks a node takes; a mark is taken by the next mark
/// of its construct.
fn takes(function: &CheckedFunction, node: CheckedNode) -> usize {
    match node {
        CheckedNode::Number(_) | CheckedNode::Local(_) | CheckedNode::Variable(_) => 0,
        CheckedNode::SetLocal(_)
        | CheckedNode::SetVariable(_)
        | CheckedNode::Unary(_)
        | CheckedNode::ShortCircuit(_)
        | CheckedNode::Then
        | CheckedNode::ForVariable(_)
        | CheckedNode::Bind(_) => 1,
        CheckedNode::Binary(_)
        | CheckedNode::Else
        | CheckedNode::If
        | CheckedNode::ForCondition
        | CheckedNode::ForStep
        | CheckedNode::For => 2,
        CheckedNode::Call(callee) => function.callees[callee as usize].arity as usize,
        CheckedNode::Intrinsic(intrinsic) => intrinsic.arity() as usize,
    }
}

/// Whether a node leaves a value or a mark.
fn leaves(node: CheckedNode) -> bool {
    !matches!(node, CheckedNode::Bind(_))
}
