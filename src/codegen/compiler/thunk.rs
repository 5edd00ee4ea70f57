//! Thunks: the code through which compiled code calls closures of the host.
#![allow(unsafe_code)]

use super::refusal::{Result, missing};
use super::types::{PassedArgument, Types, result};
use crate::abi;
use crate::codegen::body::Thunk;
use inkwell::module::Module;
use inkwell::values::BasicMetadataValueEnum;

/// Adds the thunk of a host closure to the module under `symbol`.
pub(super) fn define(module: &Module<'_>, thunk: Thunk, symbol: &str) -> Result<()> {
    let types = Types::new(module);
    let function = types.define(module, symbol, thunk.arity);
    let builder = types.context.create_builder();
    builder.position_at_end(types.context.append_basic_block(function, ""));
    let i64 = types.context.i64_type();
    let count = i64.const_int(u64::from(thunk.arity), false);
    let array = builder.build_array_alloca(types.double, count, "")?;
    for index in 0..thunk.arity {
        let value = match types.passed(&builder, function, thunk.arity, index)? {
            PassedArgument::Register(value) => value,
            PassedArgument::Memory(place) => builder.build_load(types.double, place, "")?.into_float_value(),
        };
        let offset = i64.const_int(u64::from(index), false);
        // SAFETY: the array has `arity` elements and the index is below that.
        let element = unsafe { builder.build_in_bounds_gep(types.double, array, &[offset], "")? };
        builder.build_store(element, value)?;
    }
    let signature =
        types.double.fn_type(&[types.pointer.into(), i64.into(), types.pointer.into(), i64.into()], false);
    let context = function.get_first_param().ok_or_else(missing)?.into_pointer_value();
    let host = types.routine(&builder, context, abi::HOST)?;
    let closure = i64.const_int(thunk.closure, false);
    let arguments: [BasicMetadataValueEnum<'_>; 4] =
        [context.into(), closure.into(), array.into(), count.into()];
    let call = builder.build_indirect_call(signature, host, &arguments, "")?;
    builder.build_return(Some(&result(call)?))?;
    Ok(())
}
