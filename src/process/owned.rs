//! What belongs to a process with its threads.

use super::Generation;
use super::thread::spawn_steady;
use std::io;
use std::mem;
use std::sync::mpsc::{Receiver, channel};
use std::thread::Builder;

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

    /// Returns it; `None` in a child of its process.
    pub fn into_inner(mut self) -> Option<T> {
        if self.generation.is_current() { self.inner.take() } else { None }
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if !self.generation.is_current() {
            mem::forget(self.inner.take());
        }
    }
}

/// Steady work that a thread of its own does, for one that is steady as well and waits for its
/// result in the end. It may take no lock that the waiting thread holds.
#[derive(Debug)]
pub struct Beside<T>(OfProcess<Receiver<T>>);

impl<T: Send + 'static> Beside<T> {
    /// Starts the work, on a thread of that name.
    ///
    /// # Errors
    /// Those of the system.
    pub fn start(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Self> {
        let (done, result) = channel();
        spawn_steady(Builder::new().name(name.into()), move || _ = done.send(work()))?;
        Ok(Self(OfProcess::new(result)))
    }

    /// Returns the result, once it is there; `None` if the work has panicked, or the thread belongs
    /// to another process.
    pub fn wait(self) -> Option<T> {
        self.0.into_inner()?.recv().ok()
    }
}
