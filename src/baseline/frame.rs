//! The frame of baseline code: where locals, waiting values and counts are.

use super::assembler::{MachineOperand, Register, Vector};
use crate::abi::REGISTERS;
use crate::sema::checked::{CheckedFunction, CheckedNode};
use std::cmp::Reverse;
use std::ops::RangeInclusive;

/// The distance of the first argument on the stack from the frame pointer.
const PASSED: i32 = 16;

/// The distance of the first slot of the frame from the frame pointer.
const FIRST: i32 = -16;

/// The vector registers that locals may be in: no argument is passed in them.
const OF_LOCALS: RangeInclusive<Vector> = 8..=15;

/// The layout of a frame, and which locals are in registers. Slots are numbered downwards.
pub(super) struct Frame {
    arity: usize,
    locals: usize,
    /// The registers of locals; 0 for those that have none.
    registers: Box<[Vector]>,
    /// Whether each local is a parameter that is never assigned.
    fixed: Box<[bool]>,
    /// The slots before the values: those of locals, a count and an address.
    before: usize,
    /// The most values that wait at once.
    values: usize,
    /// The most arguments that are passed on the stack.
    outgoing: usize,
}

impl Frame {
    pub(super) fn of(function: &CheckedFunction) -> Self {
        let (arity, locals) = (function.arity() as usize, function.locals as usize);
        let mut fixed: Box<[bool]> = (0..locals).map(|local| local < arity).collect();
        for node in &function.nodes {
            if let CheckedNode::SetLocal(local) | CheckedNode::ForVariable(local) | CheckedNode::Bind(local) =
                node
                && let Some(fixed) = fixed.get_mut(*local as usize)
            {
                *fixed = false;
            }
        }
        Self { arity, locals, registers: Box::default(), fixed, before: locals + 2, values: 0, outgoing: 0 }
    }

    fn slot(index: usize) -> i32 {
        FIRST - 8 * index as i32
    }

    /// Assigns a register to each of the locals that are used most, as far as there are registers.
    pub(super) fn take_registers(&mut self, uses: &[u32]) {
        let is_passed_in_memory = |local: usize| local >= REGISTERS && local < self.arity;
        let used = uses.iter().enumerate().filter(|(local, uses)| **uses > 0 && !is_passed_in_memory(*local));
        let mut used: Vec<_> = used.map(|(local, uses)| (Reverse(*uses), local)).collect();
        used.sort_unstable();
        let mut registers = vec![0; self.locals];
        for ((_, local), register) in used.into_iter().zip(OF_LOCALS) {
            registers[local] = register;
        }
        self.registers = registers.into();
    }

    /// Returns the register that the count of iterations is in, where locals are in some.
    pub(super) fn iterations_register(&self) -> Option<Register> {
        self.registers.iter().any(|register| *register > 0).then_some(Register::Rcx)
    }

    /// Returns the register that a local is in.
    pub(super) fn register(&self, local: u32) -> Option<Vector> {
        self.registers.get(local as usize).copied().filter(|register| *register > 0)
    }

    /// Returns where a local is.
    pub(super) fn home(&self, local: u32) -> MachineOperand {
        let in_frame = || MachineOperand::At(Register::Rbp, self.local(local));
        self.register(local).map_or_else(in_frame, MachineOperand::Vector)
    }

    /// Returns the distance of a local from the frame pointer; of one in a register, where it is
    /// during calls.
    pub(super) fn local(&self, local: u32) -> i32 {
        match (local as usize).checked_sub(REGISTERS) {
            Some(index) if (local as usize) < self.arity => PASSED + 8 * index as i32,
            _ => Self::slot(local as usize),
        }
    }

    /// Returns the distance of the count of iterations; where it is during calls, if it is in a
    /// register.
    pub(super) fn iterations(&self) -> i32 {
        Self::slot(self.locals)
    }

    /// Returns the distance of the address of the numbers, where they are loaded.
    pub(super) fn numbers(&self) -> i32 {
        Self::slot(self.locals + 1)
    }

    /// Returns the distance of the value at a height of the stack of values.
    pub(super) fn value(&mut self, height: usize) -> i32 {
        self.values = self.values.max(height + 1);
        Self::slot(self.before + height)
    }

    /// Returns whether a local never changes.
    pub(super) fn is_fixed(&self, local: u32) -> bool {
        self.fixed.get(local as usize) == Some(&true)
    }

    /// Returns the distance of an argument beyond the registers, that of the index after
    /// them, from the stack pointer.
    pub(super) fn outgoing(&mut self, index: usize) -> i32 {
        self.outgoing = self.outgoing.max(index + 1);
        8 * index as i32
    }

    /// Returns how far the stack pointer is below the saved registers, in bytes: such that
    /// it is a multiple of 16.
    pub(super) fn size(&self) -> usize {
        let words = self.before + self.values + self.outgoing;
        8 * (words | 1)
    }

    /// Returns a size that the frame of a function cannot exceed, in bytes.
    pub(super) fn bound(&self, function: &CheckedFunction) -> usize {
        let arguments = function.callees.iter().map(|callee| callee.arity as usize).max();
        // A loop that is left passes on all locals and values.
        let most = 2 * (self.before + function.nodes.len()) + arguments.unwrap_or(0);
        8 * (most + 2)
    }
}
