//! Addresses in this process, as numbers: having one does not mean that it may
//! be read or called.

use std::fmt;

/// An address of code or data in this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Address(u64);

impl Address {
    /// The address with this number.
    pub const fn new(address: u64) -> Self {
        Self(address)
    }

    /// Where `pointer` points. For a function: `f as *const ()`.
    pub fn of<T>(pointer: *const T) -> Self {
        Self(pointer.expose_provenance() as u64)
    }

    /// The number of the address.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The address as a pointer, to be transmuted to a function pointer or read
    /// by those who know what lies there.
    pub const fn as_ptr<T>(self) -> *const T {
        std::ptr::with_exposed_provenance(self.0 as usize)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:#x}", self.0)
    }
}
