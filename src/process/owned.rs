//! What belongs to a process with its threads.

use super::Generation;
use std::mem;

/// What belongs to a process with its threads. In its children, it is never dropped: a thread
/// that they do not have may hold a lock of it.
#[derive(Debug)]
pub struct OfProcess<T> {
    inner: Option<T>,
    generation: Generation,
}

impl<T> OfProcess<T> {
    /// Creates what belongs to this process.
    pub fn new(inner: T) -> Self {
        Self { inner: Some(inner), generation: Generation::current() }
    }

    /// Returns it; `None` in a child of its process.
    pub fn get(&self) -> Option<&T> {
        self.inner.as_ref().filter(|_| self.generation.is_current())
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if !self.generation.is_current() {
            mem::forget(self.inner.take());
        }
    }
}
