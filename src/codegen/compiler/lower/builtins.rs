//! Calls of the functions that the compiler knows: instructions, and direct calls
//! of pure functions.

use super::IrLowering;
use crate::codegen::compiler::library;
use crate::codegen::compiler::refusal::{Result, missing};
use crate::codegen::compiler::types::result;
use crate::host::{Builtin, Intrinsic, PureFunction};
use crate::syntax::operator::BinaryOp;
use inkwell::FloatPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, FloatValue, FunctionValue};

impl<'c> IrLowering<'_, 'c> {
    /// Lowers a call whose arguments have been lowered.
    pub(super) fn builtin(&mut self, builtin: Builtin) -> Result<()> {
        match builtin {
            Builtin::Instruction(Intrinsic::Fmod) => self.binary(BinaryOp::Remainder),
            Builtin::Instruction(intrinsic) => self.intrinsic(intrinsic),
            Builtin::Call(_) if builtin.is_pow() => self.binary(BinaryOp::Power),
            Builtin::Call(function) => {
                let first = self.values.len().checked_sub(function.arity() as usize).ok_or_else(missing)?;
                let value = self.pure_call(function, &self.values[first..])?;
                self.values.truncate(first);
                self.values.push(value);
                Ok(())
            }
        }
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic) -> Result<()> {
        let name = match intrinsic {
            Intrinsic::Sqrt => "llvm.sqrt",
            Intrinsic::Fabs => "llvm.fabs",
            Intrinsic::Floor => "llvm.floor",
            Intrinsic::Ceil => "llvm.ceil",
            Intrinsic::Trunc => "llvm.trunc",
            Intrinsic::Copysign => "llvm.copysign",
            Intrinsic::Fmod => return Err(missing()),
        };
        let first = self.values.len().checked_sub(intrinsic.arity() as usize).ok_or_else(missing)?;
        if intrinsic == Intrinsic::Copysign {
            self.positive_nan()?;
        }
        let arguments: Vec<BasicMetadataValueEnum<'c>> = self.values.drain(first..).map(Into::into).collect();
        let callee = self.declare(name, &[self.types.double.into()])?;
        self.values.push(result(self.builder.build_call(callee, &arguments, "")?)?);
        Ok(())
    }

    /// Returns the square root of a value.
    pub(super) fn square_root(&self, value: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let callee = self.declare("llvm.sqrt", &[self.types.double.into()])?;
        result(self.builder.build_call(callee, &[value.into()], "")?)
    }

    /// Replaces a NaN by 0 as a sign, which counts as positive; see
    /// [`crate::host::copysign`].
    fn positive_nan(&mut self) -> Result<()> {
        let sign = self.values.pop().ok_or_else(missing)?;
        let is_nan = self.builder.build_float_compare(FloatPredicate::UNO, sign, sign, "")?;
        let zero = self.types.double.const_zero();
        self.values.push(self.builder.build_select(is_nan, zero, sign, "")?.into_float_value());
        Ok(())
    }

    /// Returns an intrinsic of LLVM.
    pub(super) fn declare(&self, name: &str, overloads: &[BasicTypeEnum<'c>]) -> Result<FunctionValue<'c>> {
        library::intrinsic(self.module, name, overloads)
    }

    /// Calls a pure function; of constants, its result is one.
    pub(super) fn pure_call(
        &self,
        function: PureFunction,
        arguments: &[FloatValue<'c>],
    ) -> Result<FloatValue<'c>> {
        library::pure_call(self.module, &self.types, &self.builder, function, arguments)
    }
}
