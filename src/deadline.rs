//! Deadlines: one thread per engine that asks runs to stop in time.
//!
//! Every call may have a limit of time, so to begin and to end one takes a word
//! of memory, no lock and no look at a clock. The word counts: it is odd while an
//! evaluation is in progress. The thread looks at the words of all contexts,
//! periodically while they change, and stops an evaluation that it has seen for
//! as long as the limit: never too early, and at most a [period](Watch::period)
//! too late. While nothing changes the thread sleeps, and the next evaluation
//! wakes it.
//!
//! As with epochs, the two sides write one thing and look at the other's, with a
//! [`Fence`] in between that the thread pays for.
//!
//! The thread does not exist in a forked child, which starts its own for what is
//! in progress there: when the next evaluation begins, and after a closure that
//! may have forked. What the thread does is [steady](Activity::Steady), so that
//! a fork finds nothing locked or half done; it sleeps without the lock.

use crate::process::{self, Activity, GenerationCell, SteadyCell};
use crate::runtime::Fence;
use crate::stop::{StopHandle, StopRequest};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// A time, in nanoseconds since the first one that was asked for.
type Time = u64;

/// Later than any other.
const NEVER: Time = u64::MAX;

/// Returns an instant as a time: 0 for those before the first.
fn time_of(instant: Instant) -> Time {
    static FIRST: SteadyCell<Instant> = SteadyCell::new();
    nanoseconds(instant.saturating_duration_since(*FIRST.get_or_make(Instant::now)))
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(NEVER)
}

/// Returns whether a number counts an evaluation that has begun and not ended.
#[inline]
const fn is_in_progress(number: u64) -> bool {
    number & 1 != 0
}

/// The thread looks at least this many times during the limit, unless that is
/// more often than the shortest, or less often than the longest period.
const LOOKS: u64 = 16;

/// In nanoseconds.
const PERIODS: (u64, u64) = (500_000, 10_000_000);

/// The least period for each context, in nanoseconds: some twenty times of what
/// a look at it takes, so that the thread takes a twentieth of a core at most.
const SHARE: u64 = 1_000;

/// The thread sleeps after this number of looks that found no new evaluation.
const PATIENCE: u32 = 16;

/// The deadlines of an engine. Its thread starts with the first of them and
/// ends with the engine.
pub(crate) struct Deadlines {
    /// How long an evaluation may take.
    limit: Option<Duration>,
    watch: SteadyCell<Arc<Watch>>,
}

/// What the thread and the contexts that it watches share.
struct Watch {
    /// The processes that have, or had, a thread; none before the first.
    generation: GenerationCell,
    fence: Fence,
    /// How long an evaluation may take, in nanoseconds; [`NEVER`] without limit.
    limit: u64,
    /// Whether the thread looks periodically.
    is_awake: AtomicBool,
    /// When the thread looks next, unless it is woken.
    looks_at: AtomicU64,
    watched: Mutex<Watched>,
}

/// All of them that have ever had a thread and still exist.
static WATCHES: Mutex<Vec<Weak<Watch>>> = Mutex::new(Vec::new());

#[derive(Default)]
struct Watched {
    /// The thread of this process, or of an earlier one.
    thread: Option<Thread>,
    alarms: Vec<(Weak<Alarm>, Seen)>,
    has_ended: bool,
}

/// The last evaluation that the thread has seen, and when it saw it first.
#[derive(Clone, Copy)]
struct Seen {
    number: u64,
    since: Time,
}

/// The deadlines of one context, which one thread at a time sets.
pub(crate) struct Alarm {
    watch: Arc<Watch>,
    stopper: StopHandle,
    /// Counts beginnings and ends of evaluations: odd while one is in progress.
    number: AtomicU64,
    /// The number of the last evaluation that has taken too long.
    too_long: AtomicU64,
    /// When everything is to stop; [`NEVER`] if that is not set, or has come.
    end: AtomicU64,
    /// Whether the end has come.
    is_over: AtomicBool,
    /// Whether the thread is just asking for a stop.
    rings: AtomicBool,
}

/// An evaluation that has to end in time; dropping it ends it. A run that is
/// stopped takes the request: for what goes on, it [asks again](Self::ask_again).
pub(crate) struct Deadline {
    alarm: Arc<Alarm>,
    /// Whether it is inside of another one of its context, whose time counts.
    is_inner: bool,
}

impl Deadlines {
    /// Creates the deadlines of an engine in which each evaluation may take at
    /// most `limit`. Starts no thread yet.
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        Self { limit, watch: SteadyCell::new() }
    }

    /// Creates the alarm of a context whose runs `stopper` stops.
    pub(crate) fn alarm(&self, stopper: StopHandle) -> Arc<Alarm> {
        let alarm = Arc::new(Alarm {
            watch: self.watch.get_or_make(|| Watch::new(self.limit)).clone(),
            stopper,
            number: AtomicU64::new(0),
            too_long: AtomicU64::new(0),
            end: AtomicU64::new(NEVER),
            is_over: AtomicBool::new(false),
            rings: AtomicBool::new(false),
        });
        alarm.watch.locked(|watched| watched.add(&alarm));
        alarm
    }
}

/// Starts the threads that this process does not have, after a fork. What cannot
/// be watched is stopped.
fn watch_again() {
    let watches = process::within(Activity::Steady, || {
        let mut watches = WATCHES.lock().unwrap_or_else(PoisonError::into_inner);
        watches.retain(|watch| watch.strong_count() > 0);
        watches.clone()
    });
    for watch in watches.iter().filter_map(Weak::upgrade) {
        if watch.start().is_err() {
            watch.locked(|watched| watched.stop_all());
        }
    }
}

impl Watched {
    fn add(&mut self, alarm: &Arc<Alarm>) {
        if self.alarms.len() == self.alarms.capacity() {
            self.alarms.retain(|(alarm, _)| alarm.strong_count() > 0);
        }
        self.alarms.push((Arc::downgrade(alarm), Seen { number: 0, since: 0 }));
    }

    /// Asks all evaluations in progress to stop.
    fn stop_all(&self) {
        for alarm in self.alarms.iter().filter_map(|(alarm, _)| alarm.upgrade()) {
            let number = alarm.number.load(Ordering::Relaxed);
            if is_in_progress(number) {
                alarm.ring(number);
            }
        }
    }
}

impl Alarm {
    /// Returns whether there is a thread that watches it: there is none in a
    /// child that was forked since.
    #[inline]
    fn is_watched(&self) -> bool {
        self.watch.generation.is_current()
    }

    /// Makes a thread of this process watch it.
    ///
    /// # Errors
    /// When the thread cannot be started.
    #[inline]
    pub(crate) fn watch(&self) -> std::io::Result<()> {
        if self.is_watched() { Ok(()) } else { self.watch.start() }
    }

    /// Sets when everything in the context is to stop.
    pub(crate) fn set_end(&self, end: Option<Instant>) {
        self.end.store(NEVER, Ordering::Relaxed);
        self.watch.fence.light();
        self.wait_while_it_rings();
        let is_over = end.is_some_and(|end| end <= Instant::now());
        self.is_over.store(is_over, Ordering::Relaxed);
        if !self.is_too_long() {
            self.stopper.withdraw(StopRequest::Deadline);
        }
        if let Some(end) = end.filter(|_| !is_over) {
            let end = time_of(end);
            self.end.store(end, Ordering::Relaxed);
            self.watch.fence.light();
            if end < self.watch.looks_at.load(Ordering::Relaxed) {
                self.watch.wake();
            }
        }
    }

    /// Begins an evaluation.
    #[inline]
    pub(crate) fn begin(self: &Arc<Self>) -> Deadline {
        let number = self.number.load(Ordering::Relaxed);
        let is_inner = is_in_progress(number);
        if !is_inner {
            self.number.store(number + 1, Ordering::Relaxed);
            self.watch.fence.light();
            if self.watch.limit != NEVER && !self.watch.is_awake.load(Ordering::Relaxed) {
                self.watch.wake();
            }
        }
        let deadline = Deadline { alarm: self.clone(), is_inner };
        deadline.ask_again();
        deadline
    }

    /// Returns whether the evaluation in progress has taken too long.
    #[inline]
    fn is_too_long(&self) -> bool {
        let number = self.number.load(Ordering::Relaxed);
        is_in_progress(number) && self.too_long.load(Ordering::Relaxed) == number
    }

    #[inline]
    fn wait_while_it_rings(&self) {
        // In a forked child nothing rings any more.
        // What it has done is seen after it.
        if self.rings.load(Ordering::Acquire) && self.is_watched() {
            self.watch.locked(|_| ());
        }
    }

    #[inline]
    fn end(&self) {
        let number = self.number.load(Ordering::Relaxed);
        self.number.store(number + 1, Ordering::Relaxed);
        self.watch.fence.light();
        if self.rings.load(Ordering::Acquire)
            || self.too_long.load(Ordering::Relaxed) == number
            || self.is_over.load(Ordering::Relaxed)
        {
            self.end_late();
        }
    }

    /// Takes the request back that came for the evaluation that has ended.
    #[cold]
    fn end_late(&self) {
        self.wait_while_it_rings();
        self.stopper.withdraw(StopRequest::Deadline);
    }

    /// Asks for a stop if the evaluation is still in progress whose time is over.
    fn ring(&self, number: u64) {
        self.while_it_rings(|| {
            if self.number.load(Ordering::Relaxed) == number {
                self.too_long.store(number, Ordering::Relaxed);
                self.stopper.request(StopRequest::Deadline);
            }
        });
    }

    /// Asks for a stop if the end is still the one that has come.
    fn ring_at_the_end(&self, end: Time) {
        self.while_it_rings(|| {
            if self.end.compare_exchange(end, NEVER, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                self.is_over.store(true, Ordering::SeqCst);
                // What begins later sees that it is over.
                self.watch.fence.heavy();
                if is_in_progress(self.number.load(Ordering::Relaxed)) {
                    self.stopper.request(StopRequest::Deadline);
                }
            }
        });
    }

    fn while_it_rings(&self, act: impl FnOnce()) {
        self.rings.store(true, Ordering::Relaxed);
        // An evaluation that ends from now on waits; one that has ended has
        // changed the number.
        self.watch.fence.heavy();
        act();
        self.rings.store(false, Ordering::Release);
    }
}

impl Deadline {
    /// Asks what runs to stop if its time is over, at once and every time.
    #[inline]
    pub(crate) fn ask_again(&self) {
        if self.alarm.is_over.load(Ordering::Relaxed) || self.alarm.is_too_long() {
            self.alarm.stopper.request(StopRequest::Deadline);
        }
    }
}

impl Drop for Deadline {
    #[inline]
    fn drop(&mut self) {
        if !self.is_inner {
            self.alarm.end();
        }
    }
}

impl Watch {
    fn new(limit: Option<Duration>) -> Arc<Self> {
        // No later call has to wait for the first.
        time_of(Instant::now());
        Arc::new(Self {
            generation: GenerationCell::never(),
            fence: Fence::new(),
            limit: limit.map_or(NEVER, nanoseconds),
            is_awake: AtomicBool::new(false),
            looks_at: AtomicU64::new(NEVER),
            watched: Mutex::default(),
        })
    }

    /// Does something with what is watched, while no fork and no look happens.
    fn locked<T>(&self, act: impl FnOnce(&mut Watched) -> T) -> T {
        let locked =
            || -> MutexGuard<'_, Watched> { self.watched.lock().unwrap_or_else(PoisonError::into_inner) };
        process::within(Activity::Steady, || act(&mut locked()))
    }

    /// Starts the thread of this process, if it has none.
    #[cold]
    fn start(self: &Arc<Self>) -> std::io::Result<()> {
        process::when_forked(watch_again);
        let is_first = self.locked(|watched| {
            if self.generation.is_current() {
                return Ok(false);
            }
            let watch = self.clone();
            let builder = thread::Builder::new().name("kal deadlines".into());
            let thread = process::spawn(builder, move || watch.work())?;
            self.generation.renew();
            Ok::<_, std::io::Error>(watched.thread.replace(thread.thread().clone()).is_none())
        })?;
        if is_first {
            let watches = || WATCHES.lock().unwrap_or_else(PoisonError::into_inner);
            process::within(Activity::Steady, || watches().push(Arc::downgrade(self)));
        }
        Ok(())
    }

    #[cold]
    fn wake(&self) {
        self.is_awake.store(true, Ordering::Relaxed);
        self.locked(|watched| watched.thread.iter().for_each(Thread::unpark));
    }

    /// Returns the time between two looks, in nanoseconds.
    fn period(&self, alarms: usize) -> u64 {
        (self.limit / LOOKS).clamp(PERIODS.0, PERIODS.1).max(alarms as u64 * SHARE)
    }

    fn work(&self) {
        let mut quiet = 0;
        while let Some(next) = self.locked(|watched| self.next_look(watched, &mut quiet)) {
            match next {
                NEVER => thread::park(),
                next => {
                    thread::park_timeout(Duration::from_nanos(next.saturating_sub(time_of(Instant::now()))));
                }
            }
        }
    }

    /// Looks at what is watched. Returns when to look again; `None` at the end of
    /// the engine. `quiet` counts the looks that have found nothing new.
    fn next_look(&self, watched: &mut Watched, quiet: &mut u32) -> Option<Time> {
        if watched.has_ended {
            return None;
        }
        if *quiet >= PATIENCE {
            self.is_awake.store(false, Ordering::Relaxed);
        }
        // From now on, what begins and what is set wakes the thread, or is seen.
        self.looks_at.store(NEVER, Ordering::Relaxed);
        self.fence.heavy();
        let (is_new, mut next) = self.look(watched);
        *quiet = if is_new { 0 } else { PATIENCE.min(*quiet + 1) };
        if is_new {
            self.is_awake.store(true, Ordering::Relaxed);
        }
        if self.limit != NEVER && self.is_awake.load(Ordering::Relaxed) {
            let period = self.period(watched.alarms.len());
            next = next.min(time_of(Instant::now()).saturating_add(period));
        }
        self.looks_at.store(next, Ordering::Relaxed);
        Some(next)
    }

    /// Asks what has taken too long to stop. Returns whether an evaluation has
    /// begun or ended since the last look, and when the next one is to stop.
    fn look(&self, watched: &mut Watched) -> (bool, Time) {
        let now = time_of(Instant::now());
        let (mut is_new, mut next) = (false, NEVER);
        watched.alarms.retain_mut(|(alarm, seen)| {
            let Some(alarm) = alarm.upgrade() else { return false };
            let number = alarm.number.load(Ordering::Relaxed);
            if number != seen.number {
                is_new = true;
                // Not before it has begun.
                *seen = Seen { number, since: time_of(Instant::now()) };
            }
            if is_in_progress(number)
                && self.limit != NEVER
                && alarm.too_long.load(Ordering::Relaxed) != number
            {
                match seen.since.saturating_add(self.limit) {
                    due if due <= now => alarm.ring(number),
                    due => next = next.min(due),
                }
            }
            match alarm.end.load(Ordering::Relaxed) {
                end if end <= now => alarm.ring_at_the_end(end),
                end => next = next.min(end),
            }
            true
        });
        (is_new, next)
    }
}

impl Drop for Deadlines {
    fn drop(&mut self) {
        self.watch.get().iter().for_each(|watch| {
            watch.locked(|watched| {
                watched.has_ended = true;
                watched.thread.iter().for_each(Thread::unpark);
            });
        });
    }
}
