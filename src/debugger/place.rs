//! Places: what the instructions of a tape were made for, and which variables
//! can be seen there.

use crate::name::{Name, Names};
use crate::sema::checked::{CheckedFunction, CheckedNode};
use crate::source::Span;
use crate::syntax::operator::BinaryOp;
use crate::syntax::scope;
use crate::tape::op::Op;
use crate::tape::{Counts, Linkage, LoweringContext, Tape};

/// Where an instruction comes from; lines and columns from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InstructionPlace {
    pub(super) offset: u32,
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) end_column: usize,
    /// The node of the checked body.
    pub(super) node: usize,
}

impl InstructionPlace {
    /// Returns it as text, in the source of its function.
    pub(super) fn within(&self, function: &CheckedFunction) -> String {
        format!("{}:{}:{}", function.source.name(), self.line, self.column)
    }
}

/// The places of all instructions of a function.
pub(super) struct Places(Vec<InstructionPlace>);

impl Places {
    pub(super) fn of(function: &CheckedFunction, tape: &Tape) -> Self {
        let spans: Vec<_> = function.spans.iter().collect();
        let mut places: Vec<InstructionPlace> = Vec::new();
        let mut waiting: Vec<u32> = Vec::new();
        for ((offset, instruction), node) in tape.instructions().zip(tape.origins.iter()) {
            let (offset, op) = (offset as u32, instruction.map(|instruction| instruction.op));
            let node = meant(function, *node as usize, op);
            let is_own = op.is_some_and(|op| !matches!(op, Op::Burn | Op::Count))
                && !function.nodes.get(node).is_none_or(is_mark);
            match (spans.get(node).filter(|_| is_own), places.last()) {
                (Some(span), _) => {
                    let (line, column) = function.source.position(span.start);
                    let (end_line, end) = function.source.position(span.end);
                    let end_column = if end_line == line { end.max(column + 1) } else { column + 1 };
                    let place = InstructionPlace { offset, line, column, end_column, node };
                    places.extend(waiting.drain(..).map(|offset| InstructionPlace { offset, ..place }));
                    places.push(place);
                }
                // A mere jump belongs to the instruction before it.
                (None, Some(before)) => places.push(InstructionPlace { offset, ..*before }),
                (None, None) => waiting.push(offset),
            }
        }
        Self(places)
    }

    /// Creates the places of a function that is not linked.
    pub(super) fn of_function(function: &CheckedFunction) -> Self {
        // How a call reaches its function makes no difference to places.
        let environment =
            LoweringContext { linkage: &|_| Linkage::Bound, counts_fuel: false, counts: Counts::default() };
        Tape::lower(function, environment).map_or_else(|_| Self(Vec::new()), |tape| Self::of(function, &tape))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &InstructionPlace> {
        self.0.iter()
    }

    /// Returns where the instruction at an offset comes from.
    pub(super) fn at(&self, offset: u32) -> Option<&InstructionPlace> {
        self.0.iter().find(|place| place.offset == offset)
    }
}

/// Returns the node that an instruction represents, which was made at `node`.
fn meant(function: &CheckedFunction, node: usize, op: Option<Op>) -> usize {
    let is_value = || matches!(function.nodes[node - 1], CheckedNode::Number(_) | CheckedNode::Local(_));
    let takes = matches!(op, Some(Op::ReturnS | Op::ReturnK | Op::Get | Op::Number | Op::Copy | Op::Put));
    match function.nodes.get(node) {
        // The end of a condition represents the jump that it decides.
        Some(CheckedNode::Then) => node - 1,
        // A branch that is only a variable or a number is first reached at its
        // end.
        Some(CheckedNode::Else | CheckedNode::If) if takes && is_value() => node - 1,
        Some(_) | None => node,
    }
}

/// Returns whether a node is only a mark inside a construct.
fn is_mark(node: &CheckedNode) -> bool {
    matches!(node, CheckedNode::Else | CheckedNode::If | CheckedNode::ForCondition | CheckedNode::ForStep)
}

/// Returns the variables visible at a node, with their locals, outer ones
/// first. A variable of a `var` is visible from its initialisation to the end
/// of the `var`, which only the source shows. Hidden ones are left out.
pub(super) fn visible(function: &CheckedFunction, node: usize, names: &Names) -> Vec<(Name, u32)> {
    let parameters = function.parameters.iter().enumerate();
    let mut scope: Vec<(Name, u32)> = parameters.map(|(local, name)| (*name, local as u32)).collect();
    // How many variables were visible where each open construct began.
    let mut open: Vec<usize> = Vec::new();
    let here = function.spans.iter().nth(node).map(|span| span.start);
    let source = &function.source;
    let is_seen = |name: Span| {
        let rest = Span { start: name.end, end: function.span.end.max(name.end) };
        let end = || name.end + scope::end(source.slice(rest)) as u32;
        here.is_some_and(|here| name.end <= here && here < end())
    };
    for (at, (known, span)) in function.nodes.iter().zip(function.spans.iter()).enumerate() {
        if at >= node {
            break;
        }
        match known {
            CheckedNode::Bind(local) | CheckedNode::ForVariable(local) => {
                scope.retain(|(_, other)| other < local);
                let is_loop = matches!(known, CheckedNode::ForVariable(_));
                if is_loop || is_seen(span) {
                    scope.push((names.intern(source.slice(span)), *local));
                }
                if is_loop {
                    open.push(scope.len() - 1);
                }
            }
            CheckedNode::Then | CheckedNode::ShortCircuit(_) => open.push(scope.len()),
            CheckedNode::Else => scope.truncate(open.last().copied().unwrap_or(scope.len())),
            CheckedNode::If | CheckedNode::For | CheckedNode::Binary(BinaryOp::And | BinaryOp::Or) => {
                let before = open.pop().unwrap_or(scope.len());
                scope.truncate(before);
            }
            CheckedNode::Number(_)
            | CheckedNode::Local(_)
            | CheckedNode::Variable(_)
            | CheckedNode::SetLocal(_)
            | CheckedNode::SetVariable(_)
            | CheckedNode::Unary(_)
            | CheckedNode::Binary(_)
            | CheckedNode::Call(_)
            | CheckedNode::ForCondition
            | CheckedNode::ForStep => {}
        }
    }
    let is_hidden = |at: usize| scope[at + 1..].iter().any(|(name, _)| *name == scope[at].0);
    (0..scope.len()).filter(|at| !is_hidden(*at)).map(|at| scope[at]).collect()
}
