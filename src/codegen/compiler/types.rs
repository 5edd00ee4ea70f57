//! The types and signatures of compiled functions.
//!
//! Every function takes the execution context and then doubles, by the C
//! calling convention. The number of doubles decides how the signature is
//! written in LLVM IR, which must make no difference in the machine code.
#![allow(unsafe_code)]

use super::refusal::{Result, missing};
use crate::abi;
use crate::codegen::error::CodegenError;
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::Builder;
use inkwell::context::ContextRef;
use inkwell::module::{Linkage, Module};
use inkwell::types::{AnyType, BasicMetadataTypeEnum, FloatType, FunctionType, PointerType};
use inkwell::values::{
    BasicValueEnum, CallSiteValue, FloatValue, FunctionValue, InstructionValue, PointerValue,
};

/// Returns a parameter that is a double.
pub(super) fn parameter(function: FunctionValue<'_>, index: u32) -> Result<FloatValue<'_>> {
    match function.get_nth_param(index) {
        Some(BasicValueEnum::FloatValue(value)) => Ok(value),
        _ => Err(missing()),
    }
}

/// Returns the result of a call.
pub(super) fn result(call: CallSiteValue<'_>) -> Result<FloatValue<'_>> {
    match call.try_as_basic_value().basic() {
        Some(BasicValueEnum::FloatValue(value)) => Ok(value),
        _ => Err(missing()),
    }
}

/// What a private copy is of, and when it is inlined.
#[derive(Clone, Copy)]
pub(super) enum CopyKind {
    /// A callee: first.
    Callee,
    /// A level of the recursion of a body: when it has been found which of its calls are equal, after
    /// what it calls has been inlined.
    Level,
}

/// The attribute of copies that are inlined last: `LevelOfRecursion` of pipeline.cpp.
const LEVEL: &str = "kal-level";

/// The LLVM types in use.
pub(super) struct Types<'c> {
    pub(super) context: ContextRef<'c>,
    pub(super) double: FloatType<'c>,
    pub(super) pointer: PointerType<'c>,
}

impl<'c> Types<'c> {
    pub(super) fn new(module: &Module<'c>) -> Self {
        let context = module.get_context();
        Self { context, double: context.f64_type(), pointer: context.ptr_type(AddressSpace::default()) }
    }

    /// Returns the signature `double (ptr context, double …)`; with a
    /// [`WideSignature`] tail, `double (ptr context, double, … double, ptr
    /// byval tail)`.
    pub(super) fn signature(&self, arity: u32) -> FunctionType<'c> {
        let mut parameters: Vec<BasicMetadataTypeEnum<'c>> = vec![self.pointer.into()];
        match WideSignature::of(arity) {
            None => parameters.resize(arity as usize + 1, self.double.into()),
            Some(_) => {
                parameters.resize(REGISTERS as usize + 1, self.double.into());
                parameters.push(self.pointer.into());
            }
        }
        self.double.fn_type(&parameters, false)
    }

    /// Returns the `byval` attribute of the tail of a wide signature, and the
    /// parameter that it belongs to.
    pub(super) fn tail(&self, arity: u32) -> Option<(AttributeLoc, Attribute)> {
        let WideSignature { tail } = WideSignature::of(arity)?;
        let array = self.double.array_type(tail).as_any_type_enum();
        let kind = Attribute::get_named_enum_kind_id("byval");
        Some((AttributeLoc::Param(REGISTERS + 1), self.context.create_type_attribute(kind, array)))
    }

    /// Declares a private copy of a function, to be inlined wherever it is
    /// called.
    pub(super) fn define_copy(&self, module: &Module<'c>, kind: CopyKind, arity: u32) -> FunctionValue<'c> {
        let function = self.define(module, "inline", arity);
        function.set_linkage(Linkage::Internal);
        let attribute = match kind {
            CopyKind::Callee => self.attribute("alwaysinline"),
            CopyKind::Level => self.context.create_string_attribute(LEVEL, ""),
        };
        function.add_attribute(AttributeLoc::Function, attribute);
        function
    }

    pub(super) fn define(&self, module: &Module<'c>, symbol: &str, arity: u32) -> FunctionValue<'c> {
        let function = module.add_function(symbol, self.signature(arity), None);
        function.add_attribute(AttributeLoc::Function, self.attribute("nounwind"));
        function.add_attribute(AttributeLoc::Param(0), self.attribute("noundef"));
        if let Some((place, tail)) = self.tail(arity) {
            function.add_attribute(place, tail);
        }
        // The runtime must agree before a frame is made that may not fit the
        // reserve below the stack limit.
        for (name, value) in
            [("probe-stack", abi::PROBE), ("stack-probe-size", &abi::SMALL_FRAME.to_string())]
        {
            let attribute = self.context.create_string_attribute(name, value);
            function.add_attribute(AttributeLoc::Function, attribute);
        }
        // Endless recursion is an error at every level, and depth means the
        // same.
        let no_tail_calls = self.context.create_string_attribute("disable-tail-calls", "true");
        function.add_attribute(AttributeLoc::Function, no_tail_calls);
        // Errors walk the frames of the callers.
        let frame = self.context.create_string_attribute("frame-pointer", "non-leaf");
        function.add_attribute(AttributeLoc::Function, frame);
        function
    }

    /// Returns where a function finds one of its arguments.
    pub(super) fn passed(
        &self,
        builder: &Builder<'c>,
        function: FunctionValue<'c>,
        arity: u32,
        index: u32,
    ) -> Result<PassedArgument<'c>> {
        if WideSignature::of(arity).is_none() || index < REGISTERS {
            return parameter(function, index + 1).map(PassedArgument::Register);
        }
        let Some(BasicValueEnum::PointerValue(tail)) = function.get_nth_param(REGISTERS + 1) else {
            return Err(missing());
        };
        let offset = self.context.i64_type().const_int(u64::from(index - REGISTERS), false);
        // SAFETY: the tail has `arity - REGISTERS` elements, and the index is
        // that of an argument.
        let place = unsafe { builder.build_in_bounds_gep(self.double, tail, &[offset], "")? };
        Ok(PassedArgument::Memory(place))
    }

    /// Returns the address of a word of the execution context's header.
    pub(super) fn word(
        &self,
        builder: &Builder<'c>,
        context: PointerValue<'c>,
        offset: usize,
    ) -> Result<PointerValue<'c>> {
        let offset = self.context.i64_type().const_int(offset as u64, false);
        // SAFETY: the offset is one inside of the header, where contexts begin.
        Ok(unsafe { builder.build_in_bounds_gep(self.context.i8_type(), context, &[offset], "")? })
    }

    /// Loads a routine of the runtime, whose address is at an offset of the
    /// header.
    pub(super) fn routine(
        &self,
        builder: &Builder<'c>,
        context: PointerValue<'c>,
        offset: usize,
    ) -> Result<PointerValue<'c>> {
        let place = self.word(builder, context, offset)?;
        let routine = builder.build_load(self.pointer, place, "")?.into_pointer_value();
        routine.as_instruction().map_or(Ok(()), |load| self.tag(load, HEADER))?;
        Ok(routine)
    }

    /// Marks what an instruction accesses, for LLVM's type-based alias analysis: accesses
    /// with different names do not alias.
    pub(super) fn tag(&self, access: InstructionValue<'c>, name: &str) -> Result<()> {
        let context = self.context;
        let root = context.metadata_node(&[context.metadata_string("kal").into()]);
        let kind = context.metadata_node(&[context.metadata_string(name).into(), root.into()]);
        let offset = context.i64_type().const_zero();
        let tag = context.metadata_node(&[kind.into(), kind.into(), offset.into()]);
        let id = context.get_kind_id("tbaa");
        access.set_metadata(tag, id).map_err(|error| CodegenError::Internal(error.to_string()))
    }

    /// Returns the attribute of a call that accesses only memory which other instructions
    /// do not: `memory(inaccessiblemem: readwrite)`.
    pub(super) fn reads_nothing_known(&self) -> Attribute {
        // Two bits for each kind of memory, of which this is the second: may read, may write.
        self.context.create_enum_attribute(Attribute::get_named_enum_kind_id("memory"), 0b1100)
    }

    /// Returns the attribute of a call that may read any memory, and writes none that the caller can
    /// see: `memory(read)`.
    pub(super) fn reads_only(&self) -> Attribute {
        // The first of the two bits of each kind of memory.
        self.context.create_enum_attribute(Attribute::get_named_enum_kind_id("memory"), 0b0101_0101_0101)
    }

    pub(super) fn attribute(&self, name: &str) -> Attribute {
        self.context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), 0)
    }
}

/// The name of the words of the header, for [`Types::tag`]. Those of variables end with a
/// space.
pub(super) const HEADER: &str = "header";

/// LLVM's number for the calling convention `preserve_all`.
pub(super) const PRESERVE_ALL: u32 = 15;

/// Where an argument arrives.
pub(super) enum PassedArgument<'c> {
    Register(FloatValue<'c>),
    Memory(PointerValue<'c>),
}

/// The number of doubles that are passed in registers.
pub(super) const REGISTERS: u32 = abi::REGISTERS as u32;

/// From this number of arguments on, those beyond the registers are passed to
/// LLVM as one array by value: the same bytes in the same places, but one
/// parameter for LLVM instead of thousands, which take it quadratic time.
const WIDE: u32 = 256;

/// A signature whose last arguments are one array.
pub(super) struct WideSignature {
    pub(super) tail: u32,
}

impl WideSignature {
    pub(super) fn of(arity: u32) -> Option<Self> {
        (arity >= WIDE).then(|| Self { tail: arity - REGISTERS })
    }
}
