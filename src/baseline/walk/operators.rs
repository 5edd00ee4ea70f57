//! Operators, and conditions: what branches decide on, which programs see as numbers.

use super::{ACCUMULATOR, ONE, OTHER, SIGN, THIRD, Walk, WalkResult, missing};
use crate::baseline::assembler::{
    ADDSD, ANDPD, DIVSD, MULSD, MachineOperand, Predicate, SQRTSD, SUBSD, UCOMISD, VectorOp, XORPD,
};
use crate::baseline::values::{FlagTest, Truth, WaitingValue};
use crate::host::power::ExactPower;
use crate::host::pure_symbol;
use crate::sema::checked::CheckedNode;
use crate::syntax::operator::{BinaryOp, UnaryOp};

impl Walk<'_> {
    pub(super) fn negate(&mut self) -> WalkResult<()> {
        let value = self.pop()?;
        self.accumulate(value)?;
        self.code.load(OTHER, MachineOperand::Constant(SIGN));
        self.code.vector(XORPD, ACCUMULATOR, MachineOperand::Vector(OTHER));
        self.push_accumulator();
        Ok(())
    }

    pub(super) fn binary(&mut self, op: BinaryOp) -> WalkResult<()> {
        let arithmetic = match op {
            BinaryOp::Add => ADDSD,
            BinaryOp::Subtract => SUBSD,
            BinaryOp::Multiply => MULSD,
            BinaryOp::Divide => DIVSD,
            BinaryOp::Remainder => return self.call_routine("fmod", 2),
            BinaryOp::Power => return self.power(),
            comparison => return self.compare(comparison),
        };
        let right = self.two()?;
        self.code.vector(arithmetic, ACCUMULATOR, right);
        self.push_accumulator();
        Ok(())
    }

    /// Compiles a comparison: to flags if the next node branches, else to a number.
    fn compare(&mut self, op: BinaryOp) -> WalkResult<()> {
        if self.is_branch_next() {
            let truth = self.compare_to_branch(op)?;
            self.values.push(WaitingValue::Truth(truth));
            return Ok(());
        }
        let (predicate, is_swapped) = match op {
            BinaryOp::Less => (Predicate::Less, false),
            BinaryOp::LessEqual => (Predicate::LessEqual, false),
            BinaryOp::Greater => (Predicate::Less, true),
            BinaryOp::GreaterEqual => (Predicate::LessEqual, true),
            BinaryOp::Equal => (Predicate::Equal, false),
            BinaryOp::NotEqual => (Predicate::NotEqual, false),
            _ => return Err(missing()),
        };
        let right = self.two()?;
        if is_swapped {
            self.code.load(OTHER, right);
            self.code.compare(predicate, OTHER, MachineOperand::Vector(ACCUMULATOR));
            self.code.load(ACCUMULATOR, MachineOperand::Constant(ONE));
        } else {
            self.code.compare(predicate, ACCUMULATOR, right);
            self.code.load(OTHER, MachineOperand::Constant(ONE));
        }
        self.code.vector(ANDPD, ACCUMULATOR, MachineOperand::Vector(OTHER));
        self.push_accumulator();
        Ok(())
    }

    fn compare_to_branch(&mut self, op: BinaryOp) -> WalkResult<Truth> {
        let (test, takes_right_first) = match op {
            BinaryOp::Greater => (FlagTest::Greater, false),
            BinaryOp::GreaterEqual => (FlagTest::GreaterEqual, false),
            BinaryOp::Less => (FlagTest::Greater, true),
            BinaryOp::LessEqual => (FlagTest::GreaterEqual, true),
            BinaryOp::Equal => (FlagTest::Equal, false),
            BinaryOp::NotEqual => (FlagTest::NotEqual, false),
            _ => return Err(missing()),
        };
        let right = self.pop()?;
        let left = self.pop()?;
        let height = self.values.len();
        let ((first, first_height), (second, second_height)) = if takes_right_first {
            ((right, height + 1), (left, height))
        } else {
            ((left, height), (right, height + 1))
        };
        let first = self.operand(&first, first_height)?;
        let register = if let MachineOperand::Vector(register) = first {
            register
        } else {
            self.code.load(OTHER, first);
            OTHER
        };
        let second = self.operand(&second, second_height)?;
        self.code.vector(UCOMISD, register, second);
        Ok(Truth::of(test))
    }

    /// Returns whether the next node branches on the value of this one, so that it need not
    /// be a number.
    pub(super) fn is_branch_next(&self) -> bool {
        match self.function.nodes.get(self.at + 1) {
            Some(
                CheckedNode::Then
                | CheckedNode::ForCondition
                | CheckedNode::ShortCircuit(_)
                | CheckedNode::Unary(UnaryOp::Not),
            ) => true,
            Some(CheckedNode::Binary(op)) => op.short_circuits(),
            _ => false,
        }
    }

    /// Pops a value as a condition: NaN and 0 are false.
    pub(super) fn pop_truth(&mut self) -> WalkResult<Truth> {
        let value = self.pop()?;
        if let WaitingValue::Truth(truth) = value {
            return Ok(truth);
        }
        let operand = self.operand(&value, self.values.len())?;
        self.code.zero(OTHER);
        self.code.vector(UCOMISD, OTHER, operand);
        Ok(Truth::of(FlagTest::Apart))
    }

    /// Pushes a condition, as a number unless the next node branches on it.
    pub(super) fn push_truth(&mut self, truth: Truth) {
        if self.is_branch_next() {
            self.values.push(WaitingValue::Truth(truth));
            return;
        }
        self.free_accumulator();
        let when_false = truth.branch(&mut self.code, false);
        self.code.load(ACCUMULATOR, MachineOperand::Constant(ONE));
        let end = self.code.jump();
        self.code.bind(when_false);
        self.code.zero(ACCUMULATOR);
        self.code.bind([end]);
        self.push_accumulator();
    }

    pub(super) fn not(&mut self) -> WalkResult<()> {
        let truth = self.pop_truth()?.negated();
        self.push_truth(truth);
        Ok(())
    }

    /// Compiles `^`, and calls of `pow`. See [`crate::host::power`].
    pub(super) fn power(&mut self) -> WalkResult<()> {
        let exact = match self.values.last() {
            Some(WaitingValue::Number(index)) if !self.loads_numbers => {
                ExactPower::of(self.function.numbers[*index as usize])
            }
            _ => None,
        };
        let Some(exact) = exact else {
            return self.call_routine(&pure_symbol("pow"), 2);
        };
        self.pop()?;
        let base = self.pop()?;
        self.accumulate(base)?;
        let accumulator = MachineOperand::Vector(ACCUMULATOR);
        match exact {
            ExactPower::Same => {}
            ExactPower::Square => self.code.vector(MULSD, ACCUMULATOR, accumulator),
            ExactPower::Reciprocal => {
                self.code.load(OTHER, accumulator);
                self.code.load(ACCUMULATOR, MachineOperand::Constant(ONE));
                self.code.vector(DIVSD, ACCUMULATOR, MachineOperand::Vector(OTHER));
            }
            ExactPower::Root => {
                self.code.load(OTHER, accumulator);
                self.code.zero(THIRD);
                self.code.vector(ADDSD, ACCUMULATOR, MachineOperand::Vector(THIRD));
                self.code.vector(SQRTSD, ACCUMULATOR, accumulator);
                self.code.vector(UCOMISD, OTHER, MachineOperand::Constant(f64::NEG_INFINITY.to_bits()));
                let finite = Truth::of(FlagTest::Equal).branch(&mut self.code, false);
                self.code.load(ACCUMULATOR, MachineOperand::Constant(f64::INFINITY.to_bits()));
                self.code.bind(finite);
            }
        }
        self.push_accumulator();
        Ok(())
    }

    /// Compiles an operation on one value.
    pub(super) fn unary_op(&mut self, op: VectorOp) -> WalkResult<()> {
        let value = self.pop()?;
        if !matches!(value, WaitingValue::Accumulator) {
            self.free_accumulator();
        }
        let operand = self.operand(&value, self.values.len())?;
        self.code.vector(op, ACCUMULATOR, operand);
        self.push_accumulator();
        Ok(())
    }
}
