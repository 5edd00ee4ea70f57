//! Operators in every lane, and truths.

use super::WideLowering;
use super::value::{Wide, WideTruth};
use crate::codegen::compiler::library::predicate;
use crate::codegen::compiler::refusal::{Result, missing};
use crate::host::PureFunction;
use crate::host::power::ExactPower;
use crate::syntax::operator::{BinaryOp, UnaryOp};
use inkwell::FloatPredicate;
use inkwell::values::FloatValue;

/// 2 to the power of 53: from here on not every integer is a double.
const PRECISE: f64 = 9_007_199_254_740_992.0;

impl<'c> WideLowering<'_, 'c> {
    pub(super) fn unary(&mut self, op: UnaryOp) -> Result<()> {
        let operand = self.pop()?;
        let value = match (op, operand) {
            (UnaryOp::Negate, Wide::Every(operand)) => {
                Wide::Every(self.builder.build_float_neg(operand, "")?)
            }
            (UnaryOp::Negate, Wide::Each(operand)) => Wide::Each(self.builder.build_float_neg(operand, "")?),
            (UnaryOp::Not, operand) => {
                let zero = Wide::Every(self.types.double.const_zero());
                // Exactly the opposite of `truth`.
                self.number(self.compare(FloatPredicate::UEQ, operand, zero)?)?
            }
        };
        self.push(value);
        Ok(())
    }

    pub(super) fn binary(&mut self, op: BinaryOp) -> Result<()> {
        let right = self.pop()?;
        let left = self.pop()?;
        let value = match (predicate(op), op) {
            (Some(predicate), _) => self.number(self.compare(predicate, left, right)?)?,
            (None, BinaryOp::Remainder) => self.remainder(left, right)?,
            (None, BinaryOp::Power) => self.power(left, right)?,
            (None, op) => self.arithmetic(op, left, right)?,
        };
        self.push(value);
        Ok(())
    }

    /// Adds, subtracts, multiplies or divides.
    pub(super) fn arithmetic(&self, op: BinaryOp, left: Wide<'c>, right: Wide<'c>) -> Result<Wide<'c>> {
        macro_rules! instruction {
            ($left:expr, $right:expr) => {
                match op {
                    BinaryOp::Add => self.builder.build_float_add($left, $right, "")?,
                    BinaryOp::Subtract => self.builder.build_float_sub($left, $right, "")?,
                    BinaryOp::Multiply => self.builder.build_float_mul($left, $right, "")?,
                    BinaryOp::Divide => self.builder.build_float_div($left, $right, "")?,
                    _ => return Err(missing()),
                }
            };
        }
        Ok(match (left, right) {
            (Wide::Every(left), Wide::Every(right)) => Wide::Every(instruction!(left, right)),
            (left, right) => Wide::Each(instruction!(self.each(left)?, self.each(right)?)),
        })
    }

    /// Computes `^`, which is `pow`.
    pub(super) fn power(&mut self, base: Wide<'c>, exponent: Wide<'c>) -> Result<Wide<'c>> {
        let pow = PureFunction::pow().ok_or_else(missing)?;
        let constant = |value: FloatValue<'c>| value.get_constant().map(|(number, _)| number);
        let exact = match (base, exponent) {
            (Wide::Every(base), Wide::Every(_)) if base.is_const() => None,
            (_, Wide::Every(exponent)) => constant(exponent).and_then(ExactPower::of),
            (_, Wide::Each(_)) => None,
        };
        let number = |number| Wide::Every(self.types.double.const_float(number));
        match exact {
            None => self.pure(pow, &[base, exponent]),
            Some(ExactPower::Same) => Ok(base),
            Some(ExactPower::Square) => self.arithmetic(BinaryOp::Multiply, base, base),
            Some(ExactPower::Reciprocal) => self.arithmetic(BinaryOp::Divide, number(1.0), base),
            Some(ExactPower::Root) => {
                // As `root` of the host does.
                let positive = self.arithmetic(BinaryOp::Add, base, number(0.0))?;
                let root = self.same_in_all("llvm.sqrt", &[positive])?;
                let negative = self.compare(FloatPredicate::OEQ, base, number(f64::NEG_INFINITY))?;
                self.select(negative, number(f64::INFINITY), root)
            }
        }
    }

    /// Returns one of two values.
    pub(super) fn select(
        &self,
        truth: WideTruth<'c>,
        if_true: Wide<'c>,
        if_false: Wide<'c>,
    ) -> Result<Wide<'c>> {
        Ok(match (truth, if_true, if_false) {
            (WideTruth::Every(truth), Wide::Every(if_true), Wide::Every(if_false)) => {
                Wide::Every(self.builder.build_select(truth, if_true, if_false, "")?.into_float_value())
            }
            (truth, if_true, if_false) => {
                let truth = self.each_truth(truth)?;
                Wide::Each(self.choose(truth, self.each(if_true)?, self.each(if_false)?)?)
            }
        })
    }

    /// Computes `%`, the exact remainder of a division that rounds towards 0.
    ///
    /// Where the rounded quotient is less than 2^53, its integral part is that of the exact
    /// one or greater by 1, so what is left, `x - q * y`, is a double that one fused
    /// operation computes, and adding `y` once corrects it. Other lanes are computed by
    /// the library.
    pub(super) fn remainder(&mut self, left: Wide<'c>, right: Wide<'c>) -> Result<Wide<'c>> {
        if let (Wide::Every(left), Wide::Every(right)) = (left, right) {
            return Ok(Wide::Every(self.builder.build_float_rem(left, right, "")?));
        }
        if !self.features.has("fma") {
            return self.in_memory("fmod", &[left, right]);
        }
        let (x, y) = (Wide::Each(self.each(left)?), Wide::Each(self.each(right)?));
        let quotient = self.arithmetic(BinaryOp::Divide, x, y)?;
        let integral = self.same_in_all("llvm.trunc", &[quotient])?;
        let negative = Wide::Each(self.builder.build_float_neg(self.each(integral)?, "")?);
        let rest = self.same_in_all("llvm.fma", &[negative, y, x])?;
        let zero = Wide::Every(self.types.double.const_zero());
        let is_below = |value| self.each_truth(self.compare(FloatPredicate::OLT, value, zero)?);
        let is_other_sign = self.builder.build_xor(is_below(x)?, is_below(rest)?, "")?;
        let is_left = self.each_truth(self.compare(FloatPredicate::ONE, rest, zero)?)?;
        let is_too_far = self.builder.build_and(is_other_sign, is_left, "")?;
        let toward = self.same_in_all("llvm.copysign", &[y, x])?;
        let corrected = self.arithmetic(BinaryOp::Add, rest, toward)?;
        let rest = self.select(WideTruth::Each(is_too_far), corrected, rest)?;
        let signed = self.same_in_all("llvm.copysign", &[rest, x])?;
        let magnitude = |value| self.same_in_all("llvm.fabs", &[value]);
        let is_small = self.compare(FloatPredicate::OLT, magnitude(x)?, magnitude(y)?)?;
        let quick = self.select(is_small, x, signed)?;
        let precise = Wide::Every(self.types.double.const_float(PRECISE));
        let is_near = self.each_truth(self.compare(FloatPredicate::OLT, magnitude(quotient)?, precise)?)?;
        let is_done = self.builder.build_or(is_near, self.each_truth(is_small)?, "")?;
        let mut is_left = self.builder.build_not(is_done, "")?;
        if let Some(mask) = self.mask {
            is_left = self.builder.build_and(is_left, mask, "")?;
        }
        let (slow, meet) = (self.block("remainder"), self.block("end"));
        let before = self.here()?;
        let any = self.any(is_left)?;
        self.builder.build_conditional_branch(any, slow, meet)?;
        self.builder.position_at_end(slow);
        let outer = self.mask.replace(is_left);
        let computed = self.in_memory("fmod", &[x, y])?;
        self.mask = outer;
        let merged = self.select(WideTruth::Each(is_left), computed, quick)?;
        let from = self.here()?;
        self.builder.build_unconditional_branch(meet)?;
        self.builder.position_at_end(meet);
        self.merge([(quick, before), (merged, from)])
    }
}
