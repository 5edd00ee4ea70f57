//! Forks and exits of the process, what must not be interrupted by them, and
//! the size of the address space.
//!
//! A forked child has the memory of its parent but only the thread that forked,
//! so a lock that another thread held at that moment stays locked in the child
//! for ever. And a process that exits destroys LLVM's tables while threads may
//! still use them. So every thread declares its [`Activity`]: fork(2) waits
//! until none is [`Steady`](Activity::Steady), which takes milliseconds at
//! most, and exit(3) also until none is [`Compiling`](Activity::Compiling). A
//! thread that wants to begin such an activity meanwhile waits: until the fork
//! is over, or for good.
//!
//! Threads that belong to a [`Generation`] of the process do not exist in the
//! next, but for the one that forked: see `ThreadIdentity`.
#![allow(unsafe_code)]

#[cfg(feature = "cli")]
mod apart;
mod cell;
mod memory;
mod owned;
mod thread;
mod thread_identity;
mod worker;

#[cfg(feature = "cli")]
pub use apart::{leave_to_child, may_leave_child};
pub use cell::SteadyCell;
pub use memory::zeros;
pub use owned::OfProcess;
pub use thread::spawn;
pub use thread_identity::ThreadIdentity;
pub use worker::{at_fork, most_addresses};

use crate::thread_address;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

/// The activity of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// Nothing that a fork or an exit has to wait for.
    Elsewhere,
    /// Inside LLVM, without a lock that other threads need.
    Compiling,
    /// Inside LLVM or the engine, with locks that other threads need; briefly,
    /// and never while waiting for another thread.
    Steady,
}

/// The number of forks between the first process and this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generation(u64);

/// A generation that is replaced when what belongs to it is made again.
#[derive(Debug)]
pub struct GenerationCell(AtomicU64);

/// Callbacks around a fork, on the thread that forks, while the other threads
/// are held up. They may only do what a signal handler may.
#[derive(Clone, Copy, Debug)]
pub struct AtFork {
    /// Before the fork.
    pub before: extern "C" fn(),
    /// After it, in the parent.
    pub in_parent: extern "C" fn(),
    /// After it, in the child.
    pub in_child: extern "C" fn(),
}

static GENERATION: AtomicU64 = AtomicU64::new(0);
static STEADY: AtomicUsize = AtomicUsize::new(0);
static COMPILING: AtomicUsize = AtomicUsize::new(0);
/// The number of threads that are forking.
static FORKING: AtomicUsize = AtomicUsize::new(0);
/// The address of the thread that forked last, and the generation since which each fork has been by
/// a thread at that address.
static FORKED_BY: AtomicUsize = AtomicUsize::new(0);
static FORKED_SINCE: AtomicU64 = AtomicU64::new(0);
static EXITING: AtomicBool = AtomicBool::new(false);
static AT_FORK: OnceLock<AtFork> = OnceLock::new();
/// What a child does about evaluations in progress, as soon as it can.
static WHEN_FORKED: OnceLock<fn()> = OnceLock::new();
/// The generation in which that has been done.
static SETTLED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static ACTIVITY: Cell<Activity> = const { Cell::new(Activity::Elsewhere) };
    /// Whether this is the thread that ends the process.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// How long a waiting thread sleeps between two looks.
const PAUSE: Duration = Duration::from_micros(50);

impl Generation {
    /// Returns that of this process.
    #[inline]
    pub fn current() -> Self {
        Self(GENERATION.load(Ordering::Relaxed))
    }

    /// Returns whether what belongs to it belongs to this process.
    #[inline]
    pub fn is_current(self) -> bool {
        self == Self::current()
    }

    /// Returns that of a child of the processes of this generation.
    #[cfg(test)]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl GenerationCell {
    /// Creates a cell with a generation that is never current.
    pub fn never() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }

    /// Creates a cell with the generation of this process.
    pub fn current() -> Self {
        Self(AtomicU64::new(Generation::current().0))
    }

    /// Returns whether what belongs to it belongs to this process.
    #[inline]
    pub fn is_current(&self) -> bool {
        Generation(self.0.load(Ordering::Relaxed)).is_current()
    }

    /// Replaces the generation by that of this process.
    pub fn renew(&self) {
        self.0.store(Generation::current().0, Ordering::Relaxed);
    }
}

/// Returns whether the process is exiting: other threads may never continue.
pub fn is_exiting() -> bool {
    EXITING.load(Ordering::SeqCst)
}

/// Restores the previous activity of its thread when it is dropped.
#[must_use]
pub struct Declared {
    before: Activity,
    /// It belongs to its thread.
    _thread: PhantomData<*const ()>,
}

/// Declares the activity of this thread.
pub fn declare(activity: Activity) -> Declared {
    Declared { before: change_to(activity), _thread: PhantomData }
}

impl Drop for Declared {
    fn drop(&mut self) {
        change_to(self.before);
    }
}

/// Runs `work` as an activity, then restores the previous activity.
pub fn within<T>(activity: Activity, work: impl FnOnce() -> T) -> T {
    let _declared = declare(activity);
    work()
}

/// Begins another activity, as soon as that is allowed; returns the previous
/// one.
fn change_to(activity: Activity) -> Activity {
    let before = ACTIVITY.get();
    if before != activity {
        ACTIVITY.set(Activity::Elsewhere);
        leave(before);
        enter(activity);
        ACTIVITY.set(activity);
    }
    before
}

fn count(activity: Activity) -> Option<&'static AtomicUsize> {
    match activity {
        Activity::Elsewhere => None,
        Activity::Compiling => Some(&COMPILING),
        Activity::Steady => Some(&STEADY),
    }
}

fn leave(activity: Activity) {
    if let Some(count) = count(activity) {
        count.fetch_sub(1, Ordering::SeqCst);
    }
}

fn enter(activity: Activity) {
    let Some(count) = count(activity) else { return };
    loop {
        // First the count, then the test; a thread that forks or exits does it
        // the other way round, so one of the two sees the other.
        count.fetch_add(1, Ordering::SeqCst);
        if !is_held_up(activity) {
            return;
        }
        count.fetch_sub(1, Ordering::SeqCst);
        std::thread::sleep(PAUSE);
    }
}

fn is_held_up(activity: Activity) -> bool {
    let forks = activity == Activity::Steady && FORKING.load(Ordering::SeqCst) > 0;
    (forks || is_exiting()) && !ENDS.get()
}

/// Returns the number of other threads with an activity.
fn others(activity: Activity) -> usize {
    let own = usize::from(ACTIVITY.get() == activity);
    count(activity).map_or(0, |count| count.load(Ordering::SeqCst).saturating_sub(own))
}

/// Sets what a child does about evaluations in progress, as soon as it may do
/// more than a signal handler; only the first call has an effect.
pub fn when_forked(work: fn()) {
    within(Activity::Steady, || _ = WHEN_FORKED.set(work));
}

/// Called where the process may have forked while an evaluation is in progress:
/// has the child do [what it has to](when_forked).
#[inline]
pub fn settle() {
    let Generation(current) = Generation::current();
    if SETTLED.load(Ordering::Relaxed) != current && SETTLED.swap(current, Ordering::Relaxed) != current {
        WHEN_FORKED.get().iter().for_each(|work| work());
    }
}

/// Begins to watch forks and exits of the process.
pub fn watch() {
    static WATCHED: Once = Once::new();
    // SAFETY: the functions are of this library, and stay as long as it does.
    WATCHED.call_once(|| unsafe {
        libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child));
        watch_exit();
    });
}

/// Makes exits of the process wait for LLVM. Must be called again after LLVM
/// has built tables that its own exit handlers destroy: handlers run in the
/// reverse order of their registration.
pub fn watch_exit() {
    // SAFETY: the function is of this library, and stays as long as it does. If
    // there is no memory for it, exits do not wait.
    unsafe { libc::atexit(before_exit) };
}

/// Returns the callbacks of a fork after which both processes go on.
fn at_fork_of_runs() -> Option<&'static AtFork> {
    AT_FORK.get().filter(|_| !ENDS.get())
}

unsafe extern "C" fn before_fork() {
    FORKING.fetch_add(1, Ordering::SeqCst);
    while others(Activity::Steady) > 0 {
        std::thread::sleep(PAUSE);
    }
    if let Some(what) = at_fork_of_runs() {
        (what.before)();
    }
}

unsafe extern "C" fn after_fork_in_parent() {
    if let Some(what) = at_fork_of_runs() {
        (what.in_parent)();
    }
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

unsafe extern "C" fn after_fork_in_child() {
    if let Some(what) = at_fork_of_runs() {
        (what.in_child)();
    }
    // There is only this thread.
    let generation = GENERATION.fetch_add(1, Ordering::SeqCst);
    let by = thread_address::thread_address();
    if FORKED_BY.swap(by, Ordering::SeqCst) != by {
        FORKED_SINCE.store(generation, Ordering::SeqCst);
    }
    STEADY.store(usize::from(ACTIVITY.get() == Activity::Steady), Ordering::SeqCst);
    COMPILING.store(usize::from(ACTIVITY.get() == Activity::Compiling), Ordering::SeqCst);
    FORKING.store(0, Ordering::SeqCst);
}

extern "C" fn before_exit() {
    ENDS.set(true);
    EXITING.store(true, Ordering::SeqCst);
    while others(Activity::Compiling) + others(Activity::Steady) > 0 {
        std::thread::sleep(PAUSE);
    }
}
