//! Calls of the functions that the compiler knows: instructions, and direct calls
//! of pure functions.

use super::IrLowering;
use crate::codegen::compiler::library;
use crate::codegen::compiler::refusal::Result;
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
                let arguments = self.pop_all(function.arity())?;
                let value = match self.exact(function, &arguments)? {
                    Some(value) => value,
                    None => self.pure_call(function, &arguments)?,
                };
                self.values.push(value);
                Ok(())
            }
        }
    }

    /// Computes a function of the library with instructions, if they are exact; `None` if it is
    /// called. They are those of its definition in [`crate::host`].
    fn exact(
        &mut self,
        function: PureFunction,
        arguments: &[FloatValue<'c>],
    ) -> Result<Option<FloatValue<'c>>> {
        if arguments.iter().all(|argument| argument.is_const()) {
            return Ok(None);
        }
        let features = self.options.processor.features();
        let double = self.types.double;
        let number = |number| double.const_float(number);
        let value = match (function.text(), arguments) {
            ("fma", arguments) if features.has("fma") => self.exact_intrinsic("llvm.fma", arguments)?,
            ("rint" | "nearbyint", arguments) if features.has("sse4.1") => {
                self.exact_intrinsic("llvm.rint", arguments)?
            }
            ("sign", &[x]) => {
                let negative = self.chosen((FloatPredicate::OLT, x, number(0.0)), number(-1.0), x)?;
                self.chosen((FloatPredicate::OGT, x, number(0.0)), number(1.0), negative)?
            }
            ("fmax" | "max", &[x, y]) => {
                let larger = self.chosen((FloatPredicate::OLT, x, y), y, x)?;
                self.chosen((FloatPredicate::UNO, x, x), y, larger)?
            }
            ("fmin" | "min", &[x, y]) => {
                let smaller = self.chosen((FloatPredicate::OLT, x, y), x, y)?;
                self.chosen((FloatPredicate::UNO, y, y), x, smaller)?
            }
            ("fdim", &[x, y]) => {
                let difference = self.builder.build_float_sub(x, y, "")?;
                self.chosen((FloatPredicate::OLE, x, y), number(0.0), difference)?
            }
            ("mod", &[x, y]) => {
                self.values.extend([x, y]);
                self.binary(BinaryOp::Remainder)?;
                let rest = self.pop()?;
                let moved = self.builder.build_float_add(rest, y, "")?;
                let of_positive = self.chosen((FloatPredicate::OLT, rest, number(0.0)), moved, rest)?;
                let of_negative = self.chosen((FloatPredicate::OLT, rest, number(0.0)), rest, moved)?;
                let value = self.chosen((FloatPredicate::OLT, y, number(0.0)), of_negative, of_positive)?;
                let zero = self.exact_intrinsic("llvm.copysign", &[number(0.0), y])?;
                self.chosen((FloatPredicate::OEQ, rest, number(0.0)), zero, value)?
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    /// Calls an intrinsic of LLVM on doubles.
    fn exact_intrinsic(&self, name: &str, arguments: &[FloatValue<'c>]) -> Result<FloatValue<'c>> {
        let callee = self.declare(name, &[self.types.double.into()])?;
        let arguments: Vec<BasicMetadataValueEnum<'c>> = arguments.iter().map(|one| (*one).into()).collect();
        result(self.builder.build_call(callee, &arguments, "")?)
    }

    /// Returns one of two values, by a comparison.
    fn chosen(
        &self,
        (predicate, left, right): (FloatPredicate, FloatValue<'c>, FloatValue<'c>),
        yes: FloatValue<'c>,
        no: FloatValue<'c>,
    ) -> Result<FloatValue<'c>> {
        let truth = self.builder.build_float_compare(predicate, left, right, "")?;
        Ok(self.builder.build_select(truth, yes, no, "")?.into_float_value())
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic) -> Result<()> {
        let mut arguments = self.pop_all(intrinsic.arity())?;
        if let (Intrinsic::Copysign, [_, sign]) = (intrinsic, &mut arguments[..]) {
            // A NaN counts as positive; see [`crate::host::copysign`].
            *sign =
                self.chosen((FloatPredicate::UNO, *sign, *sign), self.types.double.const_zero(), *sign)?;
        }
        let name = format!("llvm.{}", intrinsic.text());
        self.values.push(self.exact_intrinsic(&name, &arguments)?);
        Ok(())
    }

    /// Returns the square root of a value.
    pub(super) fn square_root(&self, value: FloatValue<'c>) -> Result<FloatValue<'c>> {
        self.exact_intrinsic("llvm.sqrt", &[value])
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
