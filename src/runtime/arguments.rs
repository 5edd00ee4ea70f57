//! The arguments of a call from Rust.
#![allow(unsafe_code)]

use crate::abi::REGISTERS;
use std::marker::PhantomData;

/// The arguments of a call. Two words, which are passed in registers: to copy three that have just
/// been written takes as long as half of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallArguments<'a> {
    doubles: *const f64,
    /// How many there are, and [`HAS_ROOM`].
    count: usize,
    borrowed: PhantomData<&'a [f64]>,
}

/// Says that memory for all argument registers begins at the first number. No slice is that long.
const HAS_ROOM: usize = 1 << (usize::BITS - 1);

impl<'a> CallArguments<'a> {
    /// Wraps the first `count` of these arguments.
    #[inline]
    pub fn few(registers: &'a [f64; REGISTERS], count: u32) -> Self {
        let count = REGISTERS.min(count as usize) | HAS_ROOM;
        Self { doubles: registers.as_ptr(), count, borrowed: PhantomData }
    }

    /// Wraps any number of arguments.
    #[inline]
    pub fn new(arguments: &'a [f64]) -> Self {
        Self { doubles: arguments.as_ptr(), count: arguments.len(), borrowed: PhantomData }
    }

    /// Returns the number of arguments.
    #[inline]
    pub fn count(&self) -> usize {
        self.count & !HAS_ROOM
    }

    /// Returns the arguments.
    #[inline]
    pub fn as_slice(&self) -> &'a [f64] {
        // SAFETY: there are that many numbers, which are borrowed as long.
        unsafe { std::slice::from_raw_parts(self.doubles, self.count()) }
    }

    /// Returns what goes to the argument registers, copied to `buffer` if there are fewer arguments.
    /// Behind it are the others.
    #[inline]
    pub(super) fn in_registers(&self, buffer: &'a mut [f64; REGISTERS]) -> &'a [f64; REGISTERS] {
        if self.count >= REGISTERS {
            // SAFETY: that many numbers are there, also where they have room, and borrowed as long.
            return unsafe { &*self.doubles.cast() };
        }
        match *self.as_slice() {
            // One by one: calling the C library to copy a few numbers takes longer.
            [] => {}
            [a] => buffer[0] = a,
            [a, b] => (buffer[0], buffer[1]) = (a, b),
            [a, b, c] => (buffer[0], buffer[1], buffer[2]) = (a, b, c),
            ref arguments => buffer[..arguments.len()].copy_from_slice(arguments),
        }
        buffer
    }

    /// Returns the number of arguments that do not go to registers.
    #[inline]
    pub(super) fn beyond_registers(&self) -> usize {
        self.count().saturating_sub(REGISTERS)
    }
}
