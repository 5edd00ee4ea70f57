//! Operators, and truths: the conditions of branches, which programs see as
//! numbers.

use super::IrLowering;
use crate::codegen::compiler::library::predicate;
use crate::codegen::compiler::refusal::{Result, missing};
use crate::host::PureFunction;
use crate::host::power::ExactPower;
use crate::syntax::operator::{BinaryOp, UnaryOp};
use inkwell::FloatPredicate;
use inkwell::values::{FloatValue, InstructionValue, IntValue};

impl<'c> IrLowering<'_, 'c> {
    /// Returns whether a value, which is not used again, is true. If it was just made
    /// of a truth, as that of a comparison is, then that is the result: nothing
    /// removes the detour from baseline code.
    pub(super) fn truth(&mut self, value: FloatValue<'c>) -> Result<IntValue<'c>> {
        if let Some((number, truth)) = self.latest_truth.take_if(|(number, _)| *number == value) {
            let made = number.as_instruction().filter(|made| made.get_first_use().is_none());
            made.into_iter().for_each(InstructionValue::erase_from_basic_block);
            return Ok(truth);
        }
        // Ordered and not equal: NaN is false.
        let zero = self.types.double.const_zero();
        Ok(self.builder.build_float_compare(FloatPredicate::ONE, value, zero, "")?)
    }

    /// Returns 1 or 0 for a truth.
    pub(super) fn number(&mut self, truth: IntValue<'c>) -> Result<FloatValue<'c>> {
        let (one, zero) = (self.types.double.const_float(1.0), self.types.double.const_zero());
        let number = self.builder.build_select(truth, one, zero, "")?.into_float_value();
        self.latest_truth = Some((number, truth));
        Ok(number)
    }

    pub(super) fn unary(&mut self, op: UnaryOp) -> Result<()> {
        let operand = self.pop()?;
        let value = match op {
            UnaryOp::Negate => self.builder.build_float_neg(operand, "")?,
            UnaryOp::Not => {
                let zero = self.types.double.const_zero();
                // Unordered or equal: exactly the opposite of `truth`.
                let falsity = self.builder.build_float_compare(FloatPredicate::UEQ, operand, zero, "")?;
                self.number(falsity)?
            }
        };
        self.values.push(value);
        Ok(())
    }

    pub(super) fn binary(&mut self, op: BinaryOp) -> Result<()> {
        let right = self.pop()?;
        let left = self.pop()?;
        let value = match (predicate(op), op) {
            (Some(predicate), _) => {
                let truth = self.builder.build_float_compare(predicate, left, right, "")?;
                self.number(truth)?
            }
            (None, BinaryOp::Add) => self.builder.build_float_add(left, right, "")?,
            (None, BinaryOp::Subtract) => self.builder.build_float_sub(left, right, "")?,
            (None, BinaryOp::Multiply) => self.builder.build_float_mul(left, right, "")?,
            (None, BinaryOp::Divide) => self.builder.build_float_div(left, right, "")?,
            (None, BinaryOp::Remainder) => self.builder.build_float_rem(left, right, "")?,
            (None, BinaryOp::Power) => self.power(left, right)?,
            (None, _) => return Err(missing()),
        };
        self.values.push(value);
        Ok(())
    }

    /// Lowers `^`, and calls of `pow`. A power of constants is one, whatever its exponent.
    pub(super) fn power(&mut self, base: FloatValue<'c>, exponent: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let constant = exponent.get_constant().filter(|_| !base.is_const());
        let Some(exact) = constant.and_then(|(exponent, _)| ExactPower::of(exponent)) else {
            return self.pure_call(PureFunction::pow().ok_or_else(missing)?, &[base, exponent]);
        };
        let one = self.types.double.const_float(1.0);
        Ok(match exact {
            ExactPower::Same => base,
            ExactPower::Square => self.builder.build_float_mul(base, base, "")?,
            ExactPower::Reciprocal => self.builder.build_float_div(one, base, "")?,
            ExactPower::Root => {
                // As `root` of the host does.
                let infinity = self.types.double.const_float(f64::INFINITY);
                let negative = self.types.double.const_float(f64::NEG_INFINITY);
                let positive = self.builder.build_float_add(base, self.types.double.const_zero(), "")?;
                let root = self.square_root(positive)?;
                let is_infinite =
                    self.builder.build_float_compare(FloatPredicate::OEQ, base, negative, "")?;
                self.builder.build_select(is_infinite, infinity, root, "")?.into_float_value()
            }
        })
    }
}
