//! Forks and exits of the process, what threads must not be in the middle of
//! then, and how many addresses it may have.
//!
//! A forked child has the memory of its parent but only the thread that forked,
//! so a lock that another thread held at that moment stays locked in the child
//! for ever. And a process that exits takes LLVM's tables apart while threads
//! may still use them. So every thread says what it is at ([`Activity`]):
//! fork(2) waits until none is [`Steady`](Activity::Steady), which takes
//! milliseconds at most, and exit(3) also until none is
//! [`Compiling`](Activity::Compiling). Whoever wants to begin with such a thing
//! meanwhile waits: until the fork is over, or for good.
//!
//! Threads that belong to a [`Generation`] of the process are gone in the next.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};
use std::thread;
use std::time::Duration;

/// What a thread is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// Nothing that a fork or an exit would have to wait for.
    Elsewhere,
    /// Inside of LLVM, without a lock that others need.
    Compiling,
    /// Inside of LLVM, or of the engine, with locks that others need; not for
    /// long, and never while waiting for somebody.
    Steady,
}

/// The processes that came of one another by forking count from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generation(u64);

/// What is done around a fork, on the thread that forks, beside holding the
/// other threads up. Only what a signal handler may do.
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
/// How many threads are forking.
static FORKING: AtomicUsize = AtomicUsize::new(0);
static EXITING: AtomicBool = AtomicBool::new(false);
static AT_FORK: OnceLock<AtFork> = OnceLock::new();

thread_local! {
    static ACTIVITY: Cell<Activity> = const { Cell::new(Activity::Elsewhere) };
    /// Whether this is the thread that ends the process.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// How long those wait who look again and again.
const PAUSE: Duration = Duration::from_micros(50);

impl Generation {
    /// That of this process.
    #[inline]
    pub fn current() -> Self {
        Self(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether what belongs to it belongs to this process.
    #[inline]
    pub fn is_current(self) -> bool {
        self == Self::current()
    }

    /// What tells its symbols from those of the processes before it: a symbol
    /// that was being made at a fork is defined for ever, but never ready.
    pub fn suffix(self) -> String {
        if self.0 == 0 { String::new() } else { format!("$fork{}", self.0) }
    }
}

/// Whether the process is exiting: threads that were started may never go on.
pub fn is_exiting() -> bool {
    EXITING.load(Ordering::SeqCst)
}

/// Does `work` as an activity, and goes back to the activity before.
pub fn within<T>(activity: Activity, work: impl FnOnce() -> T) -> T {
    struct Back(Activity);
    impl Drop for Back {
        fn drop(&mut self) {
            change_to(self.0);
        }
    }
    let _back = Back(change_to(activity));
    work()
}

/// Takes the locks that others need too, if this thread is compiling.
pub fn briefly_steady<T>(work: impl FnOnce() -> T) -> T {
    match ACTIVITY.get() {
        Activity::Compiling => within(Activity::Steady, work),
        Activity::Elsewhere | Activity::Steady => work(),
    }
}

/// Begins another activity, as soon as that is allowed; returns the one before.
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
        // First the count, then the look; who forks or exits does it the other
        // way round, so one of both sees the other.
        count.fetch_add(1, Ordering::SeqCst);
        if !is_held_up(activity) {
            return;
        }
        count.fetch_sub(1, Ordering::SeqCst);
        thread::sleep(PAUSE);
    }
}

fn is_held_up(activity: Activity) -> bool {
    let forks = activity == Activity::Steady && FORKING.load(Ordering::SeqCst) > 0;
    (forks || is_exiting()) && !ENDS.get()
}

/// How many threads but this one are at an activity.
fn others(activity: Activity) -> usize {
    let own = usize::from(ACTIVITY.get() == activity);
    count(activity).map_or(0, |count| count.load(Ordering::SeqCst).saturating_sub(own))
}

/// Says what is done around forks, which are heard of from then on; the first
/// to say so is heard.
pub fn at_fork(what: AtFork) {
    let _ = AT_FORK.set(what);
    watch_forks();
}

/// Has forks of the process heard of from now on.
pub fn watch_forks() {
    static WATCHED: Once = Once::new();
    // SAFETY: the functions are of this library, and stay as long as it does.
    WATCHED.call_once(|| unsafe {
        libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child));
    });
}

/// Has exits of the process wait for LLVM. To be called after LLVM has made
/// tables that its own exit handlers destroy: handlers run in the order
/// opposite to that of their registration.
pub fn watch_exit() {
    // SAFETY: the function is of this library, and stays as long as it does.
    // Where there is no memory for it, exits are as they were.
    unsafe { libc::atexit(before_exit) };
}

unsafe extern "C" fn before_fork() {
    FORKING.fetch_add(1, Ordering::SeqCst);
    while others(Activity::Steady) > 0 {
        thread::sleep(PAUSE);
    }
    if let Some(what) = AT_FORK.get() {
        (what.before)();
    }
}

unsafe extern "C" fn after_fork_in_parent() {
    if let Some(what) = AT_FORK.get() {
        (what.in_parent)();
    }
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

unsafe extern "C" fn after_fork_in_child() {
    if let Some(what) = AT_FORK.get() {
        (what.in_child)();
    }
    // There is one thread.
    GENERATION.fetch_add(1, Ordering::SeqCst);
    STEADY.store(usize::from(ACTIVITY.get() == Activity::Steady), Ordering::SeqCst);
    COMPILING.store(usize::from(ACTIVITY.get() == Activity::Compiling), Ordering::SeqCst);
    FORKING.store(0, Ordering::SeqCst);
}

extern "C" fn before_exit() {
    ENDS.set(true);
    EXITING.store(true, Ordering::SeqCst);
    while others(Activity::Compiling) + others(Activity::Steady) > 0 {
        thread::sleep(PAUSE);
    }
}
/// How many bytes of addresses this process may have; `u64::MAX` if there is no
/// limit.
pub fn most_addresses() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: writes the limit to the place it is given, which is valid.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    limit.rlim_cur
}
