//! The memory that programs work on: the interface of the interpreter and of
//! compiled code to it. How compiled code finds its parts is in `abi::layout`.

#[cfg(feature = "compiler")]
mod layout;

use crate::name::Name;
use crate::stop::Stoppable;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize};

#[cfg(feature = "compiler")]
pub use layout::*;

/// The memory that the program of a context works on, shared by compiled code
/// and the interpreter.
pub trait Memory: Stoppable {
    /// Returns the variables, by their numbers.
    fn variables(&self) -> &[AtomicU64];

    /// Returns the remaining function entries and loop iterations, where they
    /// are counted.
    fn fuel(&self) -> &AtomicI64;

    /// Returns the stack limit of the interpreter, in slots. Zero forces the
    /// next safepoint poll to take its slow path.
    fn interp_limit(&self) -> &AtomicUsize;

    /// Returns a word that is not 0 once code has become ready that the
    /// interpreter may wait for.
    fn code_ready(&self) -> &AtomicUsize;
}

/// The numbers of variables: the same in every context of an engine.
#[derive(Debug, Default)]
pub struct Variables(Mutex<FxHashMap<Name, u32>>);

impl Variables {
    /// Returns the number of a variable; `None` if there are too many.
    pub fn number(&self, name: Name) -> Option<u32> {
        let mut numbers = self.0.lock();
        let next = numbers.len();
        if let Some(number) = numbers.get(&name) {
            return Some(*number);
        }
        (next < VARIABLE_COUNT).then(|| *numbers.entry(name).or_insert(next as u32))
    }

    /// Returns how many variables have a number.
    pub fn count(&self) -> usize {
        self.0.lock().len()
    }
}

/// The number of variables.
pub const VARIABLE_COUNT: usize = 1 << 20;
