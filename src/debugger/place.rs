//! Places: what the instructions of a tape were made for, and which variables
//! can be seen there.

use crate::name::{Name, Names};
use crate::sema::checked::{CheckedFunction, CheckedNode};
use crate::source::Span;
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
/// first. A variable is visible from its initialisation to the end of its scope.
/// Hidden ones are left out.
pub(super) fn visible(function: &CheckedFunction, node: usize, names: &Names) -> Vec<(Name, u32)> {
    let parameters = function.parameters.iter().zip(0..).map(|(name, local)| (*name, local));
    let spans: Vec<Span> = function.spans.iter().take(node).collect();
    let is_open = |(at, _, end): &(usize, u32, usize)| *at < node && node < *end;
    let named = |(at, local, _): (usize, u32, usize)| (names.intern(function.source.slice(spans[at])), local);
    let scope: Vec<(Name, u32)> = parameters.chain(function.scopes().filter(is_open).map(named)).collect();
    let is_hidden = |at: usize| scope[at + 1..].iter().any(|(name, _)| *name == scope[at].0);
    (0..scope.len()).filter(|at| !is_hidden(*at)).map(|at| scope[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::source::Source;

    #[test]
    fn variables_are_visible_up_to_the_end_of_their_scope() {
        let context = Engine::new().and_then(|engine| engine.context()).expect("a context starts");
        let names = context.engine().names();
        // The scope of `v` ends at `|`.
        for text in [
            "var v = 1 in v + 2|",
            "(var v = 1 in v|) + 2",
            "f(var v = 1 in v + g(1, 2)|, 3)",
            "var v = (1 + 2), w = f(v, 1) in (v) + w|",
            "if var v = 1 in v| then 2 else 3",
            "if 1 then var v = 1 in if v then 2 else 3| else 4",
            "if 1 then 2 else var v = 1 in v < 2|",
            "for i = var v = 1 in v|, i < 2, 3 in i",
            "for i = 1, i < 2, var v = 3 in v| in i",
            "for i = 1, i < 2 in var v = 3 in for j = v, j < 2, 1 in v|",
            "var v = var w = 1 in w, x = 2 in v + x|",
            "f((var v = 1 in var w = 2 in v + w|), 3)",
            "(for v = 1, v < 3 in v * 2|) + 4",
        ] {
            let end = text.find('|').expect("it ends");
            let source = Source::new("test", text.replacen('|', "", 1));
            let function = &context.checked(&source).expect("it is valid")[0];
            let spans: Vec<Span> = function.spans.iter().collect();
            let is_named = |(at, ..): &(usize, u32, usize)| source.slice(spans[*at]) == "v";
            let (declared, ..) = function.scopes().find(is_named).expect("it is declared");
            let mut seen = 0;
            for (node, span) in spans.iter().enumerate().skip(declared + 1) {
                let all = visible(function, node, names);
                let is_seen = all.iter().any(|(name, _)| names.text(*name) == "v");
                if let CheckedNode::Number(_) | CheckedNode::Local(_) = function.nodes[node] {
                    assert_eq!(is_seen, (span.start as usize) < end, "{text}, {span:?}");
                    seen += usize::from(is_seen);
                }
            }
            assert!(seen > 0, "{text}");
        }
    }
}
