//! The arguments of a call from Rust.

/// The arguments of a call, in memory that is large enough for all argument
/// registers.
#[derive(Clone, Copy, Debug)]
pub struct CallArguments<'a> {
    pub(super) doubles: &'a [f64],
    pub(super) count: usize,
}

/// The number of arguments passed in registers.
pub const REGISTERS: usize = 8;

impl<'a> CallArguments<'a> {
    /// Wraps the first `count` of these arguments.
    #[inline]
    pub fn few(registers: &'a [f64; REGISTERS], count: u32) -> Self {
        Self { doubles: registers, count: REGISTERS.min(count as usize) }
    }

    /// Wraps any number of arguments, copied to `buffer` if they are few.
    pub fn new(arguments: &'a [f64], buffer: &'a mut [f64; REGISTERS]) -> Self {
        let count = arguments.len();
        match buffer.get_mut(..count) {
            Some(start) => {
                start.copy_from_slice(arguments);
                Self { doubles: buffer, count }
            }
            None => Self { doubles: arguments, count },
        }
    }

    /// Returns the arguments.
    #[inline]
    pub fn as_slice(&self) -> &'a [f64] {
        &self.doubles[..self.count]
    }
}
