//! Where compiled code finds what it calls and what it assigns.

use crate::abi;

/// The number of a dispatch slot, the same in every context of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub u32);

impl Slot {
    /// Returns its offset in an execution context, in bytes.
    #[inline]
    pub fn offset(self) -> usize {
        abi::SLOTS + self.0 as usize * 8
    }

    /// Returns the offset of its call counter, in bytes.
    pub fn counter_offset(self) -> usize {
        abi::COUNTERS + self.0 as usize * 4
    }

    /// Returns the offset of the address of its numbers, in bytes.
    pub fn numbers_offset(self) -> usize {
        abi::NUMBERS + self.0 as usize * 8
    }
}

/// The number of a variable, the same in every context of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Variable(pub u32);

impl Variable {
    /// Returns its offset in an execution context, in bytes.
    #[inline]
    pub fn offset(self) -> usize {
        abi::VARIABLES + self.0 as usize * 8
    }
}
