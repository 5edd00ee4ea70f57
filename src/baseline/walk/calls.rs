//! Calls: through slots, and of the functions that the compiler knows.

use super::{ACCUMULATOR, OTHER, SIGN, THIRD, Walk, WalkResult, missing};
use crate::abi::{REGISTERS, Symbol};
use crate::baseline::assembler::{
    ANDNPD, ANDPD, JumpCondition, MachineOperand, ORPD, Register, Rounding, SQRTSD, UCOMISD,
};
use crate::baseline::values::WaitingValue;
use crate::host::{Builtin, Intrinsic, pure_symbol};
use crate::processor::Processor;
use crate::sema::checked::CheckedNode;
use crate::syntax::operator::BinaryOp;

impl Walk<'_> {
    /// Returns whether a call of a callee is one of a function of the program.
    pub(super) fn is_call(&self, index: u32) -> bool {
        let callee = self.function.callees[index as usize];
        !self.direct.contains_key(&(callee.name, callee.arity))
    }

    /// Returns whether a node may be compiled to a call, be it of a routine of the process.
    pub(super) fn calls_out(&self, at: usize) -> bool {
        let nodes = &self.function.nodes;
        let after_number = || at.checked_sub(1).is_some_and(|at| matches!(nodes[at], CheckedNode::Number(_)));
        match nodes[at] {
            CheckedNode::Call(index) => {
                let callee = self.function.callees.get(index as usize);
                let direct = callee.and_then(|callee| self.direct.get(&(callee.name, callee.arity)));
                match direct {
                    Some(Builtin::Instruction(intrinsic)) => *intrinsic == Intrinsic::Fmod,
                    Some(builtin) => !(builtin.is_pow() && after_number()),
                    None => true,
                }
            }
            CheckedNode::Binary(BinaryOp::Power) => !after_number(),
            CheckedNode::Binary(op) => op == BinaryOp::Remainder,
            _ => false,
        }
    }

    pub(super) fn call(&mut self, index: u32) -> WalkResult<()> {
        let callee = *self.function.callees.get(index as usize).ok_or_else(missing)?;
        match self.direct.get(&(callee.name, callee.arity)) {
            Some(Builtin::Instruction(intrinsic)) => return self.intrinsic(*intrinsic),
            Some(builtin @ Builtin::Call(_)) if builtin.is_pow() => return self.power(),
            Some(Builtin::Call(function)) => {
                return self.call_routine(&pure_symbol(function.text()), callee.arity as usize);
            }
            None => {}
        }
        self.pass(callee.arity as usize)?;
        self.code.copy_word(Register::Rdi, Register::Rbx);
        let names = self.names;
        self.save_locals();
        self.code.call_slot(Symbol::Slot(&names.text(callee.name), callee.arity));
        self.restore_locals();
        self.push_accumulator();
        Ok(())
    }

    /// Calls a routine of the process, which takes values only.
    pub(super) fn call_routine(&mut self, symbol: &str, arity: usize) -> WalkResult<()> {
        self.pass(arity)?;
        self.save_locals();
        self.code.call_routine(symbol);
        self.restore_locals();
        self.push_accumulator();
        Ok(())
    }

    /// Pops the arguments of a call, and puts them where the callee finds them.
    fn pass(&mut self, arity: usize) -> WalkResult<()> {
        let first = self.values.len().checked_sub(arity).ok_or_else(missing)?;
        let is_passed = |value: &WaitingValue| matches!(value, WaitingValue::Accumulator);
        let of_accumulator = self.values[first..].iter().position(is_passed);
        if of_accumulator.is_none() {
            self.free_accumulator();
        }
        for index in REGISTERS..arity {
            let operand = self.operand_at(first + index)?;
            let place = self.frame.outgoing(index - REGISTERS);
            self.copy(operand, Register::Rsp, place);
        }
        // What is in the accumulator first: it is where the first argument goes.
        let of_accumulator = of_accumulator.filter(|index| *index < REGISTERS);
        if let Some(index) = of_accumulator {
            self.code.load(index as u8, MachineOperand::Vector(ACCUMULATOR));
        }
        for index in (0..arity.min(REGISTERS)).filter(|index| Some(*index) != of_accumulator) {
            let operand = self.operand_at(first + index)?;
            self.code.load(index as u8, operand);
        }
        while self.values.len() > first {
            self.pop()?;
        }
        Ok(())
    }

    /// Returns the operand of a value that stays on the stack.
    fn operand_at(&mut self, height: usize) -> WalkResult<MachineOperand> {
        let value = std::mem::replace(&mut self.values[height], WaitingValue::Settled);
        let operand = self.operand(&value, height);
        self.values[height] = value;
        operand
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic) -> WalkResult<()> {
        match intrinsic {
            Intrinsic::Sqrt => self.unary_op(SQRTSD),
            Intrinsic::Fabs => {
                self.pass(1)?;
                self.code.load(OTHER, MachineOperand::Constant(!SIGN));
                self.code.vector(ANDPD, ACCUMULATOR, MachineOperand::Vector(OTHER));
                self.push_accumulator();
                Ok(())
            }
            Intrinsic::Floor => self.rounded(Rounding::Down, "floor"),
            Intrinsic::Ceil => self.rounded(Rounding::Up, "ceil"),
            Intrinsic::Trunc => self.rounded(Rounding::Zero, "trunc"),
            Intrinsic::Copysign => self.copysign(),
            Intrinsic::Fmod => self.call_routine("fmod", 2),
        }
    }

    fn rounded(&mut self, rounding: Rounding, routine: &str) -> WalkResult<()> {
        if self.options.processor != Processor::Native || !is_x86_feature_detected!("sse4.1") {
            return self.call_routine(routine, 1);
        }
        self.pass(1)?;
        self.code.round(rounding, ACCUMULATOR);
        self.push_accumulator();
        Ok(())
    }

    /// Compiles `copysign`, for which the sign of a NaN is positive: see
    /// [`crate::host::copysign`].
    fn copysign(&mut self) -> WalkResult<()> {
        self.pass(2)?;
        self.code.zero(THIRD);
        self.code.vector(UCOMISD, OTHER, MachineOperand::Vector(OTHER));
        let ordered = self.code.jump_if(JumpCondition::NoParity);
        self.code.load(OTHER, MachineOperand::Vector(THIRD));
        self.code.bind([ordered]);
        self.code.load(THIRD, MachineOperand::Constant(SIGN));
        self.code.vector(ANDPD, OTHER, MachineOperand::Vector(THIRD));
        self.code.vector(ANDNPD, THIRD, MachineOperand::Vector(ACCUMULATOR));
        self.code.vector(ORPD, THIRD, MachineOperand::Vector(OTHER));
        self.code.load(ACCUMULATOR, MachineOperand::Vector(THIRD));
        self.push_accumulator();
        Ok(())
    }
}
