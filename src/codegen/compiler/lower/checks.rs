//! Safepoint polls: how and where code checks for the end of the stack and for
//! requests to stop.

use super::IrLowering;
use crate::abi;
use crate::codegen::compiler::refusal::{Result, missing};
use crate::codegen::compiler::types::PRESERVE_ALL;
use crate::codegen::error::CodegenError;
use crate::codegen::polls::SMALL_FRAME;
use inkwell::IntPredicate;
use inkwell::values::{InstructionValue, IntValue};

impl<'c> IrLowering<'_, 'c> {
    /// Emits a decrement of the fuel; returns whether none was left. Volatile,
    /// so that every optimisation level counts alike.
    fn burn(&self) -> Result<IntValue<'c>> {
        let i64 = self.types.context.i64_type();
        let place = self.types.word(&self.builder, self.context, abi::FUEL)?;
        let volatile = |instruction: Option<InstructionValue<'c>>| match instruction {
            Some(instruction) => {
                instruction.set_volatile(true).map_err(|error| CodegenError::Internal(error.to_string()))
            }
            None => Err(missing()),
        };
        let fuel = self.builder.build_load(i64, place, "")?.into_int_value();
        volatile(fuel.as_instruction())?;
        let left = self.builder.build_int_sub(fuel, i64.const_int(1, false), "")?;
        volatile(Some(self.builder.build_store(place, left)?))?;
        Ok(self.builder.build_int_compare(IntPredicate::SLT, left, i64.const_zero(), "")?)
    }

    /// Emits a safepoint poll: compares the stack pointer with the limit word
    /// of the context, and calls the runtime if it is below. The load is
    /// volatile because other threads change the word to stop the code.
    pub(super) fn stop_check(&mut self) -> Result<()> {
        if cfg!(feature = "unchecked") {
            return Ok(());
        }
        let pointer = self.types.pointer;
        let stack = if self.is_quick() && self.source.nodes.len() <= SMALL_FRAME {
            let frame = self.declare("llvm.frameaddress", &[pointer.into()])?;
            let innermost = self.types.context.i32_type().const_zero();
            self.builder.build_call(frame, &[innermost.into()], "")?
        } else {
            let stack = self.declare("llvm.stackaddress", &[pointer.into()])?;
            self.builder.build_call(stack, &[], "")?
        };
        let stack = stack.try_as_basic_value().basic().ok_or_else(missing)?.into_pointer_value();
        let limit = self.builder.build_load(pointer, self.context, "")?.into_pointer_value();
        if let Some(load) = limit.as_instruction() {
            load.set_volatile(true).map_err(|error| CodegenError::Internal(error.to_string()))?;
        }
        let mut below = self.builder.build_int_compare(IntPredicate::ULT, stack, limit, "")?;
        if self.options.counts_fuel {
            below = self.builder.build_or(below, self.burn()?, "")?;
        }
        let go_on = self.rarely(below)?;
        let call = self.call_runtime(abi::STOP, go_on)?;
        if !self.is_quick() {
            // `preserve_all`, so that nothing is spilled for this call.
            call.set_call_convention(PRESERVE_ALL);
        }
        Ok(())
    }
}
