//! Addresses in this process, as numbers: an address alone does not permit
//! reading or calling it.

use std::fmt;

/// An address of code or data in this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Address(u64);

impl Address {
    /// Creates an address from its number.
    pub const fn new(address: u64) -> Self {
        Self(address)
    }

    /// Returns the address of what `pointer` points to. For a function: `f as
    /// *const ()`.
    pub fn of<T>(pointer: *const T) -> Self {
        Self(pointer.expose_provenance() as u64)
    }

    /// Returns the address as a number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the address as a pointer, to be transmuted to a function
    /// pointer, or read by code that knows what is stored there.
    pub const fn as_ptr<T>(self) -> *const T {
        std::ptr::with_exposed_provenance(self.0 as usize)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:#x}", self.0)
    }
}
