//! The lock-free parts of Kal in every order in which threads may see them:
//! `make loom`.
//!
//! `src/jit/epoch.rs` and `src/runtime/use_lock.rs` are compiled here over loom's atomics. Slots are what
//! they are in an execution context: one word, stored with release, loaded
//! with acquire. The fence between frequent and rare (`src/runtime/fence.rs`)
//! is a full one on both sides, which is what the system call makes of the
//! light side.
#![cfg(all(loom, test))]

#[path = "../../../src/jit/epoch.rs"]
#[allow(dead_code, reason = "the model uses what runs use")]
mod epoch;
mod model;
mod requests;
#[path = "../../../src/runtime/use_lock.rs"]
#[allow(dead_code, reason = "the model needs no default")]
mod use_lock;
mod uses;

use epoch::{Epochs, RunEpoch};
use loom::sync::atomic::AtomicUsize;
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Code that says when it has been freed.
struct Code(Arc<AtomicBool>);

impl Drop for Code {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An engine with a slot and the two pieces of code that it leads to, one
/// after the other.
#[derive(Clone)]
struct Engine {
    epochs: Arc<Epochs<Code>>,
    slot: Arc<AtomicUsize>,
    freed: [Arc<AtomicBool>; 2],
}

impl Engine {
    fn new() -> Self {
        Self {
            epochs: Arc::new(Epochs::new()),
            slot: Arc::new(AtomicUsize::new(0)),
            freed: Default::default(),
        }
    }

    /// Returns a thread that enters code through the slot; it must not be freed
    /// meanwhile.
    fn run(&self) -> thread::JoinHandle<()> {
        self.run_of(self.epochs.join())
    }

    /// Does the same in a given context.
    fn run_of(&self, activity: Arc<RunEpoch<Code>>) -> thread::JoinHandle<()> {
        let engine = self.clone();
        thread::spawn(move || {
            assert!(engine.epochs.begin(&activity));
            let code = engine.slot.load(Ordering::Acquire);
            thread::yield_now();
            assert!(!engine.freed[code].load(Ordering::Relaxed), "freed under a run");
            engine.epochs.end(&activity);
        })
    }

    /// Redirects the slot and retires the code that it led to.
    fn redirect(&self) {
        self.slot.store(1, Ordering::Release);
        self.epochs.retire(Code(self.freed[0].clone()));
    }
}

/// Checks what three threads do, with as many preemptions as finish in seconds.
fn bounded(check: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(check);
}

/// Enters code through a slot while another thread redirects the slot and
/// retires the code. With `fence`, it is never freed under the run.
fn redirect_while_running(fence: bool) {
    loom::model(move || {
        model::FENCED.store(fence, Ordering::Relaxed);
        let engine = Engine::new();
        let runner = engine.run();
        engine.redirect();
        runner.join().expect("the runner is well");
        engine.epochs.retire(Code(Arc::default()));
        assert!(engine.freed[0].load(Ordering::Relaxed), "never freed");
        assert!(!engine.freed[1].load(Ordering::Relaxed));
    });
}

#[test]
fn code_is_not_freed_under_a_run() {
    redirect_while_running(true);
}

#[test]
#[should_panic(expected = "freed under a run")]
fn without_the_fence_it_would_be() {
    redirect_while_running(false);
}

/// A third thread frees what it can while the run begins: what it has seen
/// idle may have entered code by the time it frees.
#[test]
fn code_is_not_freed_under_a_run_that_begins_while_another_thread_frees() {
    bounded(|| {
        model::FENCED.store(true, Ordering::Relaxed);
        let engine = Engine::new();
        let collector = {
            let epochs = engine.epochs.clone();
            thread::spawn(move || epochs.retire(Code(Arc::default())))
        };
        let runner = engine.run();
        engine.redirect();
        runner.join().expect("the runner is well");
        collector.join().expect("the collector is well");
    });
}

/// The same for code that only the context of the run has used: it waits for no
/// other, and is freed by whoever comes last.
fn redirect_alone_while_running(fence: bool) {
    loom::model(move || {
        model::FENCED.store(fence, Ordering::Relaxed);
        let engine = Engine::new();
        let (activity, other) = (engine.epochs.join(), engine.epochs.join());
        assert!(engine.epochs.begin(&other));
        let runner = engine.run_of(activity.clone());
        engine.slot.store(1, Ordering::Release);
        engine.epochs.retire_of(&activity, Code(engine.freed[0].clone()));
        runner.join().expect("the runner is well");
        engine.epochs.retire_of(&activity, Code(Arc::default()));
        assert!(engine.freed[0].load(Ordering::Relaxed), "never freed");
    });
}

#[test]
fn code_of_one_context_is_not_freed_under_its_run() {
    redirect_alone_while_running(true);
}

#[test]
#[should_panic(expected = "freed under a run")]
fn without_the_fence_that_would_be_too() {
    redirect_alone_while_running(false);
}

#[test]
fn code_of_one_context_that_two_threads_retire_is_not_freed_under_its_run() {
    bounded(|| {
        model::FENCED.store(true, Ordering::Relaxed);
        let engine = Engine::new();
        let activity = engine.epochs.join();
        let collector = {
            let (epochs, activity) = (engine.epochs.clone(), activity.clone());
            thread::spawn(move || epochs.retire_of(&activity, Code(Arc::default())))
        };
        let runner = engine.run_of(activity.clone());
        engine.slot.store(1, Ordering::Release);
        engine.epochs.retire_of(&activity, Code(engine.freed[0].clone()));
        runner.join().expect("the runner is well");
        collector.join().expect("the collector is well");
    });
}
