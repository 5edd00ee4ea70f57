//! A lock for what one thread uses at a time, and nearly always the same one.
//!
//! It is *biased* to the thread that enters first: this one enters with a store and a look at
//! whether it still is the owner, the light side of a [`Fence`]. The first other thread takes the
//! bias away, which is the heavy side, and from then on all enter with an atomic exchange. (After
//! K. Kawachiya, A. Koseki and T. Onodera, "Lock reservation: Java locks can mostly do without
//! atomic operations", 2002; taking away costs a call of the system here, and no signal.)

#[cfg(loom)]
use crate::model::{AtomicBool, AtomicUsize, Fence, thread_address};
use std::sync::atomic::Ordering;
#[cfg(not(loom))]
use {
    super::Fence,
    crate::thread_address::thread_address,
    std::sync::atomic::{AtomicBool, AtomicUsize},
};

/// No thread has entered yet.
const UNOWNED: usize = 0;

/// The bias is being taken away. No thread has this address, or the next.
const REVOKED: usize = 1;

/// No thread uses it as its owner any more.
const SHARED: usize = 2;

/// A lock that is taken or refused, and never waited for.
#[derive(Debug)]
pub struct UseLock {
    /// The address of the thread that it is biased to, or one of the states above.
    owner: AtomicUsize,
    /// Whether the owner uses what is locked, as its owner.
    owner_uses: AtomicBool,
    /// Whether any other thread does, or has just looked.
    others_use: AtomicBool,
    fence: Fence,
}

/// The right to use what is locked, until it is dropped.
#[derive(Debug)]
pub struct Using<'a>(&'a AtomicBool);

impl UseLock {
    /// Creates a lock that no thread has.
    pub fn new() -> Self {
        Self {
            owner: AtomicUsize::new(UNOWNED),
            owner_uses: AtomicBool::new(false),
            others_use: AtomicBool::new(false),
            fence: Fence::new(),
        }
    }

    /// Returns the right to use what is locked; `None` if it is in use, also by this thread.
    #[inline]
    pub fn enter(&self) -> Option<Using<'_>> {
        let thread = thread_address();
        if self.owner.load(Ordering::Relaxed) != thread {
            return self.enter_slowly(thread);
        }
        if self.owner_uses.load(Ordering::Relaxed) {
            return None;
        }
        self.owner_uses.store(true, Ordering::Relaxed);
        // Either this sees that it is the owner no more, or who takes the bias away sees the use.
        self.fence.light();
        if self.owner.load(Ordering::Relaxed) == thread {
            return Some(Using(&self.owner_uses));
        }
        self.owner_uses.store(false, Ordering::Release);
        self.enter_slowly(thread)
    }

    #[cold]
    #[inline(never)]
    fn enter_slowly(&self, thread: usize) -> Option<Using<'_>> {
        let acquire = Ordering::Acquire;
        let mut owner = self.owner.load(Ordering::Acquire);
        if owner == UNOWNED {
            match self.owner.compare_exchange(UNOWNED, thread, acquire, acquire) {
                Ok(_) => return self.enter(),
                Err(other) => owner = other,
            }
        }
        if owner != SHARED {
            // Several threads may come here; each makes sure for itself.
            self.owner.store(REVOKED, Ordering::SeqCst);
            self.fence.heavy();
            self.owner.store(SHARED, Ordering::Release);
        }
        if self.others_use.compare_exchange(false, true, acquire, Ordering::Relaxed).is_err() {
            return None;
        }
        let using = Using(&self.others_use);
        // The owner may still be in the use that it began as its owner.
        (!self.owner_uses.load(Ordering::Acquire)).then_some(using)
    }
}

impl Default for UseLock {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Using<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::thread;

    #[test]
    fn it_is_refused_while_it_is_in_use() {
        let lock = UseLock::new();
        let first = lock.enter().expect("nobody uses it");
        assert!(lock.enter().is_none(), "by its owner");
        thread::scope(|scope| {
            scope.spawn(|| assert!(lock.enter().is_none(), "the owner uses it"));
        });
        assert!(lock.enter().is_none(), "the owner uses it as its owner, though it is that no more");
        drop(first);
        let first = lock.enter().expect("it is used no more");
        assert!(lock.enter().is_none());
        thread::scope(|scope| {
            scope.spawn(|| assert!(lock.enter().is_none()));
        });
        drop(first);
        thread::scope(|scope| {
            scope.spawn(|| drop(lock.enter().expect("it is used no more")));
        });
    }

    #[test]
    fn one_thread_at_a_time_uses_it() {
        for _ in 0..200 {
            let (lock, first, second) = (UseLock::new(), AtomicU64::new(0), AtomicU64::new(0));
            let count = || {
                let mut entered = 0;
                for _ in 0..2_000 {
                    let Some(_using) = lock.enter() else { continue };
                    entered += 1;
                    let before = first.load(Ordering::Relaxed);
                    first.store(before + 1, Ordering::Relaxed);
                    assert_eq!(second.load(Ordering::Relaxed), before, "another thread is here");
                    second.store(before + 1, Ordering::Relaxed);
                }
                entered
            };
            let entered: u64 = thread::scope(|scope| {
                let threads = [scope.spawn(count), scope.spawn(count), scope.spawn(count)];
                threads.map(|thread| thread.join().expect("it is well")).iter().sum()
            });
            assert_eq!(first.load(Ordering::Relaxed), entered, "two threads were here at once");
        }
    }
}
