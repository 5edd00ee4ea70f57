//! Functions of the library in every lane.

use super::WideLowering;
use super::value::{Wide, WideTruth};
use crate::codegen::compiler::library::{pure_call, pure_function};
use crate::codegen::compiler::refusal::{Result, missing};
use crate::codegen::compiler::types::result;
use crate::host::lanes::{self, MAP};
use crate::host::{Builtin, Intrinsic, PureFunction};
use crate::syntax::operator::BinaryOp;
use inkwell::FloatPredicate;
use inkwell::types::BasicType;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, PointerValue};

impl<'c> WideLowering<'_, 'c> {
    /// Computes a function that the compiler knows.
    pub(super) fn builtin(&mut self, builtin: Builtin, arguments: &[Wide<'c>]) -> Result<Wide<'c>> {
        match (builtin, arguments) {
            (Builtin::Instruction(Intrinsic::Fmod), &[x, y]) => self.remainder(x, y),
            (Builtin::Instruction(Intrinsic::Copysign), &[x, y]) => {
                // A NaN counts as positive.
                let is_nan = self.compare(FloatPredicate::UNO, y, y)?;
                let sign = self.select(is_nan, Wide::Every(self.types.double.const_zero()), y)?;
                self.same_in_all("llvm.copysign", &[x, sign])
            }
            (Builtin::Instruction(intrinsic), arguments) => {
                self.same_in_all(&format!("llvm.{}", intrinsic.text()), arguments)
            }
            (Builtin::Call(_), &[x, y]) if builtin.is_pow() => self.power(x, y),
            (Builtin::Call(function), arguments) => self.exact(function, arguments),
        }
    }

    /// Computes a function of the library, with instructions if they are exact.
    fn exact(&mut self, function: PureFunction, arguments: &[Wide<'c>]) -> Result<Wide<'c>> {
        if arguments.iter().all(|argument| matches!(argument, Wide::Every(_))) {
            return self.pure(function, arguments);
        }
        let number = |number| Wide::Every(self.types.double.const_float(number));
        let is = |predicate, x, y| self.compare(predicate, x, y);
        match (function.text(), arguments) {
            ("fma", arguments) if self.features.has("fma") => self.same_in_all("llvm.fma", arguments),
            ("rint" | "nearbyint", arguments) if self.features.has("sse4.1") => {
                self.same_in_all("llvm.rint", arguments)
            }
            ("sign", &[x]) => {
                let negative = self.select(is(FloatPredicate::OLT, x, number(0.0))?, number(-1.0), x)?;
                self.select(is(FloatPredicate::OGT, x, number(0.0))?, number(1.0), negative)
            }
            ("fmax" | "max", &[x, y]) => {
                let larger = self.select(is(FloatPredicate::OLT, x, y)?, y, x)?;
                self.select(is(FloatPredicate::UNO, x, x)?, y, larger)
            }
            ("fmin" | "min", &[x, y]) => {
                let smaller = self.select(is(FloatPredicate::OLT, x, y)?, x, y)?;
                self.select(is(FloatPredicate::UNO, y, y)?, x, smaller)
            }
            ("fdim", &[x, y]) => {
                let difference = self.arithmetic(BinaryOp::Subtract, x, y)?;
                let is_less = is(FloatPredicate::OLE, x, y)?;
                self.select(is_less, number(0.0), difference)
            }
            ("mod", &[x, y]) => {
                // As `floored` of the host does.
                let rest = self.remainder(x, y)?;
                let zero = Wide::Every(self.types.double.const_zero());
                let is_below = |value| self.each_truth(self.compare(FloatPredicate::OLT, value, zero)?);
                let differ = self.builder.build_xor(is_below(rest)?, is_below(y)?, "")?;
                let moved = self.arithmetic(BinaryOp::Add, rest, y)?;
                let value = self.select(WideTruth::Each(differ), moved, rest)?;
                let is_zero = self.compare(FloatPredicate::OEQ, rest, zero)?;
                let signed = self.same_in_all("llvm.copysign", &[zero, y])?;
                self.select(is_zero, signed, value)
            }
            (_, arguments) => self.pure(function, arguments),
        }
    }

    /// Calls a pure function, once if its arguments are the same in every row.
    pub(super) fn pure(&mut self, function: PureFunction, arguments: &[Wide<'c>]) -> Result<Wide<'c>> {
        let every = arguments.iter().map(|argument| match argument {
            Wide::Every(value) => Some(*value),
            Wide::Each(_) => None,
        });
        match every.collect::<Option<Vec<_>>>() {
            Some(every) => {
                pure_call(self.module, &self.types, &self.builder, function, &every).map(Wide::Every)
            }
            None => self.in_memory(function.text(), arguments),
        }
    }

    /// Computes an intrinsic of LLVM that treats all lanes alike.
    pub(super) fn same_in_all(&self, name: &str, arguments: &[Wide<'c>]) -> Result<Wide<'c>> {
        let is_every = arguments.iter().all(|argument| matches!(argument, Wide::Every(_)));
        let kind = if is_every { self.types.double.into() } else { self.doubles.into() };
        let mut passed: Vec<BasicMetadataValueEnum<'c>> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            passed.push(match argument {
                Wide::Every(value) if is_every => (*value).into(),
                value => self.each(*value)?.into(),
            });
        }
        let call = self.builder.build_call(self.declare(name, &[kind])?, &passed, "")?;
        if is_every {
            return result(call).map(Wide::Every);
        }
        match call.try_as_basic_value().basic() {
            Some(BasicValueEnum::VectorValue(value)) => Ok(Wide::Each(value)),
            _ => Err(missing()),
        }
    }

    /// Calls a function of the library for all lanes, in memory. In lanes that are masked
    /// it computes the value of 1, which is quick.
    pub(super) fn in_memory(&mut self, name: &str, arguments: &[Wide<'c>]) -> Result<Wide<'c>> {
        let one = self.splat(self.types.double.const_float(1.0))?;
        let mut places: Vec<PointerValue<'c>> = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            let mut value = self.each(*argument)?;
            if let Some(mask) = self.mask {
                value = self.choose(mask, value, one)?;
            }
            let place = self.passed(index)?;
            self.store(place, Wide::Each(value))?;
            places.push(place);
        }
        let (pointer, i64) = (self.types.pointer, self.types.context.i64_type());
        let declared = |symbol: &str, parameters: &[_]| {
            self.module.get_function(symbol).unwrap_or_else(|| {
                let kind = self.types.context.void_type().fn_type(parameters, false);
                self.module.add_function(symbol, kind, None)
            })
        };
        let count = i64.const_int(self.lanes.into(), false);
        let mut passed: Vec<BasicMetadataValueEnum<'c>> =
            places.iter().map(|place| (*place).into()).collect();
        passed.push(count.into());
        let mut parameters = vec![pointer.as_basic_type_enum().into(); places.len()];
        parameters.push(i64.as_basic_type_enum().into());
        let callee = if let Some(symbol) = lanes::symbol(name) {
            declared(&symbol, &parameters)
        } else {
            let one_row = pure_function(self.module, &self.types, name, places.len());
            passed.insert(0, one_row.as_global_value().as_pointer_value().into());
            parameters.insert(0, pointer.as_basic_type_enum().into());
            declared(&format!("{MAP}{}", places.len()), &parameters)
        };
        self.builder.build_call(callee, &passed, "")?;
        let place = *places.first().ok_or_else(missing)?;
        Ok(Wide::Each(self.load(place)?))
    }

    /// Returns where an argument of a function is passed for all lanes.
    fn passed(&mut self, index: usize) -> Result<PointerValue<'c>> {
        while self.passed.len() <= index {
            let place = self.allocate(self.doubles.as_basic_type_enum())?;
            self.passed.push(place);
        }
        Ok(self.passed[index])
    }
}
