//! The arguments of a call from Rust.

use crate::abi::REGISTERS;

/// The arguments of a call, in memory that is large enough for all argument
/// registers.
#[derive(Clone, Copy, Debug)]
pub struct CallArguments<'a> {
    pub(super) doubles: &'a [f64],
    pub(super) count: usize,
}

impl<'a> CallArguments<'a> {
    /// Wraps the first `count` of these arguments.
    #[inline]
    pub fn few(registers: &'a [f64; REGISTERS], count: u32) -> Self {
        Self { doubles: registers, count: REGISTERS.min(count as usize) }
    }

    /// Wraps any number of arguments, copied to `buffer` if they are few.
    #[inline]
    pub fn new(arguments: &'a [f64], buffer: &'a mut [f64; REGISTERS]) -> Self {
        let count = arguments.len();
        if count > REGISTERS {
            return Self { doubles: arguments, count };
        }
        // One by one: calling the C library to copy a few numbers takes longer.
        match *arguments {
            [] => {}
            [a] => buffer[0] = a,
            [a, b] => (buffer[0], buffer[1]) = (a, b),
            [a, b, c] => (buffer[0], buffer[1], buffer[2]) = (a, b, c),
            _ => buffer[..count].copy_from_slice(arguments),
        }
        Self { doubles: buffer, count }
    }

    /// Returns the arguments.
    #[inline]
    pub fn as_slice(&self) -> &'a [f64] {
        &self.doubles[..self.count]
    }
}
