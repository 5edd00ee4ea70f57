//! Setting breakpoints: the input is checked at once, and the answer says where
//! the breakpoint really is.

use super::breakpoint::{BreakpointError, BreakpointRequest};
use super::evaluate::{DebuggerEnvironment, parse};
use super::place;
use super::spot::{FoundSpot, Missing, Spot, Within};
use super::{Inner, Reach};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::suggest::{Budget, nearest};
use crate::name::Name;
use crate::sema;
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use std::sync::Arc;

impl Inner {
    /// Executes the command `bp` with these arguments, where `functions` are
    /// defined; lines without a file are of the source `here`.
    pub(super) fn change_breakpoints(
        &mut self,
        text: &str,
        functions: Vec<Arc<CheckedFunction>>,
        here: Option<&str>,
    ) -> Result<String, BreakpointError> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim();
        let functions = [self.expected.clone(), functions].concat();
        let usage = |usage: &str| Err(BreakpointError::Usage(format!("bp {usage}; `bp` lists the numbers")));
        let changed = match (word, rest) {
            ("", _) => return Ok(self.list_breakpoints(&functions)),
            ("error", "" | "on" | "off") => Ok(self.stop_at_errors(rest != "off")),
            ("nan", "" | "on" | "off") => Ok(self.stop_at_nan(rest != "off")),
            ("rm", "") => usage("rm N"),
            ("on" | "off", "") => usage(&format!("{word} N")),
            ("rm", number) => self.breakpoints.remove(number).map(|()| format!("{number} removed")),
            ("on" | "off", number) => {
                self.breakpoints.enable(number, word == "on").map(|()| format!("{number} {word}"))
            }
            ("ignore", rest) => self.ignore(rest),
            ("once", place) => self.add(place, &functions, here, true),
            _ => self.add(text, &functions, here, false),
        };
        self.breakpoints.settle(functions.iter());
        self.has_changed = true;
        changed
    }

    fn stop_at_errors(&mut self, stops: bool) -> String {
        self.breaks_on_error = stops;
        self.reach();
        format!("stops at errors: {}", if stops { "on" } else { "off" })
    }

    fn stop_at_nan(&mut self, stops: bool) -> String {
        self.breaks_on_nan = stops;
        self.reach();
        format!("stops at the first nan or inf: {}", if stops { "on" } else { "off" })
    }

    /// Sets what has to be interpreted: only there can frames and operands be
    /// inspected.
    fn reach(&mut self) {
        let is_everything = self.breaks_on_error || self.breaks_on_nan;
        self.reach = if is_everything { Reach::Everything } else { Reach::Looked };
    }

    fn ignore(&mut self, text: &str) -> Result<String, BreakpointError> {
        let parsed = text
            .split_once(char::is_whitespace)
            .and_then(|(number, count)| Some((number, count.trim().parse::<u64>().ok()?)));
        let (number, count) = parsed.ok_or(BreakpointError::Usage("ignore N COUNT".into()))?;
        self.breakpoints.ignore(number, count)?;
        Ok(match count {
            0 => format!("{number} stops again"),
            1 => format!("{number} is passed once"),
            _ => format!("{number} is passed {count} times"),
        })
    }

    fn list_breakpoints(&mut self, functions: &[Arc<CheckedFunction>]) -> String {
        self.breakpoints.relocate(functions);
        let mut lines: Vec<String> = self.breakpoints.all().iter().map(ToString::to_string).collect();
        if lines.is_empty() {
            lines.push("no breakpoints".into());
        }
        lines.extend(self.breaks_on_error.then(|| "stops at errors: on".to_owned()));
        lines.extend(self.breaks_on_nan.then(|| "stops at the first nan or inf: on".to_owned()));
        lines.join("\n")
    }

    /// Adds a breakpoint, after checking its place and condition.
    fn add(
        &mut self,
        text: &str,
        functions: &[Arc<CheckedFunction>],
        here: Option<&str>,
        is_once: bool,
    ) -> Result<String, BreakpointError> {
        let is_function = |name: Name| functions.iter().any(|function| function.name == name);
        let mut request = BreakpointRequest::read(text, &self.names, is_function)?;
        if let (Spot::Line { within: within @ Within::Any, .. }, Some(here)) = (&mut request.spot, here) {
            *within = Within::File(here.to_owned());
        }
        let wanted = line_of(&request.spot);
        let found = request.spot.find(functions, &self.names);
        let (place, note) = match found {
            Ok(found) => {
                self.check_condition(&request, Some(&found), functions)?;
                let FoundSpot { function, place, moved_from } = found;
                (
                    Some(place.within(&function)),
                    moved_from.map(|line| format!("nothing to stop at on line {line}; the next place is")),
                )
            }
            Err(missing) => {
                self.check_condition(&request, None, functions)?;
                (None, Some(self.missing(missing, wanted, functions)?))
            }
        };
        let is_kept = place.is_none();
        if let Some(same) = self.breakpoints.same(&request, is_once) {
            return Ok(format!("{same} is already set"));
        }
        let added = self.breakpoints.add(request, place, is_once).to_string();
        Ok(match note {
            Some(note) if is_kept => format!("{added}: {note}"),
            Some(note) => format!("{note}\n{added}"),
            None => added,
        })
    }

    /// Handles a place that is nowhere yet: returns the answer if the
    /// breakpoint is kept, or why it is refused.
    fn missing(
        &self,
        missing: Missing,
        line: Option<usize>,
        functions: &[Arc<CheckedFunction>],
    ) -> Result<String, BreakpointError> {
        let line = line.unwrap_or(0);
        match missing {
            Missing::Nothing(message) => Err(BreakpointError::Nowhere(message)),
            Missing::Unknown(name) if name.is_empty() => Err(BreakpointError::NothingDefined(line)),
            Missing::Ambiguous(sources) => {
                let file = sources.iter().find(|source| !source.starts_with('<'));
                Err(BreakpointError::Ambiguous { line, file: file.cloned() })
            }
            Missing::Unknown(name) if name.contains(['.', '/']) => {
                Ok(format!("nothing has been read from `{name}` yet; kept until it is"))
            }
            Missing::Unknown(name) => {
                let known = functions.iter().map(|function| self.names.text(function.name));
                let meant = nearest(&name, known.filter(|name| *name != EXPRESSION));
                let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
                let host = self.names.get(&name).is_some_and(|name| self.hosts.get(name).is_some());
                Ok(match host {
                    true => format!("`{name}` is built in; kept until the program defines it"),
                    false => format!("`{name}` is not defined yet; kept until it is{meant}"),
                })
            }
        }
    }

    /// Checks the condition of a breakpoint: its names if the visible variables
    /// are known, else only its syntax.
    fn check_condition(
        &self,
        request: &BreakpointRequest,
        found: Option<&FoundSpot>,
        functions: &[Arc<CheckedFunction>],
    ) -> Result<(), BreakpointError> {
        let Some(condition) = &request.condition else { return Ok(()) };
        let wrong = |diagnostics: Vec<Diagnostic>| {
            let first = diagnostics.first();
            let label = first.and_then(|first| first.labels.first());
            let column = label.map_or(1, |label| label.source.position(label.span.start).1);
            let message = first.map(|first| first.message.clone()).unwrap_or_default();
            BreakpointError::Condition { condition: condition.clone(), column, message }
        };
        let item = parse(condition, &self.names, &self.scope).map_err(wrong)?;
        let Some(FoundSpot { function, place, .. }) = found else { return Ok(()) };
        let node = if request.spot.is_entry() { 0 } else { place.node };
        let visible = place::visible(function, node, &self.names);
        let parameters: Vec<Name> = visible.into_iter().map(|(name, _)| name).collect();
        let mut scope = self.scope.clone();
        functions.iter().for_each(|function| _ = scope.world.define(function, None));
        let surroundings = DebuggerEnvironment {
            hosts: &self.hosts,
            scope: &scope,
            names: &self.names,
            suggestions: Budget::default(),
        };
        sema::check_formula(&item, &parameters, &surroundings).map(drop).map_err(wrong)
    }
}

/// Returns the line of a spot; `None` for a function's beginning.
fn line_of(spot: &Spot) -> Option<usize> {
    match spot {
        Spot::Function(_) => None,
        Spot::Line { line, .. } => Some(*line),
    }
}
