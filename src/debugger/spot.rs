//! Spots: what the place of a breakpoint means.

use super::place::{InstructionPlace, Places};
use crate::name::{Name, Names};
use crate::sema::checked::{CheckedFunction, Made};
use crate::source::Source;
use std::sync::Arc;

/// Where a breakpoint stops runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// At the beginning of a function.
    Function(Name),
    /// At the first instruction of a line, or of what is at a column of it.
    Line { within: Within, line: usize, column: Option<usize> },
}

/// What a line number is relative to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Within {
    /// The only source.
    Any,
    /// The source whose name ends in this.
    File(String),
    /// The source of a function, within that function.
    Function(Name),
}

/// The place of a spot in a known function.
pub(super) struct FoundSpot {
    pub(super) function: Arc<CheckedFunction>,
    pub(super) place: InstructionPlace,
    /// The line that was asked for, if nothing can stop there.
    pub(super) moved_from: Option<usize>,
}

/// Why a spot is nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Missing {
    /// The function is not defined, or the source has not been read.
    Unknown(String),
    /// Several sources have that line.
    Ambiguous(Vec<String>),
    /// There is no code on the line or after it.
    Nothing(String),
}

impl Spot {
    /// Parses a place: `FUNCTION`, `LINE`, `LINE:COLUMN`, `FILE:LINE`,
    /// `FILE:LINE:COLUMN`, `FUNCTION:LINE`. `is_function` tells which names are
    /// functions.
    pub(super) fn read(text: &str, names: &Names, is_function: impl Fn(Name) -> bool) -> Option<Self> {
        let (function, rest) = match operator(text) {
            Some(end) => (text[..end].replace(' ', ""), &text[end..]),
            None => {
                let end = text.find(':').unwrap_or(text.len());
                (text[..end].to_owned(), &text[end..])
            }
        };
        if function.is_empty() || function.contains(char::is_whitespace) {
            return None;
        }
        let is_number = function.parse::<usize>().is_ok();
        let function = of_operator(&function, names, &is_function).unwrap_or(function);
        let name = names.intern(&function);
        if rest.is_empty() && !is_number {
            return Some(Self::Function(name));
        }
        let numbers = if is_number { text } else { rest.strip_prefix(':')? };
        let (line, column) = match numbers.split_once(':') {
            Some((line, column)) => (line.parse().ok()?, Some(column.parse().ok()?)),
            None => (numbers.parse().ok()?, None),
        };
        let within = match is_number {
            true => Within::Any,
            false if is_function(name) => Within::Function(name),
            false => Within::File(function),
        };
        Some(Self::Line { within, line, column })
    }

    /// Returns the function that it names.
    pub(super) fn function(&self) -> Option<Name> {
        match self {
            Self::Function(name) | Self::Line { within: Within::Function(name), .. } => Some(*name),
            Self::Line { .. } => None,
        }
    }

    /// Returns whether it is the beginning of a function.
    pub(super) fn is_entry(&self) -> bool {
        matches!(self, Self::Function(_))
    }

    /// Returns whether it may lie in a function.
    pub(super) fn covers(&self, function: &CheckedFunction) -> bool {
        let is_of = |name: Name| function.name == name || function.made == Made::Instance(name);
        let (line, is_source) = match self {
            Self::Function(name) => return is_of(*name),
            Self::Line { within: Within::Any, line, .. } => (line, true),
            Self::Line { within: Within::File(file), line, .. } => {
                (line, function.source.name().ends_with(file.as_str()))
            }
            Self::Line { within: Within::Function(name), line, .. } => (line, is_of(*name)),
        };
        is_source && lines(function).contains(line)
    }

    /// Returns where it is in a function that it covers.
    pub(super) fn place(&self, places: &Places) -> Option<InstructionPlace> {
        let (line, column) = match self {
            Self::Function(_) => return places.all().next().copied(),
            Self::Line { line, column, .. } => (*line, *column),
        };
        let of_line = || places.all().filter(|place| place.line == line);
        let found = match column {
            None => of_line().next(),
            Some(column) => of_line()
                .find(|place| (place.column..place.end_column).contains(&column))
                .or_else(|| of_line().min_by_key(|place| place.column.abs_diff(column))),
        };
        found.copied()
    }

    /// Finds its place in the functions of a program. A line without code
    /// becomes the next one that has some.
    pub(super) fn find(
        &mut self,
        functions: &[Arc<CheckedFunction>],
        names: &Names,
    ) -> Result<FoundSpot, Missing> {
        let (line, column, moved_from) = match self {
            Self::Function(name) => {
                let unknown = || Missing::Unknown(names.text(*name).to_string());
                let function = functions.iter().rev().find(|function| function.name == *name);
                let function = function.ok_or_else(unknown)?.clone();
                let place = Places::of_function(&function).all().next().copied().ok_or_else(unknown)?;
                return Ok(FoundSpot { function, place, moved_from: None });
            }
            Self::Line { within, line, column } => {
                let source = self::source(within, functions, names)?;
                if let Within::Function(name) = within
                    && let Some(function) = functions.iter().rev().find(|function| function.name == *name)
                {
                    *line = line_within(function, *line).ok_or_else(|| {
                        let lines = lines(function);
                        Missing::Nothing(format!(
                            "nothing to stop at on line {line}: `{}` is on lines {} to {}",
                            names.text(*name),
                            lines.start(),
                            lines.end()
                        ))
                    })?;
                }
                let found = next(source, *line, functions).ok_or_else(|| nothing(source, *line))?;
                let meant = std::mem::replace(line, found);
                (found, *column, Some(meant).filter(|meant| *meant != found))
            }
        };
        let exact = Self::Line { within: Within::Any, line, column };
        let source = match self {
            Self::Line { within, .. } => self::source(within, functions, names)?,
            Self::Function(_) => return Err(Missing::Unknown(String::new())),
        };
        let here = functions.iter().filter(|function| is_same(&function.source, source));
        let found = here.filter(|function| exact.covers(function)).find_map(|function| {
            let place = exact.place(&Places::of_function(function))?;
            Some(FoundSpot { function: function.clone(), place, moved_from })
        });
        found.ok_or_else(|| nothing(source, line))
    }
}

/// Returns the lines of a function in its source, from 1.
fn lines(function: &CheckedFunction) -> std::ops::RangeInclusive<usize> {
    let line = |at| function.source.line(at);
    line(function.span.start)..=line(function.span.end)
}

/// Translates a line given with a function to a line of its source: one of the
/// function's lines, else counted from its first.
fn line_within(function: &CheckedFunction, line: usize) -> Option<usize> {
    let lines = lines(function);
    let counted = (lines.start() + line).checked_sub(1)?;
    [line, counted].into_iter().find(|line| lines.contains(line))
}

/// Returns the first line from `line` on where a run can stop.
fn next(source: &Source, line: usize, functions: &[Arc<CheckedFunction>]) -> Option<usize> {
    let here = functions.iter().filter(|function| is_same(&function.source, source));
    let mut best: Option<usize> = None;
    for function in here.filter(|function| *lines(function).end() >= line) {
        if best.is_some_and(|best| *lines(function).start() > best) {
            continue;
        }
        let places = Places::of_function(function);
        let own = places.all().map(|place| place.line).filter(|own| *own >= line).min();
        best = best.into_iter().chain(own).min();
    }
    best
}

fn nothing(source: &Source, line: usize) -> Missing {
    let count = source.line(0) + source.text().lines().count().saturating_sub(1);
    let count = if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
    let message = match source.name().starts_with('<') {
        true => format!("nothing to stop at on line {line}: the input has {count}"),
        false => format!("nothing to stop at on line {line}: the file has {count}"),
    };
    Missing::Nothing(message)
}

fn is_same(one: &Source, other: &Source) -> bool {
    let is_input = one.name().starts_with('<');
    one.name() == other.name() && (!is_input || std::ptr::eq(one.text(), other.text()))
}

/// Returns the source that a line refers to.
fn source<'f>(
    within: &Within,
    functions: &'f [Arc<CheckedFunction>],
    names: &Names,
) -> Result<&'f Source, Missing> {
    let mut matching: Vec<&Source> = Vec::new();
    for function in functions {
        let is_meant = match within {
            // A line of the standard library is not meant.
            Within::Any => !function.source.is_of_standard_library(),
            Within::File(file) => function.source.name().ends_with(file.as_str()),
            Within::Function(name) => function.name == *name,
        };
        if is_meant && !matching.last().is_some_and(|known| is_same(known, &function.source)) {
            matching.push(&function.source);
        }
    }
    let mut known: Vec<String> = matching.iter().map(|source| source.name().to_owned()).collect();
    known.sort();
    known.dedup();
    match (matching.last(), within) {
        (None, Within::Any) => Err(Missing::Unknown(String::new())),
        (None, Within::File(file)) => Err(Missing::Unknown(file.clone())),
        (None, Within::Function(name)) => Err(Missing::Unknown(names.text(*name).to_string())),
        // All inputs have the same name, but are different sources.
        (Some(_), Within::Any) if known.len() > 1 || known[0].starts_with('<') && matching.len() > 1 => {
            Err(Missing::Ambiguous(known))
        }
        (Some(source), _) => Ok(source),
    }
}

/// Returns the name of the function that defines an operator, `binary@` for `@`, if one of the two
/// kinds is defined.
fn of_operator(text: &str, names: &Names, is_function: impl Fn(Name) -> bool) -> Option<String> {
    text.chars().next().filter(|first| !first.is_alphanumeric() && *first != '_')?;
    let defined = ["unary", "binary"].map(|kind| format!("{kind}{text}"));
    let is_defined = |name: &String| names.get(name).is_some_and(&is_function);
    let mut defined = defined.into_iter().filter(is_defined);
    defined.next().filter(|_| defined.next().is_none())
}

/// Returns the length of the operator's name that a text begins with:
/// `binary:`.
fn operator(text: &str) -> Option<usize> {
    let keyword = ["binary", "unary"].into_iter().find(|keyword| text.starts_with(keyword))?;
    let rest = text[keyword.len()..].trim_start();
    let sign = rest.chars().next().filter(|sign| !sign.is_alphanumeric() && *sign != '_')?;
    // In `binary:3`, 3 is a line of something called `binary`; otherwise `:`
    // belongs to an operator.
    Some(text.len() - rest.len() + sign.len_utf8())
}
