//! What lowering must know ahead: one walk backwards over a checked body.
//!
//! Backwards, a node that takes values comes before the nodes that leave them,
//! so the walk knows of every value who takes it.

use crate::sema::checked::{Function, Node};

/// One fact for each node; what it says depends on the node.
pub(super) struct Flow(Box<[bool]>);

impl Flow {
    /// The facts about the body of a function.
    pub(super) fn of(function: &Function) -> Self {
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
                Node::Local(local) => facts[at] = changed[*local as usize] > taker,
                Node::SetLocal(local) => {
                    facts[at] = changed[*local as usize] > taker;
                    changed[*local as usize] = at;
                }
                Node::Bind(local) | Node::ForVariable(local) => changed[*local as usize] = at,
                // Only `if` and its `else` have this fact set and take values.
                Node::If | Node::Else => {
                    let inner = nodes.get(taker).is_some_and(|taker| matches!(taker, Node::If | Node::Else));
                    facts[at] = taker == end || (inner && facts[taker]);
                }
                Node::Number(_)
                | Node::Variable(_)
                | Node::SetVariable(_)
                | Node::Unary(_)
                | Node::Binary(_)
                | Node::ShortCircuit(_)
                | Node::Call(_)
                | Node::Intrinsic(_)
                | Node::Then
                | Node::ForCondition
                | Node::ForStep
                | Node::For => {}
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
fn takes(function: &Function, node: Node) -> usize {
    match node {
        Node::Number(_) | Node::Local(_) | Node::Variable(_) => 0,
        Node::SetLocal(_)
        | Node::SetVariable(_)
        | Node::Unary(_)
        | Node::ShortCircuit(_)
        | Node::Then
        | Node::ForVariable(_)
        | Node::Bind(_) => 1,
        Node::Binary(_) | Node::Else | Node::If | Node::ForCondition | Node::ForStep | Node::For => 2,
        Node::Call(callee) => function.callees[callee as usize].arity as usize,
        Node::Intrinsic(intrinsic) => intrinsic.arity() as usize,
    }
}

/// Whether a node leaves a value or a mark.
fn leaves(node: Node) -> bool {
    !matches!(node, Node::Bind(_))
}
