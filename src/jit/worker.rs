//! Compile workers: threads with large stacks that run jobs.
//!
//! LLVM recurses as deeply as its input is nested and cannot recover from a
//! stack overflow, and the stack of a running program belongs to that program.
//! So LLVM runs nowhere but here. Threads start when there is work for them;
//! jobs with a waiting thread go before background jobs, until there are many
//! of the latter. Code of what is hot leaves a processor to the program that runs.
//!
//! A forked child starts its own threads. Locks and condition variables are the
//! standard library's here: words without any registration of waiting threads.
//! Others keep lists of waiting threads, which do not exist in the child.

use crate::codegen::{CompileOptions, Compiler};
use crate::process::{self, Activity, Declared, Generation, SteadyCell};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::num::NonZero;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The stack of a worker where the system cannot provide a larger one, in
/// bytes.
const SMALLEST_STACK: usize = 16 << 20;

/// Each worker's stack takes at most this fraction of the address space that
/// the process may use.
const SHARE: u64 = 64;

/// How long a worker without work spins before it sleeps.
const LINGER: Duration = Duration::from_micros(40);

/// How long a worker waits for something else before it compiles what is inlined where it is
/// called. A caller becomes hot soon after what it calls, and is worth more.
const DELAY: Duration = Duration::from_millis(1);

/// The number of jobs for code of what is hot, not counting the last ones, beyond which all
/// workers take part.
const MANY_HOT: usize = 8;

/// Background jobs go first when there are more than this many. Otherwise
/// programs that request code all the time, on more threads than there are
/// workers, would make them wait for ever, and ever more of them.
const BACKLOG: usize = 64;

/// Work for a worker. It returns the announcement of its result: a thread that
/// is told may submit the next job at once, to the same worker.
pub(super) type Job = Box<dyn FnOnce() -> Announcement + Send>;

/// Announces a finished job to the threads that wait for it.
pub(super) type Announcement = Box<dyn FnOnce()>;

/// The priority of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Urgency {
    /// A thread waits for it.
    Now,
    /// Background work for what is hot in a program that runs.
    Hot,
    /// Background work, ahead of its use.
    Later,
    /// Background work for what is hot, too, but of little use: what is inlined where it is
    /// called.
    Last,
}

/// The worker threads. Closing or dropping them finishes the jobs that threads
/// wait for.
pub(super) struct Workers {
    team: Mutex<Team>,
    /// The number of threads, once it is known.
    usual: SteadyCell<usize>,
    /// How many more threads there may be.
    substitutes: AtomicUsize,
    /// The stack of each thread, in bytes: reserved, and committed only as it
    /// is used.
    stack: usize,
}

/// The threads of one process.
struct Team {
    generation: Generation,
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

/// The number of extra threads that may replace those busy with abandoned jobs.
const SUBSTITUTES: usize = 8;

#[derive(Default)]
struct Queue {
    /// How most code is generated.
    code: CompileOptions,
    jobs: Mutex<Jobs>,
    wake: Condvar,
    /// Notified when a thread finds no job.
    rest: Condvar,
    /// The number of jobs in the queue.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct Jobs {
    now: VecDeque<Job>,
    hot: VecDeque<Job>,
    later: VecDeque<Job>,
    last: VecDeque<Job>,
    /// Until when a job of the last ones waits for others.
    delayed: Option<Instant>,
    /// The number of threads that wait for a job, or have finished one.
    idle: usize,
    closed: bool,
}

thread_local! {
    static COMPILER: RefCell<Option<Compiler>> = const { RefCell::new(None) };
    /// The stack size of this thread if it is a worker, in bytes.
    static STACK: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs `work` with this thread's compiler.
pub(super) fn with_compiler<T>(work: impl FnOnce(&mut Compiler) -> T) -> T {
    // A nested compile on one thread gets a new compiler.
    let mut compiler = COMPILER.take().unwrap_or_default();
    compiler.set_stack(STACK.get().unwrap_or(SMALLEST_STACK));
    // Dropping a compiler is LLVM's business, too.
    process::within(Activity::Compiling, || {
        let result = work(&mut compiler);
        COMPILER.set(Some(compiler));
        result
    })
}

/// Returns whether this thread is a worker of any engine, and so can run a job
/// itself.
pub(super) fn is_worker() -> bool {
    STACK.get().is_some()
}

/// Runs a job on this thread.
pub(super) fn perform(job: Job) -> Announcement {
    process::within(Activity::Steady, job)
}

/// Locks a mutex, also after a panic under its lock.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lock that no fork finds locked.
pub(super) struct SteadyGuard<'a, T> {
    guard: MutexGuard<'a, T>,
    _steady: Declared,
}

/// Locks a mutex that a forked child needs too.
pub(super) fn locked_steadily<T>(mutex: &Mutex<T>) -> SteadyGuard<'_, T> {
    let steady = process::declare(Activity::Steady);
    SteadyGuard { guard: locked(mutex), _steady: steady }
}

impl<T> Deref for SteadyGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for SteadyGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl Workers {
    /// Returns the number of jobs that wait for a worker.
    pub(super) fn queued(&self) -> usize {
        locked_steadily(&self.team).queue.waiting.load(Ordering::Relaxed)
    }

    /// Creates a pool of at most `most` threads, or as many as there are processors, with stacks of
    /// `stack` bytes, that mostly generate code so. Starts none yet.
    pub(super) fn new(most: Option<usize>, stack: usize, code: CompileOptions) -> Self {
        let usual = most.map(|most| SteadyCell::from(most.max(1))).unwrap_or_default();
        let share = usize::try_from(process::most_addresses() / SHARE).unwrap_or(usize::MAX);
        let stack = stack.min(share).max(SMALLEST_STACK);
        Self { team: Mutex::new(Team::new(code)), usual, substitutes: AtomicUsize::new(0), stack }
    }

    /// Returns the number of threads that there may be, without substitutes. To count processors
    /// takes the system a while.
    pub(super) fn usual(&self) -> usize {
        *self.usual.get_or_make(|| thread::available_parallelism().map_or(1, NonZero::get))
    }

    /// Called when the only waiter of a long job gives up. Allows one extra
    /// worker, so that the queue keeps moving.
    pub(super) fn substitute(&self) {
        let more = |count| (count < SUBSTITUTES).then_some(count + 1);
        let _ = self.substitutes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Queues a job.
    ///
    /// # Errors
    /// If no thread can be started and none is running.
    pub(super) fn submit(&self, urgency: Urgency, job: Job) -> std::io::Result<()> {
        let most = self.usual() + self.substitutes.load(Ordering::Relaxed);
        let mut team = locked_steadily(&self.team);
        team.replace_after_fork();
        let wanted = locked(&team.queue.jobs).wanted(urgency, most);
        if let Some(most) = wanted {
            team.start_another(most, self.stack)?;
        }
        team.queue.push(urgency, job);
        Ok(())
    }

    /// Waits until there is no job and every thread waits for one. Returns at once on one of
    /// the threads.
    pub(super) fn finish(&self) {
        if STACK.get().is_some() {
            return;
        }
        let (queue, threads) = {
            let mut team = locked_steadily(&self.team);
            team.replace_after_fork();
            (team.queue.clone(), team.threads.len())
        };
        // A fork or an exit must not wait for what the threads do.
        process::within(Activity::Elsewhere, || {
            let mut jobs = locked(&queue.jobs);
            while jobs.idle < threads || jobs.len() > 0 {
                jobs = queue.rest.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            }
        });
    }

    /// Drops the background jobs, and waits until all others are done and the
    /// threads have ended. Nothing can be submitted afterwards.
    pub(super) fn close(&self) {
        let (threads, given_up) = locked_steadily(&self.team).close();
        drop(given_up);
        // The last handle may be dropped on a worker, which cannot join itself;
        // it ends anyway.
        let others = threads.into_iter().filter(|thread| thread.thread().id() != thread::current().id());
        // Threads of an exiting process may never end.
        let join = |thread: JoinHandle<()>| _ = (!process::is_exiting()).then(|| thread.join());
        // A fork or an exit must not wait for what the other threads do.
        process::within(Activity::Elsewhere, || others.for_each(join));
    }
}

impl Team {
    fn new(code: CompileOptions) -> Self {
        let queue = Arc::new(Queue { code, ..Queue::default() });
        Self { generation: Generation::current(), queue, threads: Vec::new() }
    }

    /// Replaces threads that belong to the parent process after a fork. Their
    /// queue may be locked for ever; its jobs are requested again by the next
    /// calls.
    fn replace_after_fork(&mut self) {
        if !self.generation.is_current() {
            let new = Self::new(self.queue.code);
            std::mem::forget(std::mem::replace(self, new));
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

    /// Starts a thread, with the smallest stack if there is no address space
    /// for more: the compiler needs some, too.
    fn start(&self, stack: usize) -> std::io::Result<JoinHandle<()>> {
        let queue = self.queue.clone();
        let thread = thread::Builder::new().name("kal compiler".into()).stack_size(stack);
        match process::spawn(thread, move || queue.work(stack)) {
            Err(_) if stack > SMALLEST_STACK => self.start(SMALLEST_STACK),
            started => started,
        }
    }

    /// Returns the threads, which end after the jobs that threads wait for, and
    /// the other jobs.
    fn close(&mut self) -> (Vec<JoinHandle<()>>, Vec<Job>) {
        self.replace_after_fork();
        let given_up = locked(&self.queue.jobs).close();
        self.queue.waiting.fetch_sub(given_up.len(), Ordering::Relaxed);
        self.queue.wake.notify_all();
        (std::mem::take(&mut self.threads), given_up)
    }
}

impl Jobs {
    fn len(&self) -> usize {
        self.now.len() + self.background()
    }

    fn background(&self) -> usize {
        self.hot.len() + self.later.len() + self.last.len()
    }

    /// Returns how many threads there may be, of `most`, once there is another job; `None` if
    /// those that are idle are enough.
    fn wanted(&self, urgency: Urgency, most: usize) -> Option<usize> {
        let is_hot = matches!(urgency, Urgency::Hot | Urgency::Last);
        let has_many = self.hot.len() + self.later.len() >= MANY_HOT;
        let spares_one = is_hot && self.now.is_empty() && !has_many;
        let most = if spares_one { most.saturating_sub(1).max(1) } else { most };
        (self.idle <= self.len()).then_some(most)
    }

    fn push(&mut self, urgency: Urgency, job: Job) {
        match urgency {
            Urgency::Now => self.now.push_back(job),
            Urgency::Hot => self.hot.push_back(job),
            Urgency::Later => self.later.push_back(job),
            Urgency::Last => {
                self.last.push_back(job);
                self.delayed.get_or_insert_with(|| Instant::now() + DELAY);
            }
        }
    }

    fn close(&mut self) -> Vec<Job> {
        self.closed = true;
        [&mut self.hot, &mut self.later, &mut self.last].into_iter().flat_map(std::mem::take).collect()
    }

    /// Takes the next job, if there is one that need not wait for others.
    fn pop(&mut self) -> Option<Job> {
        let has_backlog = self.background() > BACKLOG;
        let urgent = if has_backlog { None } else { self.now.pop_front() };
        let found = urgent.or_else(|| self.hot.pop_front()).or_else(|| self.later.pop_front());
        found.or_else(|| self.pop_last()).or_else(|| self.now.pop_front())
    }

    /// Returns whether the next job is one of the last ones, which need not wait any more.
    fn has_only_last(&self) -> bool {
        self.len() > 0 && self.len() == self.last.len() && !self.is_delayed()
    }

    fn is_delayed(&self) -> bool {
        self.delayed.is_some_and(|until| until > Instant::now())
    }

    fn pop_last(&mut self) -> Option<Job> {
        (!self.is_delayed()).then(|| {
            let job = self.last.pop_front();
            self.delayed = self.delayed.filter(|_| !self.last.is_empty());
            job
        })?
    }

    /// Returns how long to wait for others before the next job can be taken.
    fn delay(&self) -> Option<Duration> {
        let until = self.delayed.filter(|_| !self.last.is_empty())?;
        Some(until.saturating_duration_since(Instant::now()))
    }
}

impl Queue {
    fn push(&self, urgency: Urgency, job: Job) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        locked(&self.jobs).push(urgency, job);
        self.wake.notify_one();
    }

    fn work(&self, stack: usize) {
        STACK.set(Some(stack));
        let mut finished: Option<Announcement> = None;
        while let Some(job) = self.next(finished.take()) {
            // A job that panics has ended for its waiters.
            finished = catch_unwind(AssertUnwindSafe(|| perform(job))).ok();
        }
        // An exit waits until LLVM has let go of that.
        process::within(Activity::Compiling, || COMPILER.set(None));
    }

    /// Returns the next job. Announces the result of the last one first, when
    /// this thread already counts as idle.
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
            if jobs.has_only_last() && COMPILER.with_borrow(Option::is_none) {
                // LLVM takes longer to start than these jobs wait: what becomes hot meanwhile goes
                // first.
                drop(jobs);
                with_compiler(|compiler| compiler.prepare(self.code));
                jobs = locked(&self.jobs);
            }
            if let Some(job) = jobs.pop() {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                jobs.idle -= 1;
                return Some(job);
            }
            if jobs.closed {
                return None;
            }
            if let Some(delay) = jobs.delay() {
                let waited = self.wake.wait_timeout(jobs, delay);
                jobs = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            self.rest.notify_all();
            jobs = self.wake.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Spins for a moment in case another job arrives: a program that has
    /// waited for code often wants more at once, and waking a thread takes
    /// longer.
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

    /// Returns the order in which one worker runs background jobs (`false`) and
    /// jobs with a waiting thread (`true`), if the latter were submitted last.
    fn order(later: usize, now: usize) -> Vec<bool> {
        let workers = Workers::new(Some(1), SMALLEST_STACK, CompileOptions::default());
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
    fn what_is_inlined_where_it_is_called_goes_last() {
        let (mut jobs, ran) = (Jobs::default(), Arc::new(Mutex::new(Vec::new())));
        for urgency in [Urgency::Last, Urgency::Later, Urgency::Hot, Urgency::Now, Urgency::Last] {
            let ran = ran.clone();
            let job = move || {
                locked(&ran).push(urgency);
                Box::new(|| ()) as Announcement
            };
            jobs.push(urgency, Box::new(job));
        }
        let run = |jobs: &mut Jobs| jobs.pop().map(|job| job()).is_some();
        while run(&mut jobs) {}
        assert_eq!(*locked(&ran), [Urgency::Now, Urgency::Hot, Urgency::Later]);
        assert!(jobs.delay().is_some_and(|delay| delay <= DELAY));
        jobs.delayed = Some(Instant::now());
        while run(&mut jobs) {}
        assert_eq!(locked(&ran)[3..], [Urgency::Last, Urgency::Last]);
        assert_eq!((jobs.len(), jobs.delay()), (0, None));
    }

    #[test]
    fn code_of_what_is_hot_leaves_a_processor_to_the_program() {
        let mut jobs = Jobs::default();
        assert_eq!((jobs.wanted(Urgency::Hot, 4), jobs.wanted(Urgency::Last, 1)), (Some(3), Some(1)));
        assert_eq!((jobs.wanted(Urgency::Now, 4), jobs.wanted(Urgency::Later, 4)), (Some(4), Some(4)));
        for _ in 0..MANY_HOT {
            jobs.push(Urgency::Last, Box::new(|| Box::new(|| ()) as Announcement));
        }
        assert_eq!(jobs.wanted(Urgency::Hot, 4), Some(3));
        for _ in 0..MANY_HOT {
            jobs.push(Urgency::Hot, Box::new(|| Box::new(|| ()) as Announcement));
        }
        assert_eq!(jobs.wanted(Urgency::Hot, 4), Some(4));
        jobs.idle = 2 * MANY_HOT + 1;
        assert_eq!(jobs.wanted(Urgency::Now, 4), None);
    }

    #[test]
    fn a_job_that_panics_does_not_take_its_thread_along() {
        let workers = Workers::new(Some(1), SMALLEST_STACK, CompileOptions::default());
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
        let workers = Workers::new(Some(1), SMALLEST_STACK, CompileOptions::default());
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
