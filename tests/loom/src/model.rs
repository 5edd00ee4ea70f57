//! What `epoch.rs` is compiled over.

pub use loom::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the fence does anything; without it the model must find the fault.
pub static FENCED: AtomicBool = AtomicBool::new(true);

/// A lock without poison, as `parking_lot` has it.
#[derive(Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().expect("nobody panics")
    }
}

/// The fence between what is done often and what is done rarely.
pub struct Fence;

impl Fence {
    pub fn new() -> Self {
        Self
    }

    pub fn light(&self) {
        fence();
    }

    pub fn heavy(&self) {
        fence();
    }
}

fn fence() {
    if FENCED.load(Ordering::Relaxed) {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// The number of a thread; none of the model's is left behind by a fork.
pub struct ThreadNumber(pub u64);

impl ThreadNumber {
    pub fn current() -> Self {
        Self(1)
    }

    pub fn is_here(self) -> bool {
        true
    }
}
