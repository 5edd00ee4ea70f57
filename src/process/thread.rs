//! Threads of this library.
//!
//! The standard library has a table of threads, for reports of stack overflows,
//! which each thread enters when it begins and leaves when it ends. A fork copies
//! the lock of that table as it is, and a child that finds it locked could start no
//! thread. So beginning and ending are steady.

use super::{ACTIVITY, Activity, Declared, declare, leave, within};
use crate::float_environment::DefaultEnvironment;
use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering;
use std::thread::{Builder, JoinHandle};

thread_local! {
    /// The end of a thread, until its other ends are done: the standard library's
    /// table comes before destructors of variables.
    static END: Cell<Option<Declared>> = const { Cell::new(None) };
}

/// A thread that begins: steady, from the call that starts it on.
struct ThreadStart;

/// A thread that ends when this is dropped.
struct ThreadEnd;

/// Starts a thread that does `work`.
///
/// # Errors
/// Those of the system.
pub fn spawn(builder: Builder, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    within(Activity::Steady, || {
        let start = ThreadStart::new();
        builder.spawn(move || {
            drop(start);
            let _end = ThreadEnd;
            let _environment = DefaultEnvironment::enter();
            work();
        })
    })
}

impl ThreadStart {
    /// Counts the new thread as steady. The thread that starts it is, so that no fork
    /// is under way.
    fn new() -> Self {
        debug_assert_eq!(ACTIVITY.get(), Activity::Steady, "threads are started steadily");
        super::STEADY.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for ThreadStart {
    fn drop(&mut self) {
        leave(Activity::Steady);
    }
}

impl Drop for ThreadEnd {
    fn drop(&mut self) {
        END.set(Some(declare(Activity::Steady)));
    }
}
