//! Deadlines: one thread per engine that asks runs to stop in time.
//!
//! Every call may have a deadline, so to set and to lift one takes two words
//! of memory and no lock. The thread looks at the words of all contexts when
//! the earliest deadline that it knows of has come, and is woken only for one
//! that is earlier. As with epochs, the two sides write one thing and look at
//! the other's, with a [`Fence`] in between that the thread pays for.

use crate::process::Generation;
use crate::runtime::{Fence, Time, nanoseconds};
use crate::stop::{Request, Stopper};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// The deadlines of an engine. Its thread starts with the first of them and
/// ends with the engine.
#[derive(Default)]
pub(crate) struct Deadlines(Mutex<Option<Arc<Watch>>>);

/// What the thread of a process and those that it watches share.
struct Watch {
    generation: Generation,
    fence: Fence,
    /// When the thread looks next, unless it is woken.
    looks_at: AtomicU64,
    watched: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Default)]
struct Watched {
    alarms: Vec<Weak<Alarm>>,
    /// When to look in any case: what the thread was woken for may have been
    /// lifted before it looks, but the next deadline is not far then.
    looks_at: Option<Time>,
    ended: bool,
}

impl Watched {
    fn add(&mut self, alarm: &Arc<Alarm>) {
        if self.alarms.len() == self.alarms.capacity() {
            self.alarms.retain(|alarm| alarm.strong_count() > 0);
        }
        self.alarms.push(Arc::downgrade(alarm));
    }
}

/// The deadlines of one context, which one thread at a time sets.
pub(crate) struct Alarm {
    watch: Arc<Watch>,
    stopper: Stopper,
    /// When it is to go off.
    due: AtomicU64,
    /// The deadline in force, whether or not it went off.
    in_force: AtomicU64,
    /// Whether it is just going off.
    rings: AtomicBool,
}

/// A deadline in force; dropping it lifts it. A run that it stops takes the
/// request: for what runs on under it, it [asks again](Self::ask_again).
pub(crate) struct Deadline {
    alarm: Arc<Alarm>,
    before: Time,
}

/// Shorter limits are measured exactly. In multiples of the clock's lag.
const EXACT: u64 = 2;

/// Returns when a limit that begins now is over, given the last tick: never
/// too early, and at most the clock's lag too late.
#[inline]
pub(crate) fn end_of(limit: Duration, tick: Time) -> Time {
    let (limit, lag) = (nanoseconds(limit), Time::lag());
    if limit < lag * EXACT {
        return Time::now().after(limit);
    }
    tick.after(lag).after(limit)
}

impl Deadlines {
    /// The alarm of a context, whose runs `stopper` stops.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(crate) fn alarm(&self, stopper: Stopper) -> std::io::Result<Arc<Alarm>> {
        let alarm = Arc::new(Alarm {
            watch: self.watch()?,
            stopper,
            due: AtomicU64::new(Time::NEVER.0),
            in_force: AtomicU64::new(Time::NEVER.0),
            rings: AtomicBool::new(false),
        });
        alarm.watch.watched().add(&alarm);
        Ok(alarm)
    }

    fn watch(&self) -> std::io::Result<Arc<Watch>> {
        let mut watch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watch) = watch.as_ref().filter(|watch| watch.generation.is_current()) {
            return Ok(watch.clone());
        }
        let made = Arc::new(Watch {
            generation: Generation::current(),
            fence: Fence::new(),
            looks_at: AtomicU64::new(Time::NEVER.0),
            watched: Mutex::default(),
            changed: Condvar::new(),
        });
        let watches = made.clone();
        thread::Builder::new().name("kal deadlines".into()).spawn(move || watches.work())?;
        *watch = Some(made.clone());
        Ok(made)
    }
}

impl Alarm {
    /// Whether there is a thread that watches it: there is none in a child that
    /// was forked since.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.generation.is_current()
    }

    /// The deadline in force; [`Time::NEVER`] if there is none.
    #[inline]
    pub(crate) fn in_force(&self) -> Time {
        Time(self.in_force.load(Ordering::Relaxed))
    }

    /// Has the runs asked to stop at `time`.
    #[inline]
    pub(crate) fn set(self: &Arc<Self>, time: Time) -> Deadline {
        let before = self.in_force();
        self.put_in_force(time);
        Deadline { alarm: self.clone(), before }
    }

    #[inline]
    fn put_in_force(&self, time: Time) {
        self.in_force.store(time.0, Ordering::Relaxed);
        self.due.store(time.0, Ordering::Relaxed);
        self.watch.fence.light();
        if time.0 < self.watch.looks_at.load(Ordering::Relaxed) {
            self.watch.look_before(time);
        }
    }

    #[inline]
    fn lift(&self, before: Time) {
        self.put_in_force(Time::NEVER);
        if self.rings.load(Ordering::Relaxed) {
            // Until it has rung.
            drop(self.watch.watched());
        }
        if self.stopper.requested().is_some() {
            self.stopper.withdraw(Request::Deadline);
        }
        // Only now, so that its own request is not withdrawn.
        if before != Time::NEVER {
            self.put_in_force(before);
        }
    }

    /// Goes off if it is due at `time` still.
    fn ring(&self, time: Time) {
        self.rings.store(true, Ordering::Relaxed);
        // Who lifts it from now on waits; who has lifted it has changed the time.
        self.watch.fence.heavy();
        let never = Time::NEVER.0;
        if self.due.compare_exchange(time.0, never, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            self.stopper.request(Request::Deadline);
        }
        self.rings.store(false, Ordering::Release);
    }
}

impl Deadline {
    /// Asks to stop if the time is over, at once and every time.
    pub(crate) fn ask_again(&self) {
        self.ask_after(Time::now());
    }

    /// The same, given the last tick.
    #[inline]
    pub(crate) fn ask_after(&self, tick: Time) {
        if self.alarm.in_force().is_over(tick) {
            self.alarm.stopper.request(Request::Deadline);
        }
    }
}

impl Drop for Deadline {
    // Out of the way of calls without a deadline, which are many more.
    #[inline(never)]
    fn drop(&mut self) {
        self.alarm.lift(self.before);
    }
}

impl Watch {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    fn look_before(&self, time: Time) {
        let mut watched = self.watched();
        // It may have looked meanwhile.
        if time.0 < self.looks_at.load(Ordering::Relaxed) {
            watched.looks_at = Some(time);
            self.looks_at.store(time.0, Ordering::Relaxed);
            self.changed.notify_one();
        }
        drop(watched);
    }

    fn work(&self) {
        let mut watched = self.watched();
        while !watched.ended {
            let next = self.look(&mut watched);
            watched = match next {
                Time::NEVER => self.changed.wait(watched).unwrap_or_else(PoisonError::into_inner),
                next => {
                    let waited = self.changed.wait_timeout(watched, next.remaining());
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Has alarms go off that are due; returns when the next one is.
    fn look(&self, watched: &mut Watched) -> Time {
        // Whoever sets a deadline meanwhile asks for another look.
        self.looks_at.store(Time::NEVER.0, Ordering::Relaxed);
        self.fence.heavy();
        let now = Time::now();
        watched.looks_at = watched.looks_at.filter(|time| *time > now);
        let mut next = watched.looks_at.unwrap_or(Time::NEVER);
        watched.alarms.retain(|alarm| {
            let Some(alarm) = alarm.upgrade() else { return false };
            let due = Time(alarm.due.load(Ordering::Relaxed));
            if due <= now {
                alarm.ring(due);
            } else {
                next = next.min(due);
            }
            true
        });
        self.looks_at.store(next.0, Ordering::Relaxed);
        next
    }
}

impl Drop for Deadlines {
    fn drop(&mut self) {
        let watch = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(watch) = watch.filter(|watch| watch.generation.is_current()) {
            watch.watched().ended = true;
            watch.changed.notify_one();
        }
    }
}
