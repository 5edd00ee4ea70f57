//! What the walk is in the middle of, and what it has put off.

use super::assembler::{PendingJump, Place};
use super::values::WaitingValue;
use crate::syntax::operator::BinaryOp;

/// A construct whose end has not been reached yet.
pub(super) enum CodeConstruct {
    /// `&&`, `||`: the jumps taken where the left side decided.
    ShortCircuit {
        op: BinaryOp,
        decided: Vec<PendingJump>,
    },
    /// `if`, before its `else`: the jumps to there.
    Then(Vec<PendingJump>),
    /// `if`, after its `else`: the jump to the end.
    Else(PendingJump),
    Loop(Loop),
}

/// The parts of a `for`. They run in the order body, step, condition, increment. In the code, as
/// in the text, the condition and the step are before the body; the increment is at the end, or
/// before the body if there is nothing to compute for the step and no loop needs it.
pub(super) struct Loop {
    /// The node that first sets the variable.
    pub(super) node: usize,
    pub(super) variable: u32,
    /// The height of the step.
    pub(super) height: usize,
    /// The jump to the body, from before the loop.
    pub(super) enter: PendingJump,
    pub(super) condition: Place,
    /// Whether there are loops in the condition: code to which they are left needs the step.
    pub(super) is_around_loops: bool,
    /// Known after the condition.
    pub(super) decision: Option<LoopDecision>,
    /// What follows the body: the step, or the condition if there is nothing to compute for it.
    pub(super) next: Place,
    pub(super) body: Place,
}

/// Where the condition of a loop leads to.
pub(super) struct LoopDecision {
    /// The jumps out of the loop.
    pub(super) leave: Vec<PendingJump>,
    /// The jump to the increment, if that is at the end.
    pub(super) increment: Option<PendingJump>,
}

/// What happens rarely: it is entered by jumps, and goes back.
pub(super) struct Rare {
    pub(super) enter: Vec<PendingJump>,
    pub(super) back: Place,
    pub(super) what: RareEvent,
}

pub(super) enum RareEvent {
    /// A poll has found something.
    Stop,
    /// There have been many calls.
    Hot,
    /// The loop of a node has had many iterations. The values that are live across it, with
    /// their heights, and the steps of the loops whose conditions it is part of.
    HotLoop { node: usize, live: Vec<(WaitingValue, usize)> },
}
