//! Breakpoints: where runs are to stop, and when.

use super::place::Places;
use crate::name::{Name, Names};
use crate::sema::checked::Function;
use crate::tape::Tape;
use rustc_hash::FxHashSet;
use std::fmt;
use std::sync::Arc;

/// Where runs are to stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// At the beginning of a function.
    Function(Name),
    /// At the first instruction made for a line, or for what stands at a column
    /// of it, of one text or of any.
    Line { file: Option<String>, line: usize, column: Option<usize> },
}

/// One breakpoint.
#[derive(Clone, Debug)]
pub(super) struct Breakpoint {
    pub(super) number: usize,
    pub(super) spot: Spot,
    /// The run stops only if this is true.
    pub(super) condition: Option<String>,
    pub(super) is_enabled: bool,
    /// As it was typed.
    text: String,
}

/// All breakpoints.
#[derive(Default)]
pub(super) struct Breakpoints {
    all: Vec<Breakpoint>,
    made: usize,
    /// The functions that enabled ones stand in.
    held: FxHashSet<Name>,
}

/// What was typed is no breakpoint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Mistake {
    #[error("a place is a function, LINE, LINE:COLUMN or FILE:LINE")]
    Place,
    #[error("expected an expression after `if`")]
    Condition,
    #[error("there is no breakpoint {0}")]
    Number(String),
}

impl Breakpoints {
    /// Adds the breakpoint that a text describes: `PLACE [if EXPR]`.
    pub(super) fn add(&mut self, text: &str, names: &Names) -> Result<&Breakpoint, Mistake> {
        let (place, condition) = match text.split_once(" if") {
            Some((place, condition)) if condition.trim().is_empty() || !condition.starts_with(' ') => {
                let _ = place;
                return Err(Mistake::Condition);
            }
            Some((place, condition)) => (place, Some(condition.trim().to_owned())),
            None => (text, None),
        };
        let spot = Spot::read(place.trim(), names).ok_or(Mistake::Place)?;
        self.made += 1;
        let text = text.trim().to_owned();
        self.all.push(Breakpoint { number: self.made, spot, condition, is_enabled: true, text });
        Ok(&self.all[self.all.len() - 1])
    }

    pub(super) fn remove(&mut self, number: &str) -> Result<(), Mistake> {
        let found = self.find(number)?.number;
        self.all.retain(|breakpoint| breakpoint.number != found);
        Ok(())
    }

    pub(super) fn enable(&mut self, number: &str, is_enabled: bool) -> Result<(), Mistake> {
        self.find(number)?.is_enabled = is_enabled;
        Ok(())
    }

    fn find(&mut self, number: &str) -> Result<&mut Breakpoint, Mistake> {
        let found = self.all.iter_mut().find(|breakpoint| breakpoint.number.to_string() == number);
        found.ok_or_else(|| Mistake::Number(number.to_owned()))
    }

    pub(super) fn all(&self) -> &[Breakpoint] {
        &self.all
    }

    fn enabled(&self) -> impl Iterator<Item = &Breakpoint> {
        self.all.iter().filter(|breakpoint| breakpoint.is_enabled)
    }

    /// Finds out which of the functions breakpoints stand in.
    pub(super) fn settle<'f>(&mut self, functions: impl Iterator<Item = &'f Arc<Function>>) {
        let mut held: FxHashSet<Name> = FxHashSet::default();
        held.extend(self.enabled().filter_map(|breakpoint| breakpoint.spot.function()));
        if self.enabled().any(|breakpoint| breakpoint.spot.function().is_none()) {
            held.extend(functions.filter(|function| self.covers(function)).map(|function| function.name));
        }
        self.held = held;
    }

    /// A function has been defined.
    pub(super) fn note(&mut self, function: &Arc<Function>) {
        if self.covers(function) {
            self.held.insert(function.name);
        }
    }

    /// Whether an enabled breakpoint stands in a function.
    pub(super) fn covers(&self, function: &Function) -> bool {
        self.enabled().any(|breakpoint| breakpoint.spot.covers(function))
    }

    pub(super) fn holds(&self, name: Name) -> bool {
        self.held.contains(&name)
    }

    pub(super) fn held(&self) -> Vec<Name> {
        self.held.iter().copied().collect()
    }

    /// The enabled breakpoints of a function with the offsets that they stand at.
    pub(super) fn offsets<'a>(
        &'a self,
        function: &'a Function,
        tape: &'a Tape,
    ) -> impl Iterator<Item = (&'a Breakpoint, u32)> {
        let enabled = self.enabled().filter(|breakpoint| breakpoint.spot.covers(function));
        enabled.filter_map(|breakpoint| Some((breakpoint, breakpoint.spot.offset(function, tape)?)))
    }
}

impl Spot {
    fn read(text: &str, names: &Names) -> Option<Self> {
        let (file, numbers) = match text.split_once(':') {
            Some((first, rest)) if first.parse::<usize>().is_err() => (Some(first.to_owned()), rest),
            Some(_) | None => (None, text),
        };
        let (line, column) = match numbers.split_once(':') {
            Some((line, column)) => (line, Some(column.parse().ok()?)),
            None => (numbers, None),
        };
        match line.parse() {
            Ok(line) => Some(Self::Line { file, line, column }),
            Err(_) if file.is_none() && column.is_none() && !text.is_empty() => {
                let is_name = !text.contains(char::is_whitespace);
                is_name.then(|| Self::Function(names.intern(text)))
            }
            Err(_) => None,
        }
    }

    fn function(&self) -> Option<Name> {
        match self {
            Self::Function(name) => Some(*name),
            Self::Line { .. } => None,
        }
    }

    fn covers(&self, function: &Function) -> bool {
        match self {
            Self::Function(name) => function.name == *name,
            Self::Line { file, line, .. } => {
                let is_file = |file: &String| function.source.name().ends_with(file.as_str());
                let (first, _) = function.source.position(function.span.start);
                let (last, _) = function.source.position(function.span.end);
                file.as_ref().is_none_or(is_file) && (first..=last).contains(line)
            }
        }
    }

    fn offset(&self, function: &Function, tape: &Tape) -> Option<u32> {
        let (line, column) = match self {
            Self::Function(_) => return Some(0),
            Self::Line { line, column, .. } => (*line, *column),
        };
        let places = Places::of(function, tape);
        let of_line = || places.all().filter(|place| place.line == line);
        let found = match column {
            None => of_line().next(),
            Some(column) => of_line()
                .find(|place| (place.column..place.end_column).contains(&column))
                .or_else(|| of_line().min_by_key(|place| place.column.abs_diff(column))),
        };
        found.map(|place| place.offset)
    }
}

impl fmt::Display for Breakpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let off = if self.is_enabled { "" } else { " (off)" };
        write!(f, "{}: {}{off}", self.number, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_conditions_are_read() {
        let names = Names::new();
        let mut table = Breakpoints::default();
        let f = names.intern("f");
        assert_eq!(table.add("f", &names).unwrap().spot, Spot::Function(f));
        let conditional = table.add("f if n == 3", &names).unwrap();
        assert_eq!(
            (conditional.spot.clone(), conditional.condition.as_deref()),
            (Spot::Function(f), Some("n == 3"))
        );
        let line =
            |file: Option<&str>, line, column| Spot::Line { file: file.map(str::to_owned), line, column };
        assert_eq!(table.add("12", &names).unwrap().spot, line(None, 12, None));
        assert_eq!(table.add("12:7", &names).unwrap().spot, line(None, 12, Some(7)));
        assert_eq!(table.add("a.kal:12", &names).unwrap().spot, line(Some("a.kal"), 12, None));
        assert_eq!(table.add("a.kal:12:7", &names).unwrap().spot, line(Some("a.kal"), 12, Some(7)));
        for wrong in ["", "a b", "a.kal:", "1:x", "a.kal:f"] {
            assert_eq!(table.add(wrong, &names).unwrap_err(), Mistake::Place, "{wrong}");
        }
        assert_eq!(table.add("f if", &names).unwrap_err(), Mistake::Condition);
        assert_eq!(table.remove("9").unwrap_err(), Mistake::Number("9".into()));
        table.enable("1", false).unwrap();
        assert_eq!(table.all()[0].to_string(), "1: f (off)");
        table.settle(std::iter::empty());
        assert!(table.holds(f));
        table.remove("2").unwrap();
        table.settle(std::iter::empty());
        assert!(!table.holds(f));
    }
}
