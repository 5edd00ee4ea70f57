//! The seam to the process that code lives in: what happens around forks, and which work
//! nothing may interrupt.

#![allow(unsafe_code)]

use std::fmt;
use std::sync::Once;

/// Callbacks around a fork, on the thread that forks, while no other thread
/// uses what registered them. They may only do what a signal handler may.
#[derive(Clone, Copy, Debug)]
pub struct ForkCallbacks {
    /// Before the fork.
    pub before: extern "C" fn(),
    /// After it, in the parent.
    pub in_parent: extern "C" fn(),
    /// After it, in the child.
    pub in_child: extern "C" fn(),
}

/// A process that knows what its threads do, so that forks and exits can wait
/// for them. [`Unwatched`] is for those that do not.
pub trait Host: fmt::Debug + Send + Sync {
    /// Registers callbacks for every fork. Called for every slab, with the
    /// same callbacks.
    fn at_fork(&self, callbacks: ForkCallbacks);

    /// Runs `work` once; a fork or an exit waits for its end. It is brief, and
    /// waits for no other thread.
    fn steady(&self, work: &mut dyn FnMut());

    /// Runs `work` once, which waits for another thread that compiles; a
    /// fork or an exit does not wait for its end.
    fn waiting(&self, work: &mut dyn FnMut());
}

/// A host that counts on the program: it forks only while no other thread places code or
/// compiles, and exits only when none compiles.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Host for Unwatched {
    fn at_fork(&self, callbacks: ForkCallbacks) {
        static REGISTERED: Once = Once::new();
        // SAFETY: `pthread_atfork` keeps the functions, which stay as long as
        // the library. Rust's `extern "C" fn()` is what it calls them as.
        REGISTERED.call_once(|| unsafe {
            let ForkCallbacks { before, in_parent, in_child } = callbacks;
            libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child));
        });
    }

    fn steady(&self, work: &mut dyn FnMut()) {
        work();
    }

    fn waiting(&self, work: &mut dyn FnMut()) {
        work();
    }
}

/// Runs `work` through a method of a host; returns its result.
///
/// # Panics
/// If the host does not run it.
pub fn through<T>(run: impl FnOnce(&mut dyn FnMut()), work: impl FnOnce() -> T) -> T {
    let (mut work, mut result) = (Some(work), None);
    run(&mut || result = work.take().map(|work| work()));
    result.expect("a host runs what it is given")
}
