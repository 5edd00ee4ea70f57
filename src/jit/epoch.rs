//! Epoch-based reclamation of code.
//!
//! Code that no slot points to any more cannot be *entered*, but its frames may
//! be on some thread's stack. Every run records the epoch in which it began;
//! code that is retired in epoch *e* is freed when no run is left that began in
//! *e* or before. Code that only one context has used waits for no run but that
//! of this context. (The scheme is that of K. Fraser, "Practical lock-freedom",
//! 2004, section 5.2.3, with runs as critical regions.)

#[cfg(loom)]
use crate::model::{AtomicU64, AtomicUsize, Fence, Mutex, ThreadIdentity};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
#[cfg(not(loom))]
use {
    crate::process::ThreadIdentity,
    crate::runtime::Fence,
    parking_lot::Mutex,
    std::sync::atomic::{AtomicU64, AtomicUsize},
};

/// No run in progress.
const IDLE: u64 = u64::MAX;

/// The epoch in which a context's current run began, and the garbage that only
/// this context has used.
pub(super) struct RunEpoch<T> {
    began: AtomicU64,
    /// The thread of the last run, and its generation.
    thread: AtomicUsize,
    generation: AtomicU64,
    garbage: Mutex<Vec<T>>,
    /// The number of items in `garbage`, for a quick unlocked test.
    waiting: AtomicUsize,
}

impl<T> RunEpoch<T> {
    /// Returns the epoch in which the run in progress began; `None` without one.
    /// In a forked child, the runs of its parent's other threads do not go on.
    fn began(&self) -> Option<u64> {
        let began = self.began.load(Ordering::SeqCst);
        let thread = || ThreadIdentity {
            generation: self.generation.load(Ordering::Relaxed),
            address: self.thread.load(Ordering::Relaxed),
        };
        (began != IDLE && thread().is_here()).then_some(began)
    }
}

/// The epochs of an engine, and its garbage. `T` is freed by dropping it.
pub(super) struct Epochs<T> {
    now: AtomicU64,
    runs: Mutex<Vec<Weak<RunEpoch<T>>>>,
    garbage: Mutex<Vec<(u64, T)>>,
    /// The number of items in `garbage`, for a quick unlocked test.
    waiting: AtomicUsize,
    fence: Fence,
}

impl<T> Epochs<T> {
    pub(super) fn new() -> Self {
        Self {
            now: AtomicU64::new(0),
            runs: Mutex::default(),
            garbage: Mutex::default(),
            waiting: AtomicUsize::new(0),
            fence: Fence::new(),
        }
    }

    /// Registers a context, idle at first.
    pub(super) fn join(&self) -> Arc<RunEpoch<T>> {
        let run = Arc::new(RunEpoch {
            began: AtomicU64::new(IDLE),
            thread: AtomicUsize::new(0),
            generation: AtomicU64::new(0),
            garbage: Mutex::default(),
            waiting: AtomicUsize::new(0),
        });
        let mut runs = self.runs.lock();
        if runs.len() == runs.capacity() {
            // Amortised: each is visited once for each that is added.
            runs.retain(|other| other.strong_count() > 0);
            let present = runs.len();
            runs.reserve(present + 1);
        }
        runs.push(Arc::downgrade(&run));
        run
    }

    /// Marks the beginning of a run. Returns `false`, without effect, if one is
    /// in progress already. The code to enter must be looked up after this
    /// call.
    #[inline]
    pub(super) fn begin(&self, run: &RunEpoch<T>) -> bool {
        if run.began.load(Ordering::Relaxed) != IDLE {
            return false;
        }
        let thread = ThreadIdentity::current();
        run.thread.store(thread.address, Ordering::Relaxed);
        run.generation.store(thread.generation, Ordering::Relaxed);
        run.began.store(self.now.load(Ordering::SeqCst), Ordering::Relaxed);
        // Before the code to enter is looked up.
        self.fence.light();
        true
    }

    /// Marks the end of a run for which [`begin`](Self::begin) returned `true`,
    /// and frees what only that run kept. Garbage that another thread retires
    /// at the same moment may be left to the end of the next run.
    #[inline]
    pub(super) fn end(&self, run: &RunEpoch<T>) {
        run.began.store(IDLE, Ordering::Release);
        if run.waiting.load(Ordering::Relaxed) != 0 {
            self.collect_of(run);
        }
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.collect();
        }
    }

    /// Retires something that no run can enter from now on.
    pub(super) fn retire(&self, garbage: T) {
        let mut waiting = self.garbage.lock();
        let epoch = self.now.fetch_add(1, Ordering::SeqCst);
        waiting.push((epoch, garbage));
        self.waiting.store(waiting.len(), Ordering::Relaxed);
        drop(waiting);
        self.collect();
    }

    /// Retires something that only the context of that run has used, and that it
    /// cannot enter from now on.
    pub(super) fn retire_of(&self, run: &RunEpoch<T>, garbage: T) {
        let mut waiting = run.garbage.lock();
        waiting.push(garbage);
        run.waiting.store(waiting.len(), Ordering::Relaxed);
        drop(waiting);
        self.collect_of(run);
    }

    /// Frees the garbage of one context, if that is not running.
    fn collect_of(&self, run: &RunEpoch<T>) {
        let mut garbage = run.garbage.lock();
        let mut freed = std::mem::take(&mut *garbage);
        run.waiting.store(0, Ordering::Relaxed);
        drop(garbage);
        // After the last pointer to the garbage is gone.
        self.fence.heavy();
        if run.began().is_some() {
            let mut garbage = run.garbage.lock();
            garbage.append(&mut freed);
            run.waiting.store(garbage.len(), Ordering::Relaxed);
        }
        // Freeing takes other locks.
        drop(freed);
    }

    /// Frees the garbage that no run can still be in.
    fn collect(&self) {
        let oldest = self.oldest();
        let mut garbage = self.garbage.lock();
        if garbage.first().is_none_or(|(epoch, _)| *epoch >= oldest) {
            return;
        }
        let kept = garbage.partition_point(|(epoch, _)| *epoch < oldest);
        let freed: Vec<_> = garbage.drain(..kept).collect();
        self.waiting.store(garbage.len(), Ordering::Relaxed);
        // Freeing takes other locks.
        drop(garbage);
        drop(freed);
    }

    /// Returns the number of items that wait to be freed.
    pub(super) fn waiting(&self) -> usize {
        let runs = self.runs.lock();
        let of_contexts =
            runs.iter().filter_map(Weak::upgrade).map(|run| run.waiting.load(Ordering::Relaxed));
        of_contexts.sum::<usize>() + self.waiting.load(Ordering::Relaxed)
    }

    /// Returns the epoch before which no run in progress began. A run that
    /// begins during the search may enter what is retired later, so the current
    /// epoch is an upper bound.
    fn oldest(&self) -> u64 {
        let now = self.now.load(Ordering::SeqCst);
        // After the last pointer to the garbage is gone.
        self.fence.heavy();
        let runs = self.runs.lock();
        let runs = runs.iter().filter_map(Weak::upgrade);
        runs.filter_map(|run| run.began()).min().unwrap_or(IDLE).min(now)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct DropCounter(Arc<AtomicU64>);

    impl Drop for DropCounter {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn nothing_is_freed_under_a_run_that_began_before() {
        let freed = Arc::new(AtomicU64::new(0));
        let epochs = Epochs::new();
        let (early, late) = (epochs.join(), epochs.join());
        assert!(epochs.begin(&early));
        epochs.retire(DropCounter(freed.clone()));
        assert!(epochs.begin(&late));
        assert_eq!((freed.load(Ordering::SeqCst), epochs.waiting()), (0, 1));
        epochs.end(&early);
        assert_eq!((freed.load(Ordering::SeqCst), epochs.waiting()), (1, 0), "the late run began after it");
    }

    #[test]
    fn what_one_context_has_used_waits_for_no_other() {
        let freed = Arc::new(AtomicU64::new(0));
        let epochs = Epochs::new();
        let (long, short) = (epochs.join(), epochs.join());
        assert!(epochs.begin(&long));
        epochs.retire_of(&short, DropCounter(freed.clone()));
        assert_eq!(freed.load(Ordering::SeqCst), 1, "it is idle");
        assert!(epochs.begin(&short));
        for _ in 0..3 {
            epochs.retire_of(&short, DropCounter(freed.clone()));
        }
        assert_eq!(freed.load(Ordering::SeqCst), 1);
        epochs.end(&short);
        assert_eq!(freed.load(Ordering::SeqCst), 4);
        epochs.retire_of(&long, DropCounter(freed.clone()));
        assert_eq!(freed.load(Ordering::SeqCst), 4);
        drop(long);
        assert_eq!(freed.load(Ordering::SeqCst), 5, "the context is gone");
    }

    #[test]
    fn an_inner_run_does_not_end_the_outer_one() {
        let freed = Arc::new(AtomicU64::new(0));
        let epochs = Epochs::new();
        let run = epochs.join();
        assert!(epochs.begin(&run));
        assert!(!epochs.begin(&run));
        epochs.retire(DropCounter(freed.clone()));
        assert_eq!(freed.load(Ordering::SeqCst), 0);
        epochs.end(&run);
        assert_eq!(freed.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn an_idle_engine_frees_at_once_and_a_dropped_context_does_not_hold_anything() {
        let freed = Arc::new(AtomicU64::new(0));
        let epochs = Epochs::new();
        let run = epochs.join();
        epochs.retire(DropCounter(freed.clone()));
        assert_eq!(freed.load(Ordering::SeqCst), 1);
        epochs.begin(&run);
        drop(run);
        epochs.retire(DropCounter(freed.clone()));
        assert_eq!(freed.load(Ordering::SeqCst), 2);
    }
}
