//! The stack of values: the expressions under construction.
//!
//! A number or a local is an operand of the instruction that takes it. A local that may
//! change is *settled* before it does: copied to the slot of its height. So is what is in
//! the accumulator, before another value takes its place.

use super::assembler::{JumpCondition, MachineCode, PendingJump};

/// A value that waits for the node that takes it.
#[derive(Debug)]
pub(super) enum WaitingValue {
    /// A number of the function.
    Number(u32),
    Local(u32),
    /// In the slot of its height.
    Settled,
    Accumulator,
    /// What the next node branches on.
    Truth(Truth),
    /// The place of the left side of a `&&` or `||` that has not decided.
    Undecided,
    /// The place of the step of a loop.
    Step,
}

impl WaitingValue {
    /// Returns the value once more; `None` of what is no operand, or stands for nothing yet.
    pub(super) fn again(&self) -> Option<Self> {
        match self {
            Self::Number(index) => Some(Self::Number(*index)),
            Self::Local(local) => Some(Self::Local(*local)),
            Self::Settled => Some(Self::Settled),
            Self::Accumulator => Some(Self::Accumulator),
            Self::Truth(_) | Self::Undecided | Self::Step => None,
        }
    }
}

/// A condition: jumps that have been taken where it was known already, and what the flags
/// say otherwise.
#[derive(Debug)]
pub(super) struct Truth {
    pub(super) test: FlagTest,
    pub(super) when_true: Vec<PendingJump>,
    pub(super) when_false: Vec<PendingJump>,
}

/// What `ucomisd` has left in the flags for a condition to be true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FlagTest {
    /// The first operand is greater.
    Greater,
    /// The first operand is greater, or both are equal.
    GreaterEqual,
    /// Not [`Greater`](Self::Greater).
    NotGreater,
    /// Not [`GreaterEqual`](Self::GreaterEqual).
    NotGreaterEqual,
    Equal,
    /// They are not equal, or not ordered.
    NotEqual,
    /// They are ordered and not equal.
    Apart,
    /// They are equal, or not ordered.
    NotApart,
}

impl Truth {
    pub(super) fn of(test: FlagTest) -> Self {
        Self { test, when_true: Vec::new(), when_false: Vec::new() }
    }

    /// Returns the opposite.
    pub(super) fn negated(self) -> Self {
        let Self { test, when_true, when_false } = self;
        let test = match test {
            FlagTest::Greater => FlagTest::NotGreater,
            FlagTest::NotGreater => FlagTest::Greater,
            FlagTest::GreaterEqual => FlagTest::NotGreaterEqual,
            FlagTest::NotGreaterEqual => FlagTest::GreaterEqual,
            FlagTest::Equal => FlagTest::NotEqual,
            FlagTest::NotEqual => FlagTest::Equal,
            FlagTest::Apart => FlagTest::NotApart,
            FlagTest::NotApart => FlagTest::Apart,
        };
        Self { test, when_true: when_false, when_false: when_true }
    }

    /// Appends jumps that are taken if the condition is as `when` says. The code goes on
    /// here if it is not. Returns the jumps.
    pub(super) fn branch(self, code: &mut MachineCode, when: bool) -> Vec<PendingJump> {
        let (mut taken, here) =
            if when { (self.when_true, self.when_false) } else { (self.when_false, self.when_true) };
        self.test.branch(code, when, &mut taken);
        code.bind(here);
        taken
    }
}

impl FlagTest {
    /// Appends the jumps for what the flags say. After a comparison with NaN, the flags for
    /// "equal", "below" and "parity" are set.
    fn branch(self, code: &mut MachineCode, when: bool, taken: &mut Vec<PendingJump>) {
        let simple = match (self, when) {
            (Self::Greater, true) | (Self::NotGreater, false) => JumpCondition::Above,
            (Self::Greater, false) | (Self::NotGreater, true) => JumpCondition::BelowEqual,
            (Self::GreaterEqual, true) | (Self::NotGreaterEqual, false) => JumpCondition::AboveEqual,
            (Self::GreaterEqual, false) | (Self::NotGreaterEqual, true) => JumpCondition::Below,
            (Self::Apart, true) | (Self::NotApart, false) => JumpCondition::NotEqual,
            (Self::Apart, false) | (Self::NotApart, true) => JumpCondition::Equal,
            (Self::Equal, true) | (Self::NotEqual, false) => {
                let unordered = code.jump_if(JumpCondition::Parity);
                taken.push(code.jump_if(JumpCondition::Equal));
                code.bind([unordered]);
                return;
            }
            (Self::Equal, false) | (Self::NotEqual, true) => {
                taken.push(code.jump_if(JumpCondition::Parity));
                JumpCondition::NotEqual
            }
        };
        taken.push(code.jump_if(simple));
    }
}
