//! Watching for the first NaN or infinity: the result of an operation whose
//! operands were all finite. What is not watched for costs nothing: there is an
//! instance of the loop of its own that looks at every result.

use super::execute::{Operation, State};
use super::inspect::Reason;
use super::{Interpreter, Natives};
use crate::failure::Failure;
use crate::host::Output;
use crate::tape::Callee;
use crate::tape::op::{Instruction, Kind, Op};

impl Interpreter {
    /// Whether runs stop where a NaN or an infinity appears.
    pub(super) fn is_watching(&self) -> bool {
        self.inspector.as_ref().is_some_and(|inspector| inspector.watches_numbers())
    }

    /// Asks how the run goes on if an operation has come from finite numbers to
    /// one that is not.
    pub(super) fn look_at(
        &mut self,
        operation: Operation,
        state: &mut State,
        natives: &mut dyn Natives,
        output: &mut dyn Output,
    ) -> Result<bool, Failure> {
        let is_first = self.were_finite(operation, state.base);
        if is_first {
            self.inspect(state, Reason::Nonfinite(operation.at), natives, output)?;
        }
        Ok(is_first)
    }

    /// The same after a closure of the host has returned.
    pub(super) fn look_at_host(
        &mut self,
        state: &mut State,
        natives: &mut dyn Natives,
        output: &mut dyn Output,
    ) -> Result<bool, Failure> {
        let is_first = std::mem::take(&mut self.is_nonfinite) && self.is_watching();
        if is_first {
            self.inspect(state, Reason::Nonfinite(state.at - 1), natives, output)?;
        }
        Ok(is_first)
    }

    /// Whether the operands of an operation were finite, in the frame at `base`.
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
            Kind::Slot if stored == Some(raw) => f64::from_bits(operation.stored_over).is_finite(),
            // What overflowed was finite: the loop has looked.
            Kind::Slot if loop_variable == Some(raw) => true,
            Kind::Slot => self.stack[base + raw as usize].is_finite(),
            Kind::Number => f64::from_bits(raw).is_finite(),
            Kind::Frame => {
                first = base + raw as usize;
                true
            }
            Kind::Host if op.takes_accumulator() => true,
            Kind::Host => {
                let Callee { arity, .. } = self.links.host_target(raw as u32);
                slots(first, arity as usize).all(|argument| argument.is_finite())
            }
            Kind::Link | Kind::Target | Kind::Callee | Kind::Variable | Kind::Site | Kind::Counter => true,
        })
    }
}
