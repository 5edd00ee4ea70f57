//! A lock that is biased to the thread that enters first, and what it locks.

use crate::model;
use crate::use_lock::UseLock;
use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A lock, and what one thread at a time may change: loom finds two that do.
struct Shared {
    lock: UseLock,
    uses: UnsafeCell<u32>,
}

impl Shared {
    fn new(fence: bool) -> Arc<Self> {
        model::FENCED.store(fence, Ordering::Relaxed);
        Arc::new(Self { lock: UseLock::new(), uses: UnsafeCell::new(0) })
    }

    /// Uses it once, if it is not in use. Returns whether it has.
    fn enter(&self) -> bool {
        let Some(_using) = self.lock.enter() else { return false };
        // SAFETY: the lock is held, or loom finds that two threads are here.
        self.uses.with_mut(|uses| unsafe { *uses += 1 });
        true
    }

    /// Returns a thread that tries to use it a number of times, and returns how often it could.
    fn thread(self: &Arc<Self>, times: usize) -> thread::JoinHandle<usize> {
        let shared = self.clone();
        thread::spawn(move || (0..times).filter(|_| shared.enter()).count())
    }

    fn check(&self, entered: usize) {
        // SAFETY: the threads have ended.
        assert_eq!(self.uses.with(|uses| unsafe { *uses }) as usize, entered);
    }
}

/// The owner uses it while another thread takes the bias away.
fn owner_and_other(fence: bool) {
    loom::model(move || {
        let shared = Shared::new(fence);
        assert!(shared.enter(), "nobody uses it");
        let other = shared.thread(1);
        let own = (0..2).filter(|_| shared.enter()).count();
        let entered = 1 + own + other.join().expect("the other is well");
        shared.check(entered);
        assert!(shared.enter(), "it is used no more");
    });
}

#[test]
fn one_thread_at_a_time_uses_what_is_locked() {
    owner_and_other(true);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn without_the_fence_two_would() {
    owner_and_other(false);
}

/// Two threads take the bias away at once, and one of them may come while the other has not done so.
#[test]
fn two_threads_take_the_bias_away() {
    crate::bounded(|| {
        let shared = Shared::new(true);
        assert!(shared.enter(), "nobody uses it");
        let others = [shared.thread(1), shared.thread(1)];
        let own = usize::from(shared.enter());
        let others = others.map(|other| other.join().expect("the other is well"));
        shared.check(1 + own + others.iter().sum::<usize>());
    });
}

/// No thread has entered yet when two do.
#[test]
fn two_threads_enter_first() {
    loom::model(|| {
        let shared = Shared::new(true);
        let other = shared.thread(1);
        let own = usize::from(shared.enter());
        let entered = own + other.join().expect("the other is well");
        shared.check(entered);
    });
}
