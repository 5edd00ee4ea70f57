//! Breakpoints: where runs are to stop, and when.

use super::place::Places;
use super::spot::Spot;
use crate::name::{Name, Names};
use crate::sema::checked::CheckedFunction;
use crate::tape::Tape;
use rustc_hash::FxHashSet;
use std::fmt;
use std::sync::Arc;

/// A breakpoint with its condition and counters.
#[derive(Clone, Debug)]
pub(super) struct Breakpoint {
    pub(super) number: usize,
    pub(super) spot: Spot,
    /// The run stops only if this is true.
    pub(super) condition: Option<String>,
    pub(super) is_enabled: bool,
    /// Whether it is removed when it has stopped a run.
    is_once: bool,
    /// How many more times it is passed without stopping.
    ignored: u64,
    /// Where it is, if that is known.
    place: Option<String>,
    /// As it was typed.
    text: String,
}

/// All breakpoints, in the order in which they were set.
#[derive(Default)]
pub(super) struct Breakpoints {
    all: Vec<Breakpoint>,
    made: usize,
    /// The functions with enabled breakpoints.
    held: FxHashSet<Name>,
}

/// Why a breakpoint cannot be set or changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BreakpointError {
    /// The command has other arguments; this is its usage.
    #[error("usage: {0}")]
    Usage(String),
    /// What should be a place is none.
    #[error("a place is FUNCTION, LINE, LINE:COLUMN, FILE:LINE or FUNCTION:LINE")]
    Place,
    /// There is no condition after `if`.
    #[error("expected an expression after `if`")]
    NoCondition,
    /// The condition is not an expression that has a meaning there.
    #[error("in the condition `{condition}`, column {column}: {message}")]
    Condition {
        /// The condition.
        condition: String,
        /// Where in it the mistake is, counted from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// No breakpoint has this number.
    #[error("there is no breakpoint {0}")]
    Number(String),
    /// A line without a source, and nothing is defined.
    #[error("line {0} of what? Nothing is defined")]
    NothingDefined(usize),
    /// A line without a source, and several sources have one.
    #[error("line {line} of what? Write {}FUNCTION:LINE", .file.as_ref().map_or(String::new(), |file| format!("{file}:{line} or ")))]
    Ambiguous {
        /// The line.
        line: usize,
        /// A file that has it.
        file: Option<String>,
    },
    /// No run can stop there; this says why.
    #[error("{0}")]
    Nowhere(String),
}

/// What was typed: `PLACE [if EXPR]`.
pub(super) struct BreakpointRequest {
    pub(super) spot: Spot,
    pub(super) condition: Option<String>,
    text: String,
}

impl BreakpointRequest {
    pub(super) fn read(
        text: &str,
        names: &Names,
        is_function: impl Fn(Name) -> bool,
    ) -> Result<Self, BreakpointError> {
        let (place, condition) = match text.split_once(" if") {
            Some((_, condition)) if condition.trim().is_empty() || !condition.starts_with(' ') => {
                return Err(BreakpointError::NoCondition);
            }
            Some((place, condition)) => (place, Some(condition.trim().to_owned())),
            None => (text, None),
        };
        let spot = Spot::read(place.trim(), names, is_function).ok_or(BreakpointError::Place)?;
        Ok(Self { spot, condition, text: text.trim().to_owned() })
    }
}

impl Breakpoints {
    /// Adds a breakpoint, which is at `place` at present.
    pub(super) fn add(
        &mut self,
        request: BreakpointRequest,
        place: Option<String>,
        is_once: bool,
    ) -> &Breakpoint {
        let BreakpointRequest { spot, condition, text } = request;
        self.made += 1;
        let number = self.made;
        let is_enabled = true;
        let breakpoint = Breakpoint { number, spot, condition, is_enabled, is_once, ignored: 0, place, text };
        self.all.push(breakpoint);
        &self.all[self.all.len() - 1]
    }

    /// Returns the breakpoint that stops in the same cases.
    pub(super) fn same(&self, request: &BreakpointRequest, is_once: bool) -> Option<&Breakpoint> {
        self.all.iter().find(|known| {
            known.spot == request.spot && known.condition == request.condition && known.is_once == is_once
        })
    }

    /// Determines where the breakpoints are now. A line of a source may be that
    /// of an expression, which is not among the functions: it stays.
    pub(super) fn relocate(&mut self, functions: &[Arc<CheckedFunction>]) {
        for breakpoint in &mut self.all {
            let function = functions.iter().rev().find(|function| breakpoint.spot.covers(function));
            let place = function.and_then(|function| {
                let place = breakpoint.spot.place(&Places::of_function(function))?;
                Some(place.within(function))
            });
            if place.is_some() || breakpoint.spot.function().is_some() {
                breakpoint.place = place;
            }
        }
    }

    /// Sets how many times a breakpoint is passed without stopping.
    pub(super) fn ignore(&mut self, number: &str, count: u64) -> Result<(), BreakpointError> {
        self.find(number)?.ignored = count;
        Ok(())
    }

    /// Counts a hit of a breakpoint whose condition is true; returns whether
    /// the run stops.
    pub(super) fn hit(&mut self, number: usize) -> bool {
        let Some(breakpoint) = self.all.iter_mut().find(|known| known.number == number) else { return false };
        if breakpoint.ignored > 0 {
            breakpoint.ignored -= 1;
            return false;
        }
        if breakpoint.is_once {
            self.all.retain(|known| known.number != number);
        }
        true
    }

    pub(super) fn remove(&mut self, number: &str) -> Result<(), BreakpointError> {
        let found = self.find(number)?.number;
        self.all.retain(|breakpoint| breakpoint.number != found);
        Ok(())
    }

    pub(super) fn enable(&mut self, number: &str, is_enabled: bool) -> Result<(), BreakpointError> {
        self.find(number)?.is_enabled = is_enabled;
        Ok(())
    }

    fn find(&mut self, number: &str) -> Result<&mut Breakpoint, BreakpointError> {
        let found = self.all.iter_mut().find(|breakpoint| breakpoint.number.to_string() == number);
        found.ok_or_else(|| BreakpointError::Number(number.to_owned()))
    }

    pub(super) fn all(&self) -> &[Breakpoint] {
        &self.all
    }

    fn enabled(&self) -> impl Iterator<Item = &Breakpoint> {
        self.all.iter().filter(|breakpoint| breakpoint.is_enabled)
    }

    /// Determines which of the functions have breakpoints.
    pub(super) fn settle<'f>(&mut self, functions: impl Iterator<Item = &'f Arc<CheckedFunction>>) {
        let mut held: FxHashSet<Name> = FxHashSet::default();
        held.extend(self.enabled().filter_map(|breakpoint| breakpoint.spot.function()));
        // Among them are instances of a function that has one.
        if self.enabled().next().is_some() {
            held.extend(functions.filter(|function| self.covers(function)).map(|function| function.name));
        }
        self.held = held;
    }

    /// Records that a function has been defined.
    pub(super) fn note(&mut self, function: &Arc<CheckedFunction>) {
        if self.covers(function) {
            self.held.insert(function.name);
        }
    }

    /// Returns whether a function has an enabled breakpoint.
    pub(super) fn covers(&self, function: &CheckedFunction) -> bool {
        self.enabled().any(|breakpoint| breakpoint.spot.covers(function))
    }

    pub(super) fn holds(&self, name: Name) -> bool {
        self.held.contains(&name)
    }

    pub(super) fn held(&self) -> Vec<Name> {
        self.held.iter().copied().collect()
    }

    /// Returns the enabled breakpoints of a function with their offsets.
    pub(super) fn offsets<'a>(
        &'a self,
        function: &'a CheckedFunction,
        tape: &'a Tape,
    ) -> impl Iterator<Item = (&'a Breakpoint, u32)> {
        let enabled = self.enabled().filter(|breakpoint| breakpoint.spot.covers(function));
        let mut enabled = enabled.peekable();
        // Most functions have none.
        let places = enabled.peek().map(|_| Places::of(function, tape));
        enabled.filter_map(move |breakpoint| match breakpoint.spot {
            Spot::Function(_) => Some((breakpoint, 0)),
            Spot::Line { .. } => Some((breakpoint, breakpoint.spot.place(places.as_ref()?)?.offset)),
        })
    }
}

impl fmt::Display for Breakpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.number, self.text)?;
        if let Some(place) = &self.place {
            write!(f, " ({place})")?;
        }
        match self.ignored {
            0 => {}
            1 => write!(f, ", passed one more time")?,
            count => write!(f, ", passed {count} more times")?,
        }
        let once = if self.is_once { ", once" } else { "" };
        let off = if self.is_enabled { "" } else { ", off" };
        write!(f, "{once}{off}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::spot::Within;
    use super::*;

    #[test]
    fn places_and_conditions_are_read() {
        let names = Names::new();
        let (f, sequence) = (names.intern("f"), names.intern("binary:"));
        let read = |text: &str| BreakpointRequest::read(text, &names, |name| name == f);
        let line = |within, line, column| Spot::Line { within, line, column };
        let file = || Within::File("a.kal".to_owned());
        let cases = [
            ("f", Spot::Function(f)),
            ("12", line(Within::Any, 12, None)),
            ("12:7", line(Within::Any, 12, Some(7))),
            ("a.kal:12", line(file(), 12, None)),
            ("a.kal:12:7", line(file(), 12, Some(7))),
            ("f:3", line(Within::Function(f), 3, None)),
            ("binary:", Spot::Function(sequence)),
            ("binary :", Spot::Function(sequence)),
        ];
        for (text, spot) in cases {
            assert_eq!(read(text).unwrap().spot, spot, "{text}");
        }
        let conditional = read("f if n == 3").unwrap();
        assert_eq!((conditional.spot, conditional.condition.as_deref()), (Spot::Function(f), Some("n == 3")));
        for wrong in ["", "a b", "a.kal:", "1:x", "a.kal:f"] {
            assert_eq!(read(wrong).err(), Some(BreakpointError::Place), "{wrong}");
        }
        assert_eq!(read("f if").err(), Some(BreakpointError::NoCondition));
    }

    #[test]
    fn breakpoints_are_counted_switched_and_removed() {
        let names = Names::new();
        let mut table = Breakpoints::default();
        let f = names.intern("f");
        let add = |table: &mut Breakpoints, is_once| {
            let request = BreakpointRequest::read("f", &names, |_| false).unwrap();
            table.add(request, None, is_once).number
        };
        assert_eq!((add(&mut table, false), add(&mut table, true)), (1, 2));
        assert_eq!(table.remove("9").unwrap_err(), BreakpointError::Number("9".into()));
        table.enable("1", false).unwrap();
        assert_eq!(table.all()[0].to_string(), "1: f, off");
        table.enable("1", true).unwrap();
        table.ignore("1", 2).unwrap();
        assert_eq!(table.all()[0].to_string(), "1: f, passed 2 more times");
        assert_eq!([table.hit(1), table.hit(1), table.hit(1)], [false, false, true]);
        assert_eq!((table.hit(2), table.hit(2)), (true, false));
        table.settle(std::iter::empty());
        assert!(table.holds(f));
        table.remove("1").unwrap();
        table.settle(std::iter::empty());
        assert!(!table.holds(f));
    }
}
