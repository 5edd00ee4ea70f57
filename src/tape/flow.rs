//! Data-flow facts for lowering, from one backward walk over a checked body.
//!
//! Backwards, a node that consumes values comes before the nodes that produce
//! them, so the walk knows the consumer of every value.

use crate::sema::checked::{CheckedFunction, CheckedNode};

/// One fact for each node; its meaning depends on the node.
pub(super) struct ValueFlow(Box<[bool]>);

impl ValueFlow {
    /// Computes the facts about the body of a function.
    pub(super) fn of(function: &CheckedFunction) -> Self {
        let nodes = &function.nodes;
        let end = nodes.len();
        let mut facts = vec![false; end].into_boxed_slice();
        // For each local the next node that changes it.
        let mut changed = vec![usize::MAX; function.locals as usize];
        // The consumers of the values that are on the stack at this point.
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
                // Only `if` and its `else` have this fact set and consume
                // values.
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
                | CheckedNode::Then
                | CheckedNode::ForCondition
                | CheckedNode::ForStep
                | CheckedNode::For => {}
            }
            takers.resize(takers.len() + takes(function, *node), at);
        }
        Self(facts)
    }

    /// For a read of a local, or an assignment to one: returns whether the
    /// local keeps its value until the value is consumed, so that the read can
    /// be deferred.
    pub(super) fn keeps(&self, node: usize) -> bool {
        self.0[node]
    }

    /// For an `if` or `else`: returns whether the function returns the value of
    /// the `if`.
    pub(super) fn returns(&self, node: usize) -> bool {
        self.0[node]
    }
}

/// Returns the number of values and marks that a node consumes; a mark is
/// consumed by the next mark of its construct.
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
    }
}

/// Returns whether a node produces a value or a mark.
fn leaves(node: CheckedNode) -> bool {
    !matches!(node, CheckedNode::Bind(_))
}
