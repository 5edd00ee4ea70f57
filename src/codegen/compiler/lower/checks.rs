//! Safepoint polls: how and where code checks for the end of the stack and for
//! requests to stop; and calls of the runtime.

use super::IrLowering;
use crate::abi;
use crate::codegen::compiler::refusal::{Result, missing};
use crate::codegen::compiler::types::{HEADER, PRESERVE_ALL};
use crate::codegen::error::CodegenError;
use crate::codegen::polls::SMALL_FRAME;
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::basic_block::BasicBlock;
use inkwell::types::IntType;
use inkwell::values::{CallSiteValue, InstructionValue, IntValue};

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
        let store = self.builder.build_store(place, left)?;
        volatile(Some(store))?;
        fuel.as_instruction()
            .into_iter()
            .chain([store])
            .try_for_each(|access| self.types.tag(access, HEADER))?;
        Ok(self.builder.build_int_compare(IntPredicate::SLT, left, i64.const_zero(), "")?)
    }

    /// Emits a safepoint poll: compares the stack pointer with the limit word
    /// of the context, and calls the runtime if it is below. The load is
    /// volatile because other threads change the word to stop the code.
    pub(super) fn stop_check(&mut self) -> Result<()> {
        self.poll(false)
    }

    /// Emits the poll at the end of an iteration. In optimised code the runtime answers
    /// whether to leave, and the code leaves by a way out of the loop: so LLVM may keep
    /// variables in registers, and stores them before that, too.
    pub(super) fn iteration_check(&mut self) -> Result<()> {
        self.poll(!self.is_quick())
    }

    fn poll(&mut self, asks: bool) -> Result<()> {
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
            let call = self.builder.build_call(stack, &[], "")?;
            // It reads no variables.
            call.add_attribute(AttributeLoc::Function, self.types.reads_nothing_known());
            call
        };
        let stack = stack.try_as_basic_value().basic().ok_or_else(missing)?.into_pointer_value();
        let limit = self.builder.build_load(pointer, self.context, "")?.into_pointer_value();
        if let Some(load) = limit.as_instruction() {
            load.set_volatile(true).map_err(|error| CodegenError::Internal(error.to_string()))?;
            self.types.tag(load, HEADER)?;
        }
        let mut below = self.builder.build_int_compare(IntPredicate::ULT, stack, limit, "")?;
        if self.options.counts_fuel {
            below = self.builder.build_or(below, self.burn()?, "")?;
        }
        let go_on = self.rarely(below)?;
        if asks {
            return self.ask(go_on);
        }
        let call = self.call_runtime(abi::STOP, go_on)?;
        if !self.is_quick() {
            // `preserve_all`, so that nothing is spilled for this call.
            call.set_call_convention(PRESERVE_ALL);
        }
        Ok(())
    }

    /// Emits a question to the runtime whether to leave, and leaving or going on.
    fn ask(&mut self, go_on: BasicBlock<'c>) -> Result<()> {
        let call = self.call_routine(abi::ASK, Some(self.types.context.bool_type()))?;
        call.add_attribute(AttributeLoc::Function, self.types.attribute("willreturn"));
        // Of what it reads, code writes nothing but the fuel, which is volatile.
        call.add_attribute(AttributeLoc::Function, self.types.reads_nothing_known());
        call.set_call_convention(PRESERVE_ALL);
        let answer = call.try_as_basic_value().basic().ok_or_else(missing)?.into_int_value();
        let leaves = self.block("leaves");
        self.builder.build_conditional_branch(answer, leaves, go_on)?;
        self.builder.position_at_end(leaves);
        let call = self.call_routine(abi::LEAVE, None)?;
        call.add_attribute(AttributeLoc::Function, self.types.attribute("noreturn"));
        self.builder.build_unreachable()?;
        self.builder.position_at_end(go_on);
        Ok(())
    }

    /// Emits a call of a runtime routine, given by its offset in the header, at the
    /// end of a rare block.
    pub(super) fn call_runtime(&self, routine: usize, go_on: BasicBlock<'c>) -> Result<CallSiteValue<'c>> {
        let call = self.call_routine(routine, None)?;
        self.jump(go_on)?;
        self.builder.position_at_end(go_on);
        Ok(call)
    }

    /// Emits a call of a runtime routine that returns this, or nothing.
    fn call_routine(&self, routine: usize, returned: Option<IntType<'c>>) -> Result<CallSiteValue<'c>> {
        let routine = self.types.routine(&self.builder, self.context, routine)?;
        let parameters = [self.types.pointer.into()];
        let signature = match returned {
            Some(returned) => returned.fn_type(&parameters, false),
            None => self.types.context.void_type().fn_type(&parameters, false),
        };
        let call = self.builder.build_indirect_call(signature, routine, &[self.context.into()], "")?;
        for name in ["cold", "nounwind"] {
            call.add_attribute(AttributeLoc::Function, self.types.attribute(name));
        }
        Ok(call)
    }
}
