//! The arguments of a call from Rust.
#![allow(unsafe_code)]

use crate::abi::REGISTERS;
use std::marker::PhantomData;

/// The arguments of a call, in memory that is large enough for all argument
/// registers. Two words, which are passed in registers: to copy three that have just been
/// written takes as long as half of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallArguments<'a> {
    /// As many numbers as are counted, and no less than there are argument registers.
    doubles: *const f64,
    count: usize,
    borrowed: PhantomData<&'a [f64]>,
}

impl<'a> CallArguments<'a> {
    /// Wraps the first `count` of these arguments.
    #[inline]
    pub fn few(registers: &'a [f64; REGISTERS], count: u32) -> Self {
        let count = REGISTERS.min(count as usize);
        Self { doubles: registers.as_ptr(), count, borrowed: PhantomData }
    }

    /// Wraps any number of arguments, copied to `buffer` if they are few.
    #[inline]
    pub fn new(arguments: &'a [f64], buffer: &'a mut [f64; REGISTERS]) -> Self {
        let count = arguments.len();
        if count > REGISTERS {
            return Self { doubles: arguments.as_ptr(), count, borrowed: PhantomData };
        }
        // One by one: calling the C library to copy a few numbers takes longer.
        match *arguments {
            [] => {}
            [a] => buffer[0] = a,
            [a, b] => (buffer[0], buffer[1]) = (a, b),
            [a, b, c] => (buffer[0], buffer[1], buffer[2]) = (a, b, c),
            _ => buffer[..count].copy_from_slice(arguments),
        }
        Self { doubles: buffer.as_ptr(), count, borrowed: PhantomData }
    }

    /// Returns the arguments.
    #[inline]
    pub fn as_slice(&self) -> &'a [f64] {
        // SAFETY: there are that many numbers, which are borrowed as long.
        unsafe { std::slice::from_raw_parts(self.doubles, self.count) }
    }

    /// Returns what goes to the argument registers.
    #[inline]
    pub(super) fn registers(&self) -> &'a [f64; REGISTERS] {
        // SAFETY: there are at least that many numbers, which are borrowed as long.
        unsafe { &*self.doubles.cast() }
    }

    /// Returns the address of the arguments.
    pub(super) fn address(&self) -> *const f64 {
        self.doubles
    }

    /// Returns the number of arguments that do not go to registers.
    #[inline]
    pub(super) fn beyond_registers(&self) -> usize {
        self.count.saturating_sub(REGISTERS)
    }
}
