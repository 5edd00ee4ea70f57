//! What `epoch.rs` is compiled over.

pub use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::atomic::{self, Ordering};

/// Whether the fence does anything; without it the model must find the fault.
pub static FENCED: atomic::AtomicBool = atomic::AtomicBool::new(true);

/// A lock without poison, as `parking_lot` has it.
#[derive(Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().expect("nobody panics")
    }
}

/// The fence between what is done often and what is done rarely.
#[derive(Debug)]
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

/// Returns the address of a thread: they are counted here.
pub fn thread_address() -> usize {
    loom::thread_local! {
        static ADDRESS: usize = NEXT.fetch_add(16, Ordering::Relaxed);
    }
    static NEXT: atomic::AtomicUsize = atomic::AtomicUsize::new(16);
    ADDRESS.with(|address| *address)
}

/// A thread; none of the model's is left behind by a fork.
pub struct ThreadIdentity {
    pub generation: u64,
    pub address: usize,
}

impl ThreadIdentity {
    pub fn current() -> Self {
        Self { generation: 0, address: 1 }
    }

    pub fn is_here(self) -> bool {
        true
    }
}
