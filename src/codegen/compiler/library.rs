//! Calls of the functions of the library.

use super::refusal::Result;
use super::types::{Types, result};
use crate::host::{PURE_FUNCTION, PureFunction};
use inkwell::attributes::AttributeLoc;
use inkwell::builder::Builder;
use inkwell::module::Module;
use inkwell::values::{BasicMetadataValueEnum, FloatValue};

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
    let symbol = format!("{PURE_FUNCTION}{}", function.text());
    let declared = module.get_function(&symbol).unwrap_or_else(|| {
        let parameters = vec![types.double.into(); arguments.len()];
        let declared = module.add_function(&symbol, types.double.fn_type(&parameters, false), None);
        // It touches no memory and always returns, so equal calls may be merged, and made
        // where their results may not be needed.
        for name in ["nounwind", "willreturn", "nosync", "nofree", "speculatable", "memory"] {
            declared.add_attribute(AttributeLoc::Function, types.attribute(name));
        }
        declared
    });
    let arguments: Vec<BasicMetadataValueEnum<'c>> = arguments.iter().map(|one| (*one).into()).collect();
    result(builder.build_call(declared, &arguments, "")?)
}
