//! Compile workers: threads with large stacks that run jobs.
//!
//! LLVM recurses as deeply as its input is nested and cannot recover from a
//! stack overflow, and a running program's stack is the program's. So nothing
//! of LLVM's runs anywhere but here. Threads start when there is work for
//! them; jobs that somebody waits for go before those that nobody does, until
//! there are many of these.
//!
//! A forked child starts threads of its own. Locks and condition variables are
//! the standard library's here, which are words that the system knows nothing
//! of; others keep lists of the threads that wait, which are gone in the child.

use crate::codegen::Compiler;
use crate::process::{self, Activity, Generation};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The smallest stack that a worker gets where the system has no more; in bytes.
const SMALLEST_STACK: usize = 16 << 20;

/// Stacks of workers take at most this part each of the addresses that a process
/// may have.
const SHARE: u64 = 64;

/// How long a worker without work stays awake.
const LINGER: Duration = Duration::from_micros(40);

/// When more jobs than these wait that nobody waits for, they go first. Else
/// programs that always want code, on more threads than there are workers,
/// would have them wait for ever, and ever more of them.
const BACKLOG: usize = 64;

/// Something to be done by a worker. It gives back how to tell of its end:
/// whoever is told may submit the next job at once, to the same worker.
pub(super) type Job = Box<dyn FnOnce() -> Announcement + Send>;

/// Tells whoever waits for a job that it is done.
pub(super) type Announcement = Box<dyn FnOnce()>;

/// How soon a job is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Urgency {
    /// Somebody waits for it.
    Now,
    /// Ahead of its use.
    Later,
}

/// The threads. Closing or dropping them lets them finish the jobs that somebody
/// waits for.
pub(super) struct Workers {
    team: Mutex<Team>,
    usual: usize,
    most: AtomicUsize,
    /// Reserved for each, and taken from the system only as far as it is used.
    stack: usize,
}

/// The threads of one process.
struct Team {
    generation: Generation,
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

/// How many threads may take the place of such as are busy for nobody.
const SUBSTITUTES: usize = 8;

#[derive(Default)]
struct Queue {
    jobs: Mutex<Jobs>,
    wake: Condvar,
    /// How many jobs there are to begin with.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct Jobs {
    now: VecDeque<Job>,
    later: VecDeque<Job>,
    /// Threads that wait for a job, or have finished one.
    idle: usize,
    closed: bool,
}

thread_local! {
    static COMPILER: RefCell<Option<Compiler>> = const { RefCell::new(None) };
    /// The stack of this thread if it is a worker.
    static STACK: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Lends this thread's compiler to `work`.
pub(super) fn with_compiler<T>(work: impl FnOnce(&mut Compiler) -> T) -> T {
    // A compile inside a compile on one thread gets a compiler of its own.
    let mut compiler = COMPILER.take().unwrap_or_default();
    compiler.set_stack(STACK.get().unwrap_or(SMALLEST_STACK));
    let result = process::within(Activity::Compiling, || work(&mut compiler));
    COMPILER.set(Some(compiler));
    result
}

/// Whether this thread is a worker, of whatever engine: it can do a job at once.
pub(super) fn is_worker() -> bool {
    STACK.get().is_some()
}

/// Does a job on this thread.
pub(super) fn perform(job: Job) -> Announcement {
    process::within(Activity::Steady, job)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workers {
    /// At most `most` threads, with stacks of so many bytes; none is started yet.
    pub(super) fn new(most: usize, stack: usize) -> Self {
        let usual = most.max(1);
        let share = usize::try_from(process::most_addresses() / SHARE).unwrap_or(usize::MAX);
        let stack = stack.min(share).max(SMALLEST_STACK);
        Self { team: Mutex::new(Team::new()), usual, most: AtomicUsize::new(usual), stack }
    }

    /// Nobody waits any more for a job that may keep its thread busy for long:
    /// lets another thread take that one's place.
    pub(super) fn substitute(&self) {
        let more = |most| (most < self.usual + SUBSTITUTES).then_some(most + 1);
        let _ = self.most.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Has a job done.
    ///
    /// # Errors
    /// When no thread can be started and none is there.
    pub(super) fn submit(&self, urgency: Urgency, job: Job) -> std::io::Result<()> {
        let mut team = locked(&self.team);
        team.replace_after_fork();
        if locked(&team.queue.jobs).are_many() {
            team.start_another(self.most.load(Ordering::Relaxed), self.stack)?;
        }
        team.queue.push(urgency, job);
        Ok(())
    }

    /// Gives up the jobs that nobody waits for, and waits until all others are
    /// done and the threads have ended. Nothing can be submitted afterwards.
    pub(super) fn close(&self) {
        for thread in locked(&self.team).close() {
            // The last handle may go away on a worker, which cannot wait for
            // itself; it ends by itself. Those of a process that is exiting may
            // never end.
            if thread.thread().id() != thread::current().id() && !process::is_exiting() {
                let _ = thread.join();
            }
        }
    }
}

impl Team {
    fn new() -> Self {
        Self { generation: Generation::current(), queue: Arc::default(), threads: Vec::new() }
    }

    /// Replaces threads that belong to the process that this one was forked
    /// from, where they go on. Their queue may be locked for ever; what waits
    /// in it is asked for again when it is called.
    fn replace_after_fork(&mut self) {
        if !self.generation.is_current() {
            std::mem::forget(std::mem::replace(self, Self::new()));
        }
    }

    fn start_another(&mut self, most: usize, stack: usize) -> std::io::Result<()> {
        if self.threads.len() >= most {
            return Ok(());
        }
        match self.start(stack) {
            Ok(thread) => self.threads.push(thread),
            Err(error) if self.threads.is_empty() => return Err(error),
            Err(_) => {}
        }
        Ok(())
    }

    /// Starts a thread, with the smallest stack where there are no addresses for
    /// more: the compiler needs some, too.
    fn start(&self, stack: usize) -> std::io::Result<JoinHandle<()>> {
        let queue = self.queue.clone();
        let thread = thread::Builder::new().name("kal compiler".into()).stack_size(stack);
        match thread.spawn(move || queue.work(stack)) {
            Err(_) if stack > SMALLEST_STACK => self.start(SMALLEST_STACK),
            started => started,
        }
    }

    /// Gives up the jobs that nobody waits for; returns the threads, which end
    /// after the others.
    fn close(&mut self) -> Vec<JoinHandle<()>> {
        self.replace_after_fork();
        let given_up = locked(&self.queue.jobs).close();
        self.queue.waiting.fetch_sub(given_up.len(), Ordering::Relaxed);
        drop(given_up);
        self.queue.wake.notify_all();
        std::mem::take(&mut self.threads)
    }
}

impl Jobs {
    /// Whether more wait than threads do.
    fn are_many(&self) -> bool {
        self.idle <= self.now.len() + self.later.len()
    }

    fn close(&mut self) -> VecDeque<Job> {
        self.closed = true;
        std::mem::take(&mut self.later)
    }

    /// The job to do next.
    fn pop(&mut self) -> Option<Job> {
        if self.later.len() > BACKLOG {
            return self.later.pop_front();
        }
        self.now.pop_front().or_else(|| self.later.pop_front())
    }
}

impl Queue {
    fn push(&self, urgency: Urgency, job: Job) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut jobs = locked(&self.jobs);
        match urgency {
            Urgency::Now => jobs.now.push_back(job),
            Urgency::Later => jobs.later.push_back(job),
        }
        drop(jobs);
        self.wake.notify_one();
    }

    fn work(&self, stack: usize) {
        STACK.set(Some(stack));
        let mut finished: Option<Announcement> = None;
        while let Some(job) = self.next(finished.take()) {
            // A job that panics has ended for those who wait for it.
            finished = catch_unwind(AssertUnwindSafe(|| perform(job))).ok();
        }
    }

    /// The next job; before that, this thread being free for it again, the end
    /// of the last one is announced.
    fn next(&self, finished: Option<Announcement>) -> Option<Job> {
        let mut jobs = locked(&self.jobs);
        jobs.idle += 1;
        if let Some(announce) = finished {
            drop(jobs);
            announce();
            self.linger();
            jobs = locked(&self.jobs);
        }
        loop {
            if let Some(job) = jobs.pop() {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                jobs.idle -= 1;
                return Some(job);
            }
            if jobs.closed {
                return None;
            }
            jobs = self.wake.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Looks out for the next job for a moment: a program that has waited for
    /// code often wants more at once, and waking a thread takes longer.
    fn linger(&self) {
        let start = Instant::now();
        while self.waiting.load(Ordering::Relaxed) == 0 && start.elapsed() < LINGER {
            std::hint::spin_loop();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, mpsc};

    /// The order in which one worker does jobs that nobody waits for (`false`)
    /// and jobs that somebody waits for, if these were submitted last.
    fn order(later: usize, now: usize) -> Vec<bool> {
        let workers = Workers::new(1, SMALLEST_STACK);
        let gate = Arc::new(Barrier::new(2));
        let (done, order) = mpsc::channel();
        let job = |work: Box<dyn FnOnce() + Send>| -> Job {
            Box::new(move || {
                work();
                Box::new(|| ())
            })
        };
        let note = |urgent| {
            let done = done.clone();
            job(Box::new(move || done.send(urgent).expect("somebody listens")))
        };
        let held = gate.clone();
        let blocks = job(Box::new(move || {
            held.wait();
            held.wait();
        }));
        workers.submit(Urgency::Now, blocks).expect("a thread starts");
        gate.wait();
        for _ in 0..later {
            workers.submit(Urgency::Later, note(false)).expect("a thread is there");
        }
        for _ in 0..now {
            workers.submit(Urgency::Now, note(true)).expect("a thread is there");
        }
        gate.wait();
        order.iter().take(later + now).collect()
    }

    #[test]
    fn jobs_that_somebody_waits_for_go_first() {
        let order = order(BACKLOG, 3);
        assert_eq!(order[..3], [true; 3]);
        assert_eq!(order[3..], [false; BACKLOG]);
    }

    #[test]
    fn many_jobs_that_nobody_waits_for_do_not_wait_for_ever() {
        let order = order(BACKLOG + 2, 3);
        assert_eq!(order[..6], [false, false, true, true, true, false]);
        assert_eq!(order.len(), BACKLOG + 5);
    }

    #[test]
    fn a_job_that_panics_does_not_take_its_thread_along() {
        let workers = Workers::new(1, SMALLEST_STACK);
        let (done, order) = mpsc::channel();
        workers.submit(Urgency::Now, Box::new(|| panic!("as it should"))).expect("a thread starts");
        let job = Box::new(move || {
            done.send(1).expect("somebody listens");
            Box::new(|| ()) as Announcement
        });
        workers.submit(Urgency::Now, job).expect("the thread is there");
        assert_eq!(order.recv(), Ok(1));
    }

    #[test]
    fn closing_gives_up_what_nobody_waits_for() {
        let workers = Workers::new(1, SMALLEST_STACK);
        let gate = Arc::new(Barrier::new(2));
        let (held, later) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
        let queue = locked(&workers.team).queue.clone();
        let blocks = Box::new(move || {
            held.wait();
            held.wait();
            Box::new(|| ()) as Announcement
        });
        workers.submit(Urgency::Now, blocks).expect("a thread starts");
        gate.wait();
        for _ in 0..3 {
            let later = later.clone();
            let job = Box::new(move || {
                later.fetch_add(1, Ordering::Relaxed);
                Box::new(|| ()) as Announcement
            });
            workers.submit(Urgency::Later, job).expect("a thread is there");
        }
        std::thread::scope(|scope| {
            scope.spawn(|| workers.close());
            while !locked(&queue.jobs).closed {
                std::thread::yield_now();
            }
            gate.wait();
        });
        assert_eq!(later.load(Ordering::Relaxed), 0);
        assert_eq!(Arc::strong_count(&later), 1);
    }
}
