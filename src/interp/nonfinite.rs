//! Watching for the first NaN or infinity: the result of an operation whose
//! operands were all finite. It costs nothing unless it is switched on: a
//! second instance of the instruction loop tests every result.

use super::execute::{InterpState, Operation};
use super::inspect::Reason;
use super::{Crossing, Interpreter};
use crate::failure::Failure;
use crate::host::Outside;
use crate::tape::TapeCallee;
use crate::tape::op::{Instruction, Op, OperandKind};

impl Interpreter {
    /// Returns whether runs stop where a NaN or an infinity appears.
    pub(super) fn is_watching(&self) -> bool {
        self.inspector.as_ref().is_some_and(|inspector| inspector.watches_numbers())
    }

    /// Stops if an operation has produced a NaN or an infinity from finite
    /// operands. Returns whether it has.
    pub(super) fn stop_if_nonfinite(
        &mut self,
        operation: Operation,
        state: &mut InterpState,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<bool, Failure> {
        let is_first = self.were_finite(operation, state.base);
        if is_first {
            self.inspect(state, Reason::Nonfinite(operation.at), compiled, outside)?;
        }
        Ok(is_first)
    }

    /// Stops if a closure of the host has returned a NaN or an infinity for
    /// finite arguments. Returns whether it has.
    pub(super) fn stop_if_host_nonfinite(
        &mut self,
        state: &mut InterpState,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<bool, Failure> {
        let is_first = std::mem::take(&mut self.is_nonfinite) && self.is_watching();
        if is_first {
            self.inspect(state, Reason::Nonfinite(state.at - 1), compiled, outside)?;
        }
        Ok(is_first)
    }

    /// Returns whether the operands of an operation were finite, in the frame
    /// at `base`.
    fn were_finite(&self, operation: Operation, base: usize) -> bool {
        let Some(instruction) = Instruction::decode(&self.code.words()[operation.at..]) else { return false };
        let op = instruction.op;
        if op.takes_accumulator() && !f64::from_bits(operation.accumulator).is_finite() {
            return false;
        }
        let slots = |first: usize, count: usize| self.stack[first..first + count].iter();
        let operands: Vec<_> = instruction.operands().collect();
        let count = operands.len() - usize::from(op.stores());
        let stored = op.stores().then(|| operands[count].1);
        let place = if matches!(op, Op::NextS | Op::NextK) { 0 } else { 2 };
        let loop_variable = op.is_loop().then(|| operands[place].1);
        let mut first = base;
        operands[..count].iter().all(|&(kind, raw)| match kind {
            OperandKind::Slot if stored == Some(raw) => f64::from_bits(operation.stored_over).is_finite(),
            // What overflowed was finite: the instruction loop has tested it.
            OperandKind::Slot if loop_variable == Some(raw) => true,
            OperandKind::Slot => self.stack[base + raw as usize].is_finite(),
            OperandKind::Number => f64::from_bits(raw).is_finite(),
            OperandKind::Frame => {
                first = base + raw as usize;
                true
            }
            OperandKind::Host if op.takes_accumulator() => true,
            OperandKind::Host => {
                let TapeCallee { arity, .. } = self.links.host_target(raw as u32);
                slots(first, arity as usize).all(|argument| argument.is_finite())
            }
            OperandKind::Link
            | OperandKind::Target
            | OperandKind::Callee
            | OperandKind::Variable
            | OperandKind::Site
            | OperandKind::Counter => true,
        })
    }
}
