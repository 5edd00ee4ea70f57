//! The expressions of a function, found in its nodes: what is an operand of what, and what its
//! locals are.

use crate::sema::checked::{CheckedFunction, CheckedNode};
use rustc_hash::{FxHashMap, FxHashSet};

/// The expressions of a function.
pub(super) struct Expressions {
    pub(super) expressions: Vec<Expression>,
    pub(super) loops: Vec<LoopNodes>,
    /// For each node that reads or assigns a local, the node that declares it; the number of nodes
    /// for a parameter.
    pub(super) declared_at: Vec<usize>,
    /// The last node that reads or assigns what a node declares.
    pub(super) last_use: FxHashMap<usize, usize>,
    /// What is assigned after it is bound.
    pub(super) assigned: FxHashSet<usize>,
    /// The expression that each [`CheckedNode::Bind`] takes.
    pub(super) bound: FxHashMap<usize, usize>,
}

/// Nodes that leave one value.
pub(super) struct Expression {
    /// Where it begins, with what is bound before its first operand.
    pub(super) start: usize,
    /// Where it begins without that.
    pub(super) core: usize,
    pub(super) end: usize,
    /// The expressions that are bound before its first operand.
    pub(super) before: Vec<usize>,
    pub(super) operands: Vec<usize>,
}

/// A `for`: the nodes of its marks and of its end, and the expressions of its condition and body.
pub(super) struct LoopNodes {
    pub(super) node: usize,
    pub(super) condition: usize,
    pub(super) step: usize,
    pub(super) end: usize,
    pub(super) decision: usize,
    pub(super) body: usize,
}

impl Expressions {
    /// Returns the expressions of a function; `None` if its nodes make up none, which does not happen.
    pub(super) fn of(function: &CheckedFunction) -> Option<Self> {
        let nodes = &function.nodes;
        let mut shape = Self {
            expressions: Vec::new(),
            loops: Vec::new(),
            declared_at: vec![nodes.len(); nodes.len()],
            last_use: FxHashMap::default(),
            assigned: FxHashSet::default(),
            bound: FxHashMap::default(),
        };
        let (mut values, mut before): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut marks: Vec<LoopNodes> = Vec::new();
        let mut declared = vec![nodes.len(); function.locals as usize];
        for (at, node) in nodes.iter().enumerate() {
            let taken = match *node {
                CheckedNode::Number(_) | CheckedNode::Variable(_) => 0,
                CheckedNode::Local(local) => {
                    shape.use_at(at, *declared.get(local as usize)?);
                    0
                }
                CheckedNode::SetLocal(local) => {
                    shape.use_at(at, *declared.get(local as usize)?);
                    shape.assigned.insert(shape.declared_at[at]);
                    1
                }
                CheckedNode::SetVariable(_) | CheckedNode::Unary(_) => 1,
                CheckedNode::Binary(_) => 2,
                CheckedNode::Call(index) => function.callees.get(index as usize)?.arity as usize,
                CheckedNode::If => 3,
                CheckedNode::For => 4,
                CheckedNode::Bind(local) => {
                    let value = values.pop()?;
                    shape.bound.insert(at, value);
                    *declared.get_mut(local as usize)? = at;
                    before.push(value);
                    continue;
                }
                CheckedNode::ForVariable(variable) => {
                    *declared.get_mut(variable as usize)? = at;
                    marks.push(LoopNodes { node: at, condition: 0, step: 0, end: 0, decision: 0, body: 0 });
                    continue;
                }
                CheckedNode::ForCondition => {
                    marks.last_mut()?.condition = at;
                    continue;
                }
                CheckedNode::ForStep => {
                    marks.last_mut()?.step = at;
                    continue;
                }
                CheckedNode::ShortCircuit(_) | CheckedNode::Then | CheckedNode::Else => continue,
            };
            let operands = values.split_off(values.len().checked_sub(taken)?);
            if *node == CheckedNode::For {
                let [_, decision, _, body] = operands[..] else { return None };
                shape.loops.push(LoopNodes { end: at, decision, body, ..marks.pop()? });
            }
            let (start, core, bound) = match operands.first().map(|first| &shape.expressions[*first]) {
                Some(first) => (first.start, first.core, first.before.clone()),
                None => {
                    let bound = std::mem::take(&mut before);
                    let start = bound.first().map_or(at, |first| shape.expressions[*first].start);
                    (start, at, bound)
                }
            };
            values.push(shape.expressions.len());
            shape.expressions.push(Expression { start, core, end: at + 1, before: bound, operands });
        }
        (values.len() == 1 && before.is_empty() && marks.is_empty()).then_some(shape)
    }

    fn use_at(&mut self, at: usize, declared: usize) {
        self.declared_at[at] = declared;
        self.last_use.insert(declared, at);
    }
}
