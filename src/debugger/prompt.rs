//! The debugger's prompt: commands are read and executed until one resumes the
//! run. Anything else is an expression or a definition.

use super::command::{self, DebuggerAction, DebuggerCommand};
use super::plan::StepPlan;
use super::{Ending, Inner, Then};
use crate::interp::inspect::{PausedRun, Reason};
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use crate::syntax::is_identifier;
use std::sync::Arc;

impl Inner {
    /// Reads and executes commands until one resumes the run.
    pub(super) fn ask(&mut self, stop: &mut PausedRun<'_>, can_go_on: bool) -> Then {
        let mut selected = 0;
        loop {
            if self.console.completes() {
                let words = self.words(stop, selected);
                self.console.offer(words);
            }
            let Some(line) = self.console.read(&format!("{}|debug> ", selected + 1)) else {
                self.ending = Some(Ending::Quit);
                return Then::Quit;
            };
            let line = if line.trim().is_empty() { self.last.clone() } else { line };
            self.last.clone_from(&line);
            if line.trim().is_empty() {
                continue;
            }
            match self.carry_out(stop, &line, &mut selected) {
                Then::Ask => {}
                Then::Follow(_) if !can_go_on => return Then::Quit,
                then => return then,
            }
        }
    }

    /// Returns every word that can be completed: commands and names in scope.
    fn words(&self, stop: &PausedRun<'_>, selected: usize) -> Vec<String> {
        let locals = stop.frames.get(selected).map(|frame| self.visible(frame));
        let locals = locals.unwrap_or_default().into_iter().map(|(name, _)| name);
        let bound = self.scope.world.functions().chain(&self.expected).map(|function| function.name);
        let functions = bound.filter(|name| self.names.text(*name) != EXPRESSION).chain(stop.hosts().names());
        let known = locals.chain(self.scope.world.variables()).chain(functions);
        let known = known.map(|name| self.names.text(name).to_string());
        command::words().map(str::to_owned).chain(known).collect()
    }

    fn carry_out(&mut self, stop: &mut PausedRun<'_>, line: &str, selected: &mut usize) -> Then {
        let line = line.trim();
        let plain = line.strip_prefix(':').map_or(line, str::trim_start);
        let Some((command, rest)) = self.command(stop, *selected, plain) else {
            if plain.len() < line.len() {
                self.foreign(plain);
            } else {
                self.text(stop, *selected, line);
            }
            return Then::Ask;
        };
        // At the main prompt, `:list` shows what is defined.
        let action = if line == ":list" { DebuggerAction::Functions } else { command.action };
        if !command.takes(rest) && line != ":list" {
            self.error(&command.usage());
            return Then::Ask;
        }
        self.act(stop, action, rest, selected)
    }

    /// Returns the command of a line, unless it is an expression that begins
    /// like one: `n + 1`; or `p - 2`, where there is a variable `p`.
    fn command<'l>(
        &self,
        stop: &PausedRun<'_>,
        selected: usize,
        line: &'l str,
    ) -> Option<(&'static DebuggerCommand, &'l str)> {
        let (command, rest) = DebuggerCommand::read(line)?;
        let operand = rest.trim_start_matches(is_sign);
        let is_operator = operand.len() < rest.len();
        // No argument begins like this: `w = 7` assigns, and watches nothing.
        let assigns = rest.starts_with('=') || is_operator && rest[1..].starts_with('=');
        let word = line.split(' ').next()?;
        let is_apart = is_operator && operand.starts_with(' ') && self.is_variable(stop, selected, word);
        let may_be = is_operator && (assigns || is_apart || !command.takes(rest));
        let is_expression = may_be && is_identifier(word);
        (!is_expression).then_some((command, rest))
    }

    /// Returns whether a word is a variable at the place of a call.
    fn is_variable(&self, stop: &PausedRun<'_>, selected: usize, word: &str) -> bool {
        let locals = stop.frames.get(selected).map(|frame| self.visible(frame)).unwrap_or_default();
        locals.iter().any(|(name, _)| self.names.text(*name) == word)
            || self.names.get(word).is_some_and(|name| self.scope.world.has_variable(name))
    }

    fn act(
        &mut self,
        stop: &mut PausedRun<'_>,
        action: DebuggerAction,
        rest: &str,
        selected: &mut usize,
    ) -> Then {
        match action {
            DebuggerAction::Next => return Then::Follow(StepPlan::Next),
            DebuggerAction::NextLine => return Then::Follow(StepPlan::NextLine),
            DebuggerAction::NextCall => return Then::Follow(StepPlan::NextCall),
            DebuggerAction::Step => return Then::Follow(StepPlan::Step),
            DebuggerAction::Token => return Then::Follow(StepPlan::Token),
            DebuggerAction::Finish => return Then::Follow(StepPlan::Finish),
            DebuggerAction::Continue => return Then::Follow(StepPlan::Continue),
            DebuggerAction::Quit => return self.end(Ending::Quit),
            DebuggerAction::Restart => return self.end(Ending::Restart),
            DebuggerAction::Until => return self.until(stop, rest),
            DebuggerAction::Retry => return self.retry(stop, *selected),
            DebuggerAction::Backtrace => self.backtrace(stop, *selected),
            DebuggerAction::Up => self.select(stop, selected, selected.checked_add(1)),
            DebuggerAction::Down => self.select(stop, selected, selected.checked_sub(1)),
            DebuggerAction::Frame if rest.is_empty() => self.select(stop, selected, Some(*selected)),
            DebuggerAction::Frame => {
                let wanted = rest.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                self.select(stop, selected, wanted);
            }
            DebuggerAction::Here => self.show(stop, *selected),
            DebuggerAction::List => self.list(stop, *selected, rest),
            DebuggerAction::Whole => self.list_function(stop, *selected),
            DebuggerAction::Locals => self.locals(stop, *selected),
            DebuggerAction::Info => self.info(stop, *selected, rest),
            DebuggerAction::Functions => self.list_functions(),
            DebuggerAction::Print => self.print(stop, *selected, rest),
            DebuggerAction::Watch => self.watch(stop, *selected, rest),
            DebuggerAction::Unwatch => self.watch(stop, *selected, &format!("rm {rest}")),
            DebuggerAction::Breakpoints => self.breakpoint(stop, *selected, rest),
            DebuggerAction::Once => self.breakpoint(stop, *selected, &format!("once {rest}")),
            DebuggerAction::Ignore => self.breakpoint(stop, *selected, &format!("ignore {rest}")),
            DebuggerAction::Delete => self.breakpoint(stop, *selected, &format!("rm {rest}")),
            DebuggerAction::Enable => self.breakpoint(stop, *selected, &format!("on {rest}")),
            DebuggerAction::Disable => self.breakpoint(stop, *selected, &format!("off {rest}")),
            DebuggerAction::Help => self.console.say(&command::help()),
        }
        Then::Ask
    }

    pub(super) fn error(&mut self, message: &str) {
        self.console.say(&format!("error: {message}"));
    }

    fn end(&mut self, ending: Ending) -> Then {
        self.ending = Some(ending);
        Then::Quit
    }

    /// Reports that a command belongs to the main prompt.
    fn foreign(&mut self, line: &str) {
        let word = line.split_whitespace().next().unwrap_or_default();
        self.error(&format!("`:{word}` is for the kal> prompt; here, h shows the commands"));
    }

    /// Executes a definition, or evaluates an expression.
    fn text(&mut self, stop: &mut PausedRun<'_>, selected: usize, line: &str) {
        let word = line.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next().unwrap_or_default();
        if matches!(word, "def" | "var" | "extern") && self.define(stop, line) {
            return;
        }
        let is_known = self.is_variable(stop, selected, word)
            || self.names.get(word).is_some_and(|name| self.scope.world.defines(name));
        let rest = line[word.len()..].trim_start();
        let is_call = rest.starts_with(|sign: char| is_sign(sign) || "(.:".contains(sign));
        let is_misspelt = !is_known && !is_call;
        match command::meant(word).filter(|_| is_misspelt) {
            _ if is_misspelt && word == "set" => {
                let assignment = rest.strip_prefix("var ").unwrap_or(rest);
                self.error(&format!("unknown command `set`; an assignment needs none: `{assignment}`"));
            }
            Some(meant) => self.error(&format!("unknown command `{word}`; did you mean `{meant}`?")),
            None => self.print(stop, selected, line),
        }
    }

    fn until(&mut self, stop: &PausedRun<'_>, rest: &str) -> Then {
        if rest.is_empty() {
            return Then::Follow(StepPlan::Until(None));
        }
        let function = stop.frames.first().map(|frame| frame.function.clone());
        let lines = function.map_or((0, 0), |function| {
            let line = |at| function.source.line(at);
            (line(function.span.start), line(function.span.end))
        });
        match rest.parse() {
            Ok(line) if (lines.0..=lines.1).contains(&line) => {
                return Then::Follow(StepPlan::Until(Some(line)));
            }
            Ok(line) => {
                self.error(&format!("line {line} is not in this function: lines {} to {}", lines.0, lines.1));
            }
            Err(_) => self.error("usage: u [LINE]"),
        }
        Then::Ask
    }

    /// Repeats the call that failed, or the call that entered the selected
    /// frame.
    fn retry(&mut self, stop: &PausedRun<'_>, selected: usize) -> Then {
        let number = if stop.reason == Reason::Failure { selected } else { selected + 1 };
        if stop.can_call_again(number) {
            return Then::Again(number);
        }
        let compiled = stop.frames.get(number).filter(|frame| frame.offset.is_none());
        let caller = compiled.map(|frame| self.names.text(frame.function.name));
        match caller.filter(|name| **name != *EXPRESSION) {
            Some(name) => self.error(&format!(
                "`{name}`, which made the call, is compiled: `bp {name}`, and run it again to repeat its calls"
            )),
            None => self.error("there is no call to repeat; `restart` runs from the beginning"),
        }
        Then::Ask
    }

    fn info(&mut self, stop: &mut PausedRun<'_>, selected: usize, rest: &str) {
        match rest {
            "locals" | "args" => self.locals(stop, selected),
            "frame" => self.show(stop, selected),
            "breakpoints" | "break" | "b" => self.breakpoint(stop, selected, ""),
            "display" => self.show_watches(stop, selected),
            "functions" => self.list_functions(),
            _ => self.error("usage: info locals | args | frame | breakpoints | display | functions"),
        }
    }

    fn breakpoint(&mut self, stop: &PausedRun<'_>, selected: usize, rest: &str) {
        let bound = self.scope.world.functions().cloned();
        let frames = stop.frames.iter().map(|frame| frame.function.clone());
        let functions: Vec<Arc<CheckedFunction>> = frames.chain(bound).collect();
        let here = stop.frames.get(selected).map(|frame| frame.function.source.name().to_owned());
        let answer = self.change_breakpoints(rest, functions, here.as_deref());
        self.console.say(&answer.unwrap_or_else(|message| format!("error: {message}")));
    }

    fn watch(&mut self, stop: &mut PausedRun<'_>, selected: usize, rest: &str) {
        match rest.strip_prefix("rm ").map(|number| number.trim().parse::<usize>()) {
            Some(Ok(number)) if (1..=self.watches.len()).contains(&number) => {
                self.watches.remove(number - 1);
            }
            Some(_) => self.error("there is no such watch"),
            None if rest.is_empty() => self.show_watches(stop, selected),
            None => {
                self.watches.push(rest.to_owned());
                self.show_watches(stop, selected);
            }
        }
    }

    fn select(&mut self, stop: &mut PausedRun<'_>, selected: &mut usize, wanted: Option<usize>) {
        match wanted.filter(|wanted| *wanted < stop.frames.len()) {
            Some(wanted) => {
                *selected = wanted;
                self.show(stop, wanted);
            }
            None => self.error("there is no such call"),
        }
    }
}

/// Returns whether a character may be one of an operator.
fn is_sign(character: char) -> bool {
    "+-*/%^<>=!&|".contains(character)
}
