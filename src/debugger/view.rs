//! What is shown of a stopped run.

use super::place::{self, InstructionPlace, Places};
use super::{Inner, waiting};
use crate::host::decimal::{format_number, grouped};
use crate::interp::inspect::{CallFrame, PausedRun};
use crate::name::Name;
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use crate::sema::instance::shown_call;
use crate::source::Source;
use crate::tape::Tape;

/// How many lines are shown before and after the present one.
const AROUND: usize = 2;

/// How many calls `bt` shows of very many: the innermost, those on each side of the selected one, and
/// the outermost.
const INNERMOST: usize = 30;
const NEAR: usize = 5;
const OUTERMOST: usize = 10;

/// How many lines `list` shows before a line and after it.
const LISTED: usize = 5;

impl Inner {
    /// Shows the place of a frame, and the watched expressions.
    pub(super) fn show(&mut self, stop: &mut PausedRun<'_>, selected: usize) {
        let Some(frame) = stop.frames.get(selected).cloned() else { return };
        let place = place_of(&frame);
        let mut text = self.head(stop, selected, place.as_ref());
        if let Some(place) = place {
            let source = &frame.function.source;
            let line = |at| source.line(at);
            let own = line(frame.function.span.start)..=line(frame.function.span.end);
            let first = place.line.saturating_sub(AROUND).max(*own.start());
            let last = (place.line + AROUND).min(*own.end());
            text = text + "\n" + &excerpt(source, first..=last, Some(&place));
        }
        self.console.say(&text);
        if !self.watches.is_empty() {
            self.show_watches(stop, selected);
        }
    }

    /// Returns the signature of a function: `fib(n)`.
    pub(super) fn signature(&self, function: &CheckedFunction) -> String {
        shown_call(function, usize::MAX, &self.names)
    }

    /// Returns the head line of a frame: `fib(n) at program.kal:3:14`; for
    /// compiled code, the line at most.
    fn head(&self, stop: &PausedRun<'_>, number: usize, place: Option<&InstructionPlace>) -> String {
        let function = &stop.frames[number].function;
        let (signature, file) = (self.signature(function), function.source.name());
        match (place, waiting::line(&self.scope.world, stop, number)) {
            (Some(place), _) => format!("{signature} at {file}:{}:{}", place.line, place.column),
            (None, Some(line)) => format!("{signature} at {file}:{line}, compiled"),
            (None, None) => format!("{signature}, compiled"),
        }
    }

    /// Returns why the variables of a compiled frame are not available.
    fn unknown(&self, frame: &CallFrame) -> String {
        let function = &frame.function;
        let name = self.names.text(function.name);
        let (name, place) = match &*name {
            EXPRESSION => ("this expression", function.source.line(function.span.start).to_string()),
            name => (name, name.to_owned()),
        };
        format!(
            "{name} is compiled, so its variables cannot be shown: set a breakpoint with `bp {place}` and run it again"
        )
    }

    /// Shows the source around the place of a frame, or around a line.
    pub(super) fn list(&mut self, stop: &PausedRun<'_>, selected: usize, line: &str) {
        let Some(frame) = stop.frames.get(selected) else { return };
        let place = place_of(frame);
        let here = place.as_ref().map(|place| place.line);
        let own = frame.function.source.line(frame.function.span.start);
        let wanted = if line.is_empty() { Some(here.unwrap_or(own)) } else { line.parse().ok() };
        let Some(line) = wanted else { return self.error("usage: l [LINE]") };
        let lines = line.saturating_sub(LISTED).max(1)..=line.saturating_add(LISTED);
        let text = excerpt(&frame.function.source, lines, place.as_ref());
        if text.is_empty() {
            return self.error(&format!("there is no line {line}"));
        }
        self.console.say(&text);
    }

    /// Shows the source of a whole function.
    pub(super) fn list_function(&mut self, stop: &PausedRun<'_>, selected: usize) {
        let Some(frame) = stop.frames.get(selected) else { return };
        let (function, place) = (&frame.function, place_of(frame));
        let line = |at| function.source.line(at);
        let lines = line(function.span.start)..=line(function.span.end);
        let text = excerpt(&function.source, lines, place.as_ref());
        self.console.say(&text);
    }

    /// Shows what is defined.
    pub(super) fn list_functions(&mut self) {
        let line = |function: &CheckedFunction| function.source.line(function.span.start);
        let mut lines: Vec<String> = self
            .scope
            .world
            .functions()
            .map(|function| {
                format!("{}  {}:{}", self.signature(function), function.source.name(), line(function))
            })
            .collect();
        lines.sort();
        lines.extend(self.scope.world.variables().map(|name| format!("var {}", self.names.text(name))));
        self.console.say(&if lines.is_empty() { "nothing is defined".to_owned() } else { lines.join("\n") });
    }

    /// Shows the next instruction, and the accumulator.
    pub(super) fn show_instruction(&mut self, stop: &PausedRun<'_>, frame: &CallFrame, tape: &Tape) {
        let Some(offset) = frame.offset else { return };
        let instruction = tape.instruction_at(offset as usize, &frame.function, &self.names);
        let accumulator = format_number(stop.accumulator());
        self.console.say(&format!("next: {instruction}    accumulator _ = {accumulator}"));
    }

    /// Shows the calls in progress, the selected one marked: of very many, the innermost, those
    /// around the selected one, and the outermost.
    pub(super) fn backtrace(&mut self, stop: &PausedRun<'_>, selected: usize) {
        let count = stop.frames.len();
        let near = selected.saturating_sub(NEAR)..=selected.saturating_add(NEAR);
        let near = (*near.start()).min(count)..near.end().saturating_add(1).min(count);
        let parts = [0..INNERMOST.min(count), near, count.saturating_sub(OUTERMOST)..count];
        let (mut lines, mut shown) = (Vec::new(), 0);
        for part in parts {
            if let Some(skipped) = part.start.checked_sub(shown).filter(|skipped| *skipped > 0) {
                let calls = if skipped == 1 { "call" } else { "calls" };
                lines.push(format!("     … {} {calls} more; `fr N` selects one", grouped(skipped as u64)));
            }
            (part.start.max(shown)..part.end)
                .for_each(|number| self.call(stop, number, selected, &mut lines));
            shown = shown.max(part.end);
        }
        self.console.say(&lines.join("\n"));
    }

    /// Adds the lines of a call in progress.
    fn call(&self, stop: &PausedRun<'_>, number: usize, selected: usize, lines: &mut Vec<String>) {
        let Some(frame) = stop.frames.get(number) else { return };
        let mark = if number == selected { '>' } else { ' ' };
        let head = self.head(stop, number, place_of(frame).as_ref());
        lines.push(format!("{mark}{:>3} {head}", number + 1));
        let parameters = frame.function.parameters.iter().zip(0u32..).filter(|_| frame.offset.is_some());
        let values: Vec<String> =
            parameters.map(|(name, local)| self.value(*name, stop.local(frame, local))).collect();
        if !values.is_empty() {
            lines.push(format!("       {}", values.join(", ")));
        }
    }

    pub(super) fn locals(&mut self, stop: &PausedRun<'_>, selected: usize) {
        let Some(frame) = stop.frames.get(selected) else { return };
        if frame.offset.is_none() {
            return self.console.say(&self.unknown(frame));
        }
        let locals = self.visible(frame);
        let lines: Vec<String> =
            locals.iter().map(|(name, local)| self.value(*name, stop.local(frame, *local))).collect();
        self.console.say(&if lines.is_empty() { "no variables".to_owned() } else { lines.join("\n") });
    }

    fn value(&self, name: Name, value: f64) -> String {
        format!("{} = {}", self.names.text(name), format_number(value))
    }

    /// Returns the variables visible at the place of a frame.
    pub(super) fn visible(&self, frame: &CallFrame) -> Vec<(Name, u32)> {
        match frame.offset {
            // Compiled code does not record where its values are.
            None => Vec::new(),
            // At the very beginning there are only the parameters.
            Some(0) => place::visible(&frame.function, 0, &self.names),
            Some(_) => {
                let node = place_of(frame).map_or(0, |place| place.node);
                place::visible(&frame.function, node, &self.names)
            }
        }
    }

    pub(super) fn print(&mut self, stop: &mut PausedRun<'_>, selected: usize, text: &str) {
        let Some(frame) = stop.frames.get(selected).cloned() else { return };
        let said = match self.evaluate(stop, &frame, text) {
            Ok(value) => {
                self.answer = Some(value);
                format_number(value)
            }
            Err(error) if frame.offset.is_none() => format!("{error}\n{}", self.unknown(&frame)),
            Err(error) => error.to_string(),
        };
        self.console.say(&said);
    }

    pub(super) fn show_watches(&mut self, stop: &mut PausedRun<'_>, selected: usize) {
        let Some(frame) = stop.frames.get(selected).cloned() else { return };
        for (number, watch) in self.watches.clone().iter().enumerate() {
            let value = match self.evaluate(stop, &frame, watch) {
                Ok(value) => format_number(value),
                // Where a watched expression has no meaning, only that is
                // shown.
                Err(_) => "?".to_owned(),
            };
            self.console.say(&format!("{}: {watch} = {value}", number + 1));
        }
    }
}

fn place_of(frame: &CallFrame) -> Option<InstructionPlace> {
    let (offset, tape) = (frame.offset?, frame.tape.as_ref()?);
    Places::of(&frame.function, tape).at(offset).copied()
}

/// Shows lines of a source with their numbers, the place marked.
fn excerpt(
    source: &Source,
    shown: std::ops::RangeInclusive<usize>,
    place: Option<&InstructionPlace>,
) -> String {
    let (base, _) = source.position(0);
    let mut lines = Vec::new();
    for (number, line) in source.text().lines().enumerate().map(|(index, line)| (index + base, line)) {
        if !shown.contains(&number) {
            continue;
        }
        let here = place.filter(|place| place.line == number);
        let mark = if here.is_some() { '>' } else { ' ' };
        lines.push(format!("{mark}{number:>3} | {line}"));
        if let Some(place) = here {
            let carets = "^".repeat(place.end_column - place.column);
            lines.push(format!("     | {:width$}{carets}", "", width = place.column - 1));
        }
    }
    lines.join("\n")
}
