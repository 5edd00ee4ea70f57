//! What both lowerings know of functions and operators: calls of the library, intrinsics of
//! LLVM, and how comparisons compare.

use super::refusal::Result;
use super::types::{Types, result};
use crate::codegen::error::CodegenError;
use crate::host::{PureFunction, lanes, pure_symbol};
use crate::syntax::operator::BinaryOp;
use inkwell::FloatPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::builder::Builder;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, FloatValue, FunctionValue};

/// The attribute that names a function's form for two lanes, for the pass of
/// `pair_calls.h`.
const TWO_LANES: &str = "kal-two-lanes";

/// The attribute that names the form with another function in the other lane, and that which
/// says which lane is the function's.
const MIXED_LANES: (&str, &str) = ("kal-mixed-lanes", "kal-lane");

/// Calls a pure function; of constants, its result is one.
pub(super) fn pure_call<'c>(
    module: &Module<'c>,
    types: &Types<'c>,
    builder: &Builder<'c>,
    function: PureFunction,
    arguments: &[FloatValue<'c>],
) -> Result<FloatValue<'c>> {
    let constant = |value: &FloatValue<'c>| value.get_constant().map(|(number, _)| number);
    let constants: Option<Vec<f64>> = arguments.iter().map(constant).collect();
    if let Some(value) = constants.and_then(|constants| function.call(&constants)) {
        return Ok(types.double.const_float(value));
    }
    let declared = pure_function(module, types, function.text(), arguments.len());
    let arguments: Vec<BasicMetadataValueEnum<'c>> = arguments.iter().map(|one| (*one).into()).collect();
    result(builder.build_call(declared, &arguments, "")?)
}

/// Returns the declaration of a pure function of doubles, the same at each call in a module.
pub(super) fn pure_function<'c>(
    module: &Module<'c>,
    types: &Types<'c>,
    name: &str,
    arity: usize,
) -> FunctionValue<'c> {
    let symbol = pure_symbol(name);
    module.get_function(&symbol).unwrap_or_else(|| {
        let parameters = vec![types.double.into(); arity];
        let declared = module.add_function(&symbol, types.double.fn_type(&parameters, false), None);
        // It touches no memory and always returns, so equal calls may be merged. It could be
        // called where its result may not be needed, too; see `HoistCallsPass` of the pipeline.
        for name in ["nounwind", "willreturn", "nosync", "nofree", "memory"] {
            declared.add_attribute(AttributeLoc::Function, types.attribute(name));
        }
        let describe = |key, value: &str| {
            let attribute = types.context.create_string_attribute(key, value);
            declared.add_attribute(AttributeLoc::Function, attribute);
        };
        if let Some(two) = lanes::two_symbol(name) {
            describe(TWO_LANES, &two);
        }
        if let Some((mixed, lane)) = lanes::mixed_symbol(name) {
            describe(MIXED_LANES.0, &mixed);
            describe(MIXED_LANES.1, &lane.to_string());
        }
        declared
    })
}

/// Returns an intrinsic of LLVM.
pub(super) fn intrinsic<'c>(
    module: &Module<'c>,
    name: &str,
    overloads: &[BasicTypeEnum<'c>],
) -> Result<FunctionValue<'c>> {
    Intrinsic::find(name)
        .and_then(|found| found.get_declaration(module, overloads))
        .ok_or_else(|| CodegenError::Internal(format!("this LLVM has no {name}")))
}

/// Returns how an operator compares; `None` if it does not.
pub(super) fn predicate(op: BinaryOp) -> Option<FloatPredicate> {
    match op {
        BinaryOp::Equal => Some(FloatPredicate::OEQ),
        BinaryOp::NotEqual => Some(FloatPredicate::UNE),
        BinaryOp::Less => Some(FloatPredicate::OLT),
        BinaryOp::Greater => Some(FloatPredicate::OGT),
        BinaryOp::LessEqual => Some(FloatPredicate::OLE),
        BinaryOp::GreaterEqual => Some(FloatPredicate::OGE),
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Remainder
        | BinaryOp::Power
        | BinaryOp::And
        | BinaryOp::Or => None,
    }
}
