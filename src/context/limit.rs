//! The limits of one evaluation or call.

use super::{Context, SourcesInProgress};
use crate::deadline::Deadline;
use crate::debugger::Debugger;
use crate::error::Error;
use crate::failure::Failure;
use crate::host::nesting;
use crate::process;
use crate::stop::{RunLink, StopRequest};

/// A limit that stops an evaluation in progress from outside; dropping it lifts
/// the limit.
pub(super) enum Limit {
    /// A deadline of its own.
    Deadline(Deadline),
    /// What stops the outer run, which waits for a host function.
    Inside(Box<Inside>),
}

/// The time of an evaluation is lifted before its link.
pub(super) struct Inside {
    deadline: Option<Deadline>,
    link: RunLink,
}

impl Limit {
    /// Requests to stop the run that begins now if the one outside is to be
    /// stopped.
    fn ask_again(&self) {
        match self {
            Self::Deadline(deadline) => deadline.ask_again(),
            Self::Inside(inside) => {
                inside.link.ask_again();
                inside.deadline.iter().for_each(Deadline::ask_again);
            }
        }
    }
}

impl Context {
    /// Puts the limits of one evaluation or call in force, until it is dropped.
    ///
    /// # Errors
    /// When it is inside too many others, or no thread can watch the deadline.
    #[inline]
    pub(super) fn limit(&mut self) -> Result<Option<Limit>, Error> {
        self.forget_earlier();
        if !self.is_limited() {
            return Ok(None);
        }
        self.refuel();
        self.limits()
    }

    /// Returns whether an evaluation that begins now has a limit.
    #[inline]
    pub(super) fn is_limited(&self) -> bool {
        self.has_limits() || nesting::is_inside()
    }

    /// Returns whether evaluations have a limit of their own.
    #[inline]
    fn has_limits(&self) -> bool {
        let limits = &self.engine.config().limits;
        self.fuel.is_some() || limits.deadline.is_some() || self.deadline.is_some()
    }

    /// Puts the limits of compiling, where nothing is run, in force.
    ///
    /// # Errors
    /// As [`limit`](Self::limit).
    pub(super) fn limit_of_compile(&self) -> Result<Option<Limit>, Error> {
        self.forget_earlier();
        self.limits()
    }

    /// Makes an interrupt that comes between two evaluations stop the second one:
    /// the user who interrupts sees one program.
    #[cfg(feature = "cli")]
    pub(crate) fn heed_earlier_interrupts(&mut self) {
        self.heeds_earlier = true;
    }

    /// Notes whether anything watches calls.
    pub(super) fn note_watch(&mut self) {
        self.is_watched = self.has_limits() || self.debugger.is_some();
    }

    /// Forgets an interrupt that was meant for an earlier evaluation, unless this
    /// is inside another one.
    #[inline]
    pub(super) fn forget_earlier(&self) {
        if self.backend.is_interrupted_now() && self.sources.count() == 0 && !self.heeds_earlier {
            self.backend.forget_interrupt_of_now();
        }
    }

    /// Begins to run a source, until the result is dropped.
    pub(super) fn begin_source(&self) -> SourcesInProgress {
        self.forget_earlier();
        self.sources.clone()
    }

    /// Begins an item with all of the fuel, unless it has to stop.
    pub(super) fn begin_item(&mut self, limit: Option<&Limit>) -> Result<(), Error> {
        // What was told of the item before may have forked.
        process::settle();
        self.refuel();
        limit.into_iter().for_each(Limit::ask_again);
        let stopper = self.backend.stopper();
        // What stops only a run stops the one that begins.
        let stops = self.debugger.as_ref().is_some_and(Debugger::is_breaking_in);
        match stopper.requested().filter(|request| !(stops && *request == StopRequest::Interrupt)) {
            // The source outside of this one stops, too.
            Some(request) if self.sources.count() > 1 => Err(self.failed(&request.into())),
            Some(_) => Err(self.failed(&stopper.take().map_or(Failure::Interrupted, Failure::from))),
            None => Ok(()),
        }
    }

    fn refuel(&mut self) {
        if let Some(fuel) = self.fuel {
            self.backend.set_fuel(fuel);
        }
    }

    /// Returns the limits except for the fuel.
    ///
    /// # Errors
    /// As [`limit`](Self::limit).
    #[inline(never)]
    fn limits(&self) -> Result<Option<Limit>, Error> {
        if !nesting::is_inside() {
            return Ok(self.next_deadline()?.map(Limit::Deadline));
        }
        if nesting::is_too_deep() {
            return Err(self.failed(&Failure::StackOverflow));
        }
        process::settle();
        let deadline = self.next_deadline()?;
        let link = nesting::caller().map(|outer| RunLink::new(outer, self.backend.stopper()));
        Ok(match link {
            Some(link) => Some(Limit::Inside(Box::new(Inside { deadline, link }))),
            None => deadline.map(Limit::Deadline),
        })
    }

    /// Begins an evaluation with the time limit, if there is one.
    fn next_deadline(&self) -> Result<Option<Deadline>, Error> {
        let limit = self.engine.config().limits.deadline;
        if limit.is_none() && self.deadline.is_none() {
            return Ok(None);
        }
        let alarm = self.alarm.get_or_init(|| {
            let alarm = self.engine.deadlines().alarm(self.backend.stopper());
            alarm.set_end(self.deadline);
            alarm
        });
        // Without the thread that watches it, nothing runs.
        alarm.watch().map_err(|error| self.failed(&Failure::System(error.to_string())))?;
        Ok(Some(alarm.begin()))
    }
}
