//! The frame of baseline code: where locals, waiting values and counts are.

use crate::abi::REGISTERS;
use crate::sema::checked::{CheckedFunction, CheckedNode};

/// The distance of the first argument on the stack from the frame pointer.
const PASSED: i32 = 16;

/// The distance of the first slot of the frame from the frame pointer.
const FIRST: i32 = -16;

/// The layout of a frame. Slots are numbered downwards.
pub(super) struct Frame {
    arity: usize,
    locals: usize,
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
        Self { arity, locals, fixed, before: locals + 2, values: 0, outgoing: 0 }
    }

    fn slot(index: usize) -> i32 {
        FIRST - 8 * index as i32
    }

    /// Returns the distance of a local from the frame pointer.
    pub(super) fn local(&self, local: u32) -> i32 {
        match (local as usize).checked_sub(REGISTERS) {
            Some(index) if (local as usize) < self.arity => PASSED + 8 * index as i32,
            _ => Self::slot(local as usize),
        }
    }

    /// Returns the distance of the count of iterations.
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
