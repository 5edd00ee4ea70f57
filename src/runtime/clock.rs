//! The clock that deadlines are measured with.
//!
//! Reading the exact time can take longer than a call. The system also keeps
//! the time of its last tick, which is read in a third of the time: enough where
//! some milliseconds do not matter. Ticks are some milliseconds apart, and a
//! virtual machine can be told of them late: see [`LAG`].
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How many ticks the last known tick may be behind the present. It is one on
/// most machines; on busy virtual ones, four have been seen.
const LAG: u64 = 6;

/// A time, in nanoseconds of the system's monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Time(pub u64);

impl Time {
    /// Later than any other.
    pub const NEVER: Self = Self(u64::MAX);

    /// The present.
    pub fn now() -> Self {
        read(libc::clock_gettime, libc::CLOCK_MONOTONIC)
    }

    /// Returns the time of the last tick of the system, at most [`Self::lag`]
    /// ago.
    #[inline]
    pub fn of_last_tick() -> Self {
        read(libc::clock_gettime, libc::CLOCK_MONOTONIC_COARSE)
    }

    /// Returns how long ago the last tick may be, in nanoseconds.
    #[inline]
    pub fn lag() -> u64 {
        static LAG_IN_FORCE: OnceLock<u64> = OnceLock::new();
        let tick = || read(libc::clock_getres, libc::CLOCK_MONOTONIC_COARSE).0;
        *LAG_IN_FORCE.get_or_init(|| tick().saturating_mul(LAG))
    }

    /// Returns the time of an instant.
    pub fn of(instant: Instant) -> Self {
        static KNOWN: OnceLock<(Instant, Time)> = OnceLock::new();
        // An instant that has come must not be a time that has not.
        let (known, time) = *KNOWN.get_or_init(|| {
            let before = Self::now();
            (Instant::now(), before)
        });
        match instant.checked_duration_since(known) {
            Some(later) => time.after(nanoseconds(later)),
            None => Self(time.0.saturating_sub(nanoseconds(known - instant))),
        }
    }

    /// Returns the time after so many nanoseconds.
    #[inline]
    #[must_use]
    pub fn after(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }

    /// How long it is until then.
    pub fn remaining(self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(Self::now().0))
    }

    /// Whether it is over; `tick` is the time of the last tick.
    #[inline]
    pub fn is_over(self, tick: Self) -> bool {
        self <= tick || (self <= tick.after(Self::lag()) && self <= Self::now())
    }
}

/// Returns a duration in nanoseconds, at most [`u64::MAX`]: six centuries.
#[inline]
pub fn nanoseconds(duration: Duration) -> u64 {
    let whole = duration.as_secs().saturating_mul(1_000_000_000);
    whole.saturating_add(duration.subsec_nanos().into())
}

type Read = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int;

#[inline]
fn read(call: Read, clock: libc::clockid_t) -> Time {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write a time to the place they are given, which is
    // valid; they fail for clocks that do not exist, which these two do.
    unsafe { call(clock, &raw mut time) };
    Time(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_tell_the_same_time() {
        for _ in 0..1000 {
            let (before, tick, after) = (Time::now(), Time::of_last_tick(), Time::now());
            assert!(tick <= after && before <= tick.after(Time::lag()));
        }
    }

    #[test]
    fn instants_are_times() {
        let now = Instant::now();
        let hour = Duration::from_secs(3600);
        assert_eq!(Time::of(now + hour).0 - Time::of(now).0, 3_600_000_000_000);
        assert!(Time::of(now).is_over(Time::of_last_tick()));
        assert!(!Time::of(now + hour).is_over(Time::of_last_tick()));
        assert_eq!(Time::now().after(nanoseconds(Duration::MAX)), Time::NEVER);
        assert!(Time::of(now + hour).remaining() <= hour);
    }
}
