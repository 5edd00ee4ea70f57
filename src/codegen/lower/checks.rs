//! Safepoint polls: how and where code checks for the end of the stack and for
//! requests to stop.

use super::super::types::PRESERVE_ALL;
use super::{CodegenError, IrLowering, Result, missing};
use crate::abi;
use crate::sema::checked::CheckedNode;
use inkwell::IntPredicate;
use inkwell::values::{InstructionValue, IntValue};
use std::ops::Range;

/// Functions of at most this many nodes have frames of a few KiB.
const SMALL_FRAME: usize = 200;

/// Returns where to poll in a function that is one `if`: at the beginning of
/// the branches that call something. The end of a recursion, where most calls
/// go, then costs nothing. `None` if the condition calls something, or the
/// frame may be large: the function polls at its entry then.
pub(super) fn late_checks(nodes: &[CheckedNode], is_call: &dyn Fn(u32) -> bool) -> Option<Vec<u32>> {
    let is = |index: usize, kind: CheckedNode| nodes.get(index) == Some(&kind);
    let calls_one = |node: &CheckedNode| matches!(node, CheckedNode::Call(index) if is_call(*index));
    let then = nodes.iter().position(|node| *node == CheckedNode::Then || calls_one(node))?;
    let (mut depth, mut otherwise) = (0, then);
    let end = (then..nodes.len()).find(|&index| {
        depth = depth + i32::from(is(index, CheckedNode::Then)) - i32::from(is(index, CheckedNode::If));
        otherwise = if depth == 1 && is(index, CheckedNode::Else) { index } else { otherwise };
        depth == 0
    });
    if !is(then, CheckedNode::Then) || end != Some(nodes.len() - 1) || nodes.len() > SMALL_FRAME {
        return None;
    }
    let calls = |range: Range<usize>| nodes[range].iter().any(calls_one);
    let branches = [(then, otherwise), (otherwise, nodes.len())];
    let calling = branches.into_iter().filter(|(start, end)| calls(*start..*end));
    Some(calling.map(|(start, _)| start as u32).collect())
}

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
        let call = self.rarely(below, abi::STOP)?;
        if !self.is_quick() {
            // `preserve_all`, so that nothing is spilled for this call.
            call.set_call_convention(PRESERVE_ALL);
        }
        Ok(())
    }
}
