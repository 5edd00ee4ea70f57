//! Truths in every lane.
//!
//! With AVX-512 a vector of truths has a bit for each lane, as the processor's mask
//! registers have. With AVX alone the processor compares to vectors as wide as those that it
//! compares, all bits of a lane alike, and LLVM packs and unpacks them wherever a vector of
//! single bits is in between. So there they are kept as the processor makes them, by its own
//! instructions, which LLVM does not rewrite to single bits.

use super::WideLowering;
use super::value::{REGISTER, Wide, WideTruth, has_wide_truths};
use crate::codegen::compiler::refusal::{Result, missing};
use inkwell::types::VectorType;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, IntValue, VectorValue};
use inkwell::{FloatPredicate, IntPredicate};
use std::num::NonZero;

/// Returns how the instruction `vcmppd` is told to compare: Intel's manual, volume 2,
/// "CMPPD". Quietly, as all comparisons of the language are.
fn operand(predicate: FloatPredicate) -> Option<u64> {
    Some(match predicate {
        FloatPredicate::OEQ => 0x00,
        FloatPredicate::UNO => 0x03,
        FloatPredicate::UNE => 0x04,
        FloatPredicate::UEQ => 0x08,
        FloatPredicate::ONE => 0x0c,
        FloatPredicate::OLT => 0x11,
        FloatPredicate::OLE => 0x12,
        FloatPredicate::OGE => 0x1d,
        FloatPredicate::OGT => 0x1e,
        _ => return None,
    })
}

impl<'c> WideLowering<'_, 'c> {
    fn are_wide(&self) -> bool {
        has_wide_truths(self.features, self.lanes)
    }

    /// Returns whether a value is true: it is not 0, and no NaN.
    pub(super) fn truth(&self, value: Wide<'c>) -> Result<WideTruth<'c>> {
        if let (Wide::Each(value), Some((made, truth))) = (value, self.latest_truth)
            && value == made
        {
            return Ok(WideTruth::Each(truth));
        }
        let zero = Wide::Every(self.types.double.const_zero());
        self.compare(FloatPredicate::ONE, value, zero)
    }

    pub(super) fn compare(
        &self,
        predicate: FloatPredicate,
        left: Wide<'c>,
        right: Wide<'c>,
    ) -> Result<WideTruth<'c>> {
        if let (Wide::Every(left), Wide::Every(right)) = (left, right) {
            return Ok(WideTruth::Every(self.builder.build_float_compare(predicate, left, right, "")?));
        }
        let (left, right) = (self.each(left)?, self.each(right)?);
        Ok(WideTruth::Each(if self.are_wide() {
            let operand = operand(predicate).ok_or_else(missing)?;
            let operand = self.types.context.i8_type().const_int(operand, false);
            let compared = self.by_register(&[left, right], |lowering, parts| {
                let passed = [parts[0].into(), parts[1].into(), operand.into()];
                lowering.instruction("llvm.x86.avx.cmp.pd.256", &passed)
            })?;
            self.builder.build_bit_cast(compared, self.truths, "")?.into_vector_value()
        } else {
            self.builder.build_float_compare(predicate, left, right, "")?
        }))
    }

    /// Returns 1 or 0 for a truth.
    pub(super) fn number(&mut self, truth: WideTruth<'c>) -> Result<Wide<'c>> {
        let (one, zero) = (self.types.double.const_float(1.0), self.types.double.const_zero());
        let truth = match truth {
            WideTruth::Every(truth) => {
                return Ok(Wide::Every(self.builder.build_select(truth, one, zero, "")?.into_float_value()));
            }
            WideTruth::Each(truth) => truth,
        };
        let number = if self.are_wide() {
            // The bits of 1, or none.
            let one = self.builder.build_bit_cast(self.splat(one)?, self.truths, "")?.into_vector_value();
            let bits = self.builder.build_and(truth, one, "")?;
            self.builder.build_bit_cast(bits, self.doubles, "")?.into_vector_value()
        } else {
            self.choose(truth, self.splat(one)?, self.splat(zero)?)?
        };
        self.latest_truth = Some((number, truth));
        Ok(Wide::Each(number))
    }

    /// Returns the truths of all lanes.
    pub(super) fn each_truth(&self, truth: WideTruth<'c>) -> Result<VectorValue<'c>> {
        match truth {
            WideTruth::Each(truth) => Ok(truth),
            WideTruth::Every(truth) => self.splat_truth(truth),
        }
    }

    /// Returns a vector of truths with the same one in every lane.
    pub(super) fn splat_truth(&self, truth: IntValue<'c>) -> Result<VectorValue<'c>> {
        let kind = self.truths.get_element_type().into_int_type();
        let truth = if self.are_wide() { self.builder.build_int_s_extend(truth, kind, "")? } else { truth };
        if truth.is_const() {
            return Ok(VectorType::const_vector(&vec![truth; self.lanes as usize]));
        }
        let first = self.types.context.i32_type().const_zero();
        let one = self.builder.build_insert_element(self.truths.get_poison(), truth, first, "")?;
        self.spread(one, self.truths)
    }

    /// Returns, in each lane, one of two values.
    pub(super) fn choose(
        &self,
        truth: VectorValue<'c>,
        if_true: VectorValue<'c>,
        if_false: VectorValue<'c>,
    ) -> Result<VectorValue<'c>> {
        if !self.are_wide() {
            return Ok(self.builder.build_select(truth, if_true, if_false, "")?.into_vector_value());
        }
        let truth = self.builder.build_bit_cast(truth, self.doubles, "")?.into_vector_value();
        self.by_register(&[if_false, if_true, truth], |lowering, parts| {
            let passed: Vec<BasicMetadataValueEnum<'c>> = parts.iter().map(|part| (*part).into()).collect();
            lowering.instruction("llvm.x86.avx.blendv.pd.256", &passed)
        })
    }

    /// Returns whether any lane has a truth.
    pub(super) fn any(&self, truths: VectorValue<'c>) -> Result<IntValue<'c>> {
        let bits = self.bits(truths)?;
        Ok(self.builder.build_int_compare(IntPredicate::NE, bits, bits.get_type().const_zero(), "")?)
    }

    /// Returns truths as an integer with a bit for each lane.
    pub(super) fn bits(&self, truths: VectorValue<'c>) -> Result<IntValue<'c>> {
        let truths = if self.are_wide() {
            let zero = self.truths.const_zero();
            self.builder.build_int_compare(IntPredicate::SLT, truths, zero, "")?
        } else {
            truths
        };
        let lanes = NonZero::new(self.lanes).ok_or_else(missing)?;
        let kind = self.types.context.custom_width_int_type(lanes).map_err(|_| missing())?;
        Ok(self.builder.build_bit_cast(truths, kind, "")?.into_int_value())
    }

    /// Returns the truths of which an integer has a bit for each lane.
    pub(super) fn truths_of(&self, bits: IntValue<'c>) -> Result<VectorValue<'c>> {
        let kind = self.types.context.bool_type().vec_type(self.lanes);
        let truths = self.builder.build_bit_cast(bits, kind, "")?.into_vector_value();
        if !self.are_wide() {
            return Ok(truths);
        }
        Ok(self.builder.build_int_s_extend(truths, self.truths, "")?)
    }

    /// Computes something for the doubles of each register, and returns all of them.
    fn by_register(
        &self,
        vectors: &[VectorValue<'c>],
        compute: impl Fn(&Self, &[VectorValue<'c>]) -> Result<VectorValue<'c>>,
    ) -> Result<VectorValue<'c>> {
        let i32 = self.types.context.i32_type();
        let numbers = |range: std::ops::Range<u32>| {
            let numbers: Vec<IntValue<'c>> =
                range.map(|number| i32.const_int(number.into(), false)).collect();
            VectorType::const_vector(&numbers)
        };
        let mut computed = Vec::new();
        for start in (0..self.lanes).step_by(REGISTER as usize) {
            let mut parts = Vec::with_capacity(vectors.len());
            for vector in vectors {
                let none = vector.get_type().get_poison();
                let part = numbers(start..start + REGISTER);
                parts.push(self.builder.build_shuffle_vector(*vector, none, part, "")?);
            }
            computed.push(compute(self, &parts)?);
        }
        // Two vectors become one of twice the length, until there is only one.
        while computed.len() > 1 {
            let mut joined = Vec::with_capacity(computed.len() / 2);
            for pair in computed.chunks(2) {
                let [first, second] = pair else { return Err(missing()) };
                let all = numbers(0..2 * first.get_type().get_size());
                joined.push(self.builder.build_shuffle_vector(*first, *second, all, "")?);
            }
            computed = joined;
        }
        computed.pop().ok_or_else(missing)
    }

    /// Calls an intrinsic that is an instruction of the processor.
    fn instruction(&self, name: &str, passed: &[BasicMetadataValueEnum<'c>]) -> Result<VectorValue<'c>> {
        let call = self.builder.build_call(self.declare(name, &[])?, passed, "")?;
        match call.try_as_basic_value().basic() {
            Some(BasicValueEnum::VectorValue(value)) => Ok(value),
            _ => Err(missing()),
        }
    }
}
