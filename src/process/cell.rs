//! Cells that are filled once, by any thread.

use super::{Activity, within};
use std::sync::OnceLock;

/// A cell that is filled once. No fork comes in between, so that a child never
/// waits for a thread that it does not have.
#[derive(Clone, Debug)]
pub struct SteadyCell<T>(OnceLock<T>);

impl<T> SteadyCell<T> {
    /// Creates an empty cell.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns what is in the cell.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// Fills the cell, if it is empty.
    ///
    /// # Errors
    /// What was not needed: another thread has filled it.
    pub fn set(&self, made: T) -> Result<(), T> {
        within(Activity::Steady, || self.0.set(made))
    }

    /// Returns what is in the cell, after filling it if it is empty. Two threads may
    /// both make something; then the first is kept.
    #[inline]
    pub fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        match self.get() {
            Some(known) => known,
            None => self.fill(make()),
        }
    }

    #[cold]
    fn fill(&self, made: T) -> &T {
        within(Activity::Steady, || self.0.get_or_init(|| made))
    }
}

impl<T> Default for SteadyCell<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for SteadyCell<T> {
    fn from(made: T) -> Self {
        Self(OnceLock::from(made))
    }
}
