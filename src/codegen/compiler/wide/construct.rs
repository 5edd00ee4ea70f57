//! Constructs in progress, and what is known of them before they are lowered.

use super::value::{Mask, Wide, WideTruth};
use crate::host::Builtin;
use crate::name::Name;
use crate::sema::checked::{CheckedFunction, CheckedNode};
use crate::syntax::operator::BinaryOp;
use inkwell::basic_block::BasicBlock;
use inkwell::types::IntType;
use inkwell::values::{IntValue, PhiValue, PointerValue};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Where the parts of the `if`s and of the `&&`s of a function end.
pub(super) struct Marks(FxHashMap<usize, usize>);

impl Marks {
    pub(super) fn of(function: &CheckedFunction) -> Self {
        let (mut ends, mut open) = (FxHashMap::default(), Vec::new());
        for (at, node) in function.nodes.iter().enumerate() {
            match node {
                CheckedNode::Then | CheckedNode::ShortCircuit(_) => open.push(at),
                CheckedNode::Else => {
                    open.pop().map(|begin| ends.insert(begin, at));
                    open.push(at);
                }
                CheckedNode::If => _ = open.pop().map(|begin| ends.insert(begin, at)),
                CheckedNode::Binary(op) if op.short_circuits() => {
                    open.pop().map(|begin| ends.insert(begin, at));
                }
                _ => {}
            }
        }
        Self(ends)
    }

    /// Returns where the part ends that begins at a node.
    pub(super) fn end(&self, begin: usize) -> Option<usize> {
        self.0.get(&begin).copied()
    }
}

/// A part of a function is worth a branch from this number of nodes on.
const MANY: usize = 100;

/// Returns whether it may take longer to compute some nodes of a function than to find out
/// that no lane needs them.
pub(super) fn is_heavy(
    function: &CheckedFunction,
    part: Range<usize>,
    callees: &FxHashMap<(Name, u32), (&CheckedFunction, bool)>,
    builtins: &FxHashMap<(Name, u32), Builtin>,
) -> bool {
    let nodes = function.nodes.get(part).unwrap_or(&[]);
    let is_heavy = |node: &CheckedNode| match node {
        CheckedNode::For | CheckedNode::Binary(BinaryOp::Remainder | BinaryOp::Power | BinaryOp::Divide) => {
            true
        }
        CheckedNode::Call(index) => function.callees.get(*index as usize).is_none_or(|callee| {
            let key = (callee.name, callee.arity);
            match (callees.get(&key), builtins.get(&key)) {
                (Some((_, is_heavy)), _) => *is_heavy,
                (None, Some(Builtin::Instruction(_))) => false,
                (None, _) => true,
            }
        }),
        _ => false,
    };
    nodes.len() >= MANY || nodes.iter().any(is_heavy)
}

/// A construct whose end has not been reached yet.
pub(super) enum WideConstruct<'c> {
    /// `&&`, `||`.
    ShortCircuit { left: WideTruth<'c>, right: Side<'c> },
    /// `if`, before its `else`.
    Then { truth: WideTruth<'c>, then: Side<'c> },
    /// `if`, after its `else`: the value of the first branch.
    Else { truth: WideTruth<'c>, value: Wide<'c>, otherwise: Side<'c> },
    /// `for`.
    Loop(WideLoop<'c>),
}

/// A part that only some lanes need.
pub(super) struct Side<'c> {
    /// The lanes that were alive before.
    pub(super) outer: Mask<'c>,
    /// Where it is skipped if none needs it: the block before, and the one after.
    pub(super) skip: Option<(BasicBlock<'c>, BasicBlock<'c>)>,
}

/// The parts of a `for`. The order of execution is body, step, condition, increment.
pub(super) struct WideLoop<'c> {
    pub(super) variable: u32,
    pub(super) outer: Mask<'c>,
    /// The lanes that are in the loop; those of `outer` if all make the same rounds.
    pub(super) live: Option<PhiValue<'c>>,
    /// If lanes that have left it are filled again.
    pub(super) refilled: Option<RefilledLoop<'c>>,
    pub(super) body: BasicBlock<'c>,
    pub(super) condition: BasicBlock<'c>,
    pub(super) step: BasicBlock<'c>,
    /// Set after the condition: its truth and the block where it ended.
    pub(super) decision: Option<(WideTruth<'c>, BasicBlock<'c>)>,
    /// Set after the step.
    pub(super) increment: Option<Wide<'c>>,
}

/// A round of a function that calls itself last, in progress.
pub(super) struct Round<'c> {
    /// Where the arguments of the next one are put.
    pub(super) next: Vec<PointerValue<'c>>,
    /// Where the lanes are put that make another one.
    pub(super) again: PointerValue<'c>,
}

/// A loop in progress whose lanes are filled again.
pub(super) struct RefilledLoop<'c> {
    /// The variables that it assigns, each with where it is kept until the loop goes on.
    pub(super) kept: Vec<(PointerValue<'c>, PointerValue<'c>)>,
    /// How many rounds without work all lanes together have made.
    pub(super) waited: PointerValue<'c>,
}

/// What is kept of the rows while lanes are filled again.
pub(super) struct Refill<'c> {
    pub(super) bits: IntType<'c>,
    /// The lanes that go on in the loop, by bit.
    pub(super) carried: PointerValue<'c>,
    /// The lanes that have rows.
    pub(super) active: PointerValue<'c>,
    /// The lanes that were in the loop when it was left.
    pub(super) left: PointerValue<'c>,
    /// How many rounds without work all lanes together may make.
    pub(super) limit: PointerValue<'c>,
    /// The lanes that have been filled again, with those that were carried; none in turns with
    /// successive rows.
    pub(super) filled: PointerValue<'c>,
    /// What the library gets of the lanes: `RefilledField`.
    pub(super) lanes: PointerValue<'c>,
    /// The value of each lane.
    pub(super) results: PointerValue<'c>,
    /// The row of the first lane; `APART` if the lanes do not have successive rows.
    pub(super) first: IntValue<'c>,
    /// Where lanes are filled at the end, when fewer rows are left than there are lanes.
    pub(super) rest: BasicBlock<'c>,
}
