//! Operands and conditions of expressions under construction.

use super::op::Op;

/// Where an operand comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Operand {
    Accumulator,
    Slot(u32),
    Number(f64),
}

/// A comparison, or with `Truth` the test of its left side alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    pub(super) test: Test,
    pub(super) left: Operand,
    pub(super) right: Operand,
    pub(super) negated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Test {
    Less,
    LessEqual,
    Equal,
    Truth,
}

/// How to jump on a test.
pub(super) enum Jump {
    /// With an operation on the accumulator.
    Accumulator(Op),
    /// With one of seven operations, of which this is the first.
    Family(Op),
}

impl Test {
    /// Returns the first of the operations that compute the test as a number.
    pub(super) fn value(self) -> Option<Op> {
        match self {
            Self::Less => Some(Op::LessAS),
            Self::LessEqual => Some(Op::LessEqualAS),
            Self::Equal => Some(Op::EqualAS),
            Self::Truth => None,
        }
    }

    pub(super) fn jump(self, wanted: bool) -> Jump {
        match (self, wanted) {
            (Self::Less, true) => Jump::Family(Op::IfLessAS),
            (Self::Less, false) => Jump::Family(Op::UnlessLessAS),
            (Self::LessEqual, true) => Jump::Family(Op::IfLessEqualAS),
            (Self::LessEqual, false) => Jump::Family(Op::UnlessLessEqualAS),
            (Self::Equal, true) => Jump::Family(Op::IfEqualAS),
            (Self::Equal, false) => Jump::Family(Op::UnlessEqualAS),
            (Self::Truth, true) => Jump::Accumulator(Op::If),
            (Self::Truth, false) => Jump::Accumulator(Op::Unless),
        }
    }
}

impl Condition {
    /// Returns whether one operation can compare, increment and take the
    /// back-edge.
    pub(super) fn fits_loop(&self) -> bool {
        let compares = matches!(self.test, Test::Less | Test::LessEqual) && !self.negated;
        let numbers = matches!((self.left, self.right), (Operand::Number(_), Operand::Number(_)));
        let accumulator = [self.left, self.right].contains(&Operand::Accumulator);
        compares && !numbers && !accumulator
    }
}
