//! The debugger's prompt: commands are read and carried out until one lets the
//! run go on. What is no command is an expression, or a definition.

use super::command::{self, Action, Command};
use super::plan::Plan;
use super::{Ending, Inner, Then};
use crate::interp::inspect::{Reason, Stop};
use crate::sema::checked::CheckedFunction;
use crate::syntax::is_identifier;
use std::sync::Arc;

impl Inner {
    /// Reads and carries out commands until one lets the run go on.
    pub(super) fn ask(&mut self, stop: &mut Stop<'_>, can_go_on: bool) -> Then {
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

    /// Every word that means something there.
    fn words(&self, stop: &Stop<'_>, selected: usize) -> Vec<String> {
        let locals = stop.frames.get(selected).map(|frame| self.visible(stop, frame));
        let locals = locals.unwrap_or_default().into_iter().map(|(name, _)| name);
        let functions = stop.bound().map(|function| function.name).chain(stop.hosts().names());
        let known = locals.chain(self.scope.variables.iter().copied()).chain(functions);
        let known = known.map(|name| self.names.text(name).to_owned());
        command::words().map(str::to_owned).chain(known).collect()
    }

    fn carry_out(&mut self, stop: &mut Stop<'_>, line: &str, selected: &mut usize) -> Then {
        let line = line.trim();
        let plain = line.strip_prefix(':').map_or(line, str::trim_start);
        let Some((command, rest)) = self.command(plain) else {
            if plain.len() < line.len() {
                self.foreign(plain);
            } else {
                self.text(stop, *selected, line);
            }
            return Then::Ask;
        };
        // At the prompt `:list` shows what is defined.
        let action = if line == ":list" { Action::Functions } else { command.action };
        if !command.takes(rest) && line != ":list" {
            self.error(&command.usage());
            return Then::Ask;
        }
        self.act(stop, action, rest, selected)
    }

    /// The command of a line, unless that is an expression which only begins
    /// like one: `n + 1`.
    fn command<'l>(&self, line: &'l str) -> Option<(&'static Command, &'l str)> {
        let (command, rest) = Command::read(line)?;
        let is_operator = rest.starts_with(|sign: char| "+-*/%^<>=!&|".contains(sign));
        let is_expression = is_operator && !command.takes(rest) && is_identifier(line.split(' ').next()?);
        (!is_expression).then_some((command, rest))
    }

    fn act(&mut self, stop: &mut Stop<'_>, action: Action, rest: &str, selected: &mut usize) -> Then {
        match action {
            Action::Next => return Then::Follow(Plan::Next),
            Action::NextLine => return Then::Follow(Plan::NextLine),
            Action::NextCall => return Then::Follow(Plan::NextCall),
            Action::Step => return Then::Follow(Plan::Step),
            Action::Token => return Then::Follow(Plan::Token),
            Action::Finish => return Then::Follow(Plan::Finish),
            Action::Continue => return Then::Follow(Plan::Continue),
            Action::Quit => return self.end(Ending::Quit),
            Action::Restart => return self.end(Ending::Restart),
            Action::Until => return self.until(stop, rest),
            Action::Retry => return self.retry(stop, *selected),
            Action::Backtrace => self.backtrace(stop, *selected),
            Action::Up => self.select(stop, selected, selected.checked_add(1)),
            Action::Down => self.select(stop, selected, selected.checked_sub(1)),
            Action::Frame if rest.is_empty() => self.select(stop, selected, Some(*selected)),
            Action::Frame => {
                let wanted = rest.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                self.select(stop, selected, wanted);
            }
            Action::Here => self.show(stop, *selected),
            Action::List => self.list(stop, *selected, rest),
            Action::Whole => self.list_function(stop, *selected),
            Action::Locals => self.locals(stop, *selected),
            Action::Info => self.info(stop, *selected, rest),
            Action::Functions => self.list_functions(stop),
            Action::Print => self.print(stop, *selected, rest),
            Action::Watch => self.watch(stop, *selected, rest),
            Action::Unwatch => self.watch(stop, *selected, &format!("rm {rest}")),
            Action::Breakpoints => self.breakpoint(stop, *selected, rest),
            Action::Once => self.breakpoint(stop, *selected, &format!("once {rest}")),
            Action::Ignore => self.breakpoint(stop, *selected, &format!("ignore {rest}")),
            Action::Delete => self.breakpoint(stop, *selected, &format!("rm {rest}")),
            Action::Enable => self.breakpoint(stop, *selected, &format!("on {rest}")),
            Action::Disable => self.breakpoint(stop, *selected, &format!("off {rest}")),
            Action::Help => self.console.say(&command::help()),
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

    /// A command of the other prompt.
    fn foreign(&mut self, line: &str) {
        let word = line.split_whitespace().next().unwrap_or_default();
        self.error(&format!("`:{word}` is for the kal> prompt; here, h shows the commands"));
    }

    /// What is no command: a definition, or an expression.
    fn text(&mut self, stop: &mut Stop<'_>, selected: usize, line: &str) {
        let word = line.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next().unwrap_or_default();
        if matches!(word, "def" | "var" | "extern") && self.define(stop, line) {
            return;
        }
        let Some(frame) = stop.frames.get(selected).cloned() else { return };
        let is_known = self.visible(stop, &frame).iter().any(|(name, _)| self.names.text(*name) == word)
            || self
                .names
                .get(word)
                .is_some_and(|name| self.scope.variables.contains(&name) || stop.binding(name).is_some());
        let rest = line[word.len()..].trim_start();
        let is_call = rest.starts_with(|sign: char| "(+-*/%^<>=!&|.:".contains(sign));
        match command::meant(word).filter(|_| !is_known && !is_call) {
            Some(meant) => self.error(&format!("unknown command `{word}`; did you mean `{meant}`?")),
            None => self.print(stop, selected, line),
        }
    }

    fn until(&mut self, stop: &Stop<'_>, rest: &str) -> Then {
        if rest.is_empty() {
            return Then::Follow(Plan::Until(None));
        }
        let function = stop.frames.first().map(|frame| frame.function.clone());
        let lines = function.map_or((0, 0), |function| {
            let line = |at| function.source.position(at).0;
            (line(function.span.start), line(function.span.end))
        });
        match rest.parse() {
            Ok(line) if (lines.0..=lines.1).contains(&line) => return Then::Follow(Plan::Until(Some(line))),
            Ok(line) => {
                self.error(&format!("line {line} is not in this function: lines {} to {}", lines.0, lines.1));
            }
            Err(_) => self.error("usage: u [LINE]"),
        }
        Then::Ask
    }

    /// Makes the call again that has failed, or that the next frame outwards has
    /// made for the selected one.
    fn retry(&mut self, stop: &Stop<'_>, selected: usize) -> Then {
        let number = if stop.reason == Reason::Failure { selected } else { selected + 1 };
        if stop.can_call_again(number) {
            return Then::Again(number);
        }
        self.error("there is no call that could be made again; `restart` begins from the start");
        Then::Ask
    }

    fn info(&mut self, stop: &mut Stop<'_>, selected: usize, rest: &str) {
        match rest {
            "locals" | "args" => self.locals(stop, selected),
            "frame" => self.show(stop, selected),
            "breakpoints" | "break" | "b" => self.breakpoint(stop, selected, ""),
            "display" => self.show_watches(stop, selected),
            "functions" => self.list_functions(stop),
            _ => self.error("usage: info locals | args | frame | breakpoints | display | functions"),
        }
    }

    fn breakpoint(&mut self, stop: &Stop<'_>, selected: usize, rest: &str) {
        let bound = stop.bound().cloned();
        let frames = stop.frames.iter().map(|frame| frame.function.clone());
        let functions: Vec<Arc<CheckedFunction>> = frames.chain(bound).collect();
        let here = stop.frames.get(selected).map(|frame| frame.function.source.name().to_owned());
        let answer = self.change_breakpoints(rest, functions, here.as_deref());
        self.console.say(&answer.unwrap_or_else(|message| format!("error: {message}")));
    }

    fn watch(&mut self, stop: &mut Stop<'_>, selected: usize, rest: &str) {
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

    fn select(&mut self, stop: &mut Stop<'_>, selected: &mut usize, wanted: Option<usize>) {
        match wanted.filter(|wanted| *wanted < stop.frames.len()) {
            Some(wanted) => {
                *selected = wanted;
                self.show(stop, wanted);
            }
            None => self.error("there is no such call"),
        }
    }
}
