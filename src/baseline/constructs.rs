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

/// The parts of a `for`, in the order of the code: condition, step, body, increment. They
/// run in the order body, step, condition, increment.
pub(super) struct Loop {
    /// The node that first sets the variable.
    pub(super) node: usize,
    pub(super) variable: u32,
    /// The height of the step.
    pub(super) height: usize,
    /// The jump to the body, from before the loop.
    pub(super) enter: PendingJump,
    pub(super) condition: Place,
    /// Known after the condition: the jumps out of the loop, and to the increment.
    pub(super) decision: Option<(Vec<PendingJump>, PendingJump)>,
    pub(super) step: Place,
    pub(super) body: Place,
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
