//! The debugger: what happens when a run stops.
//!
//! Functions that hold breakpoints, or are being stepped through, run on their
//! tapes; all others run as they do without a debugger. The interpreter asks a
//! [`Debugger`] before an instruction where a run is to stop; that reads
//! commands from a [`Console`] until one lets the run go on. Every such command
//! is a [`plan`] over single steps.

mod breakpoint;
mod command;
mod evaluate;
mod place;
mod plan;
mod view;
mod waiting;

use crate::diagnostic::suggest::Budget;
use crate::error::Teller;
use crate::failure::{Failure, Stopped};
use crate::interp::inspect::{self, Frame, Go, Inspector, Stop};
use crate::name::{Name, Names};
use crate::output::format_number;
use crate::sema::checked::{EXPRESSION, Function};
use crate::syntax::operator::Operators;
use crate::tape::Tape;
use breakpoint::Breakpoints;
use command::{Action, Command};
use parking_lot::Mutex;
use place::Places;
use plan::{Moment, Plan};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where the commands of the debugger come from, and where it answers.
pub trait Console: Send {
    /// Reads a line; `None` at the end of the input.
    fn read(&mut self, prompt: &str) -> Option<String>;

    /// Writes lines, without the last line's end.
    fn say(&mut self, text: &str);
}

/// With which operators and variables expressions are read.
#[derive(Clone)]
pub(crate) struct Scope {
    pub(crate) operators: Arc<Operators>,
    pub(crate) variables: BTreeSet<Name>,
    pub(crate) max_nesting: u32,
}

/// The debugger of one context. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Debugger(Arc<Mutex<Inner>>);

struct Inner {
    names: Arc<Names>,
    console: Box<dyn Console>,
    breakpoints: Breakpoints,
    breaks_on_error: bool,
    watches: Vec<String>,
    scope: Scope,
    /// Whether the next run begins with a stop.
    stops_at_first: bool,
    /// Whether steps lead from one run to the next.
    follows: bool,
    plan: Plan,
    /// Where the plan was made.
    start: Option<Moment>,
    /// The line that an empty one repeats.
    last: String,
    has_changed: bool,
    /// The expressions that were read in the present run, by their texts and
    /// the variables that they could see.
    read: FxHashMap<(String, Vec<Name>), Arc<Function>>,
}

impl Debugger {
    /// A debugger without breakpoints.
    pub(crate) fn new(names: &Arc<Names>, scope: Scope, console: Box<dyn Console>) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            names: names.clone(),
            console,
            breakpoints: Breakpoints::default(),
            breaks_on_error: false,
            watches: Vec::new(),
            scope,
            stops_at_first: false,
            follows: false,
            plan: Plan::Continue,
            start: None,
            last: String::new(),
            has_changed: false,
            read: FxHashMap::default(),
        })))
    }

    /// An expression is about to run; what is typed at a stop is read in its
    /// scope.
    pub(crate) fn begin(&self, scope: Scope) {
        let mut inner = self.0.lock();
        inner.scope = scope;
        inner.read.clear();
        if !inner.follows {
            inner.plan = Plan::Continue;
            inner.start = None;
        }
    }

    /// A step from the end of a run leads to the beginning of the next one.
    pub(crate) fn follow(&self) {
        self.0.lock().follows = true;
    }

    /// Whether the next run begins with a stop.
    pub(crate) fn stop_at_first(&self, stops: bool) {
        self.0.lock().stops_at_first = stops;
    }

    /// Whether runs stop where they fail.
    pub(crate) fn break_on_error(&self, breaks: bool) {
        self.0.lock().breaks_on_error = breaks;
    }

    /// A function has been defined.
    pub(crate) fn note(&self, function: &Arc<Function>) {
        self.0.lock().breakpoints.note(function);
    }

    /// Carries out what stands behind `bp`; the answer, or what is wrong.
    /// `functions` are all that are defined.
    pub(crate) fn breakpoints<'f>(
        &self,
        text: &str,
        functions: impl Iterator<Item = &'f Arc<Function>>,
    ) -> Result<String, String> {
        self.0.lock().change_breakpoints(text, functions)
    }
}

impl Inspector for Debugger {
    fn breaks(&self, function: &Arc<Function>, tape: &Tape) -> Vec<u32> {
        let inner = self.0.lock();
        let mut offsets: Vec<u32> =
            inner.breakpoints.offsets(function, tape).map(|(_, offset)| offset).collect();
        offsets.dedup();
        offsets
    }

    fn holds(&self, name: Name) -> bool {
        self.0.lock().breakpoints.holds(name)
    }

    fn held(&self) -> Vec<Name> {
        self.0.lock().breakpoints.held()
    }

    fn wants(&self, function: &Function) -> bool {
        let inner = self.0.lock();
        inner.stops_at_first() || inner.breakpoints.covers(function)
    }

    fn stops_at_first(&self) -> bool {
        self.0.lock().stops_at_first()
    }

    fn stopped(&mut self, stop: &mut Stop<'_>) -> Go {
        self.0.lock().stopped(stop)
    }

    fn left(&mut self, base: usize, value: f64, caller: Option<&Arc<Function>>) -> bool {
        self.0.lock().left(base, value, caller)
    }

    fn failed(&mut self, stop: &mut Stop<'_>, stopped: &Stopped) {
        self.0.lock().failed(stop, stopped);
    }

    fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.0.lock().has_changed)
    }
}

/// What happens after a command.
enum Then {
    /// The next one is read.
    Ask,
    /// The run goes on.
    Follow(Plan),
    /// The run ends.
    Quit,
}

impl Inner {
    fn stops_at_first(&self) -> bool {
        self.stops_at_first || (self.follows && self.start.is_some() && self.plan != Plan::Continue)
    }

    fn stopped(&mut self, stop: &mut Stop<'_>) -> Go {
        let Some(frame) = stop.frames.first().cloned() else { return Go::On };
        let Some(tape) = stop.tape(&frame.function) else { return Go::On };
        let Some(now) = moment(&frame, &tape) else { return Go::On };
        let is_nameless = self.names.text(frame.function.name) == EXPRESSION;
        let is_first = now.offset == 0 && is_nameless && self.stops_at_first();
        self.stops_at_first = false;
        let has_arrived = self.start.is_some_and(|start| self.plan.has_arrived(start, now));
        if !is_first && !has_arrived && !self.is_at_breakpoint(stop, &frame, &tape) {
            return self.start.map_or(Go::On, |start| self.plan.go(start));
        }
        if has_arrived && self.plan == Plan::Finish {
            self.console.say(&format!("returned {}", format_number(stop.accumulator())));
        }
        self.show(stop, 0);
        match self.ask(stop, true) {
            Then::Follow(plan) => {
                self.plan = plan;
                self.start = Some(now);
                plan.go(now)
            }
            Then::Quit | Then::Ask => {
                self.start = None;
                Go::Quit
            }
        }
    }

    /// A step has led out of a run on tapes, to compiled code.
    fn left(&mut self, base: usize, value: f64, caller: Option<&Arc<Function>>) -> bool {
        if self.start.is_none_or(|start| start.base < base) {
            return false;
        }
        if self.plan == Plan::Finish {
            self.console.say(&format!("returned {}", format_number(value)));
        }
        let caller = caller.map_or_else(|| "the caller".to_owned(), |caller| self.signature(caller));
        self.console.say(&format!("{caller} is compiled: going on to its next call, or its end"));
        self.plan = Plan::Anywhere;
        true
    }

    fn failed(&mut self, stop: &mut Stop<'_>, stopped: &Stopped) {
        self.start = None;
        let Stopped { failure, trace } = stopped;
        if !self.breaks_on_error || stop.frames.is_empty() || matches!(failure, Failure::Interrupted) {
            return;
        }
        let message = self.teller(stop, |teller| teller.tell(failure).message);
        self.console.say(&format!("stopped: {message}"));
        if !trace.is_empty() {
            let calls = trace.inner.iter().map(|calls| self.signature(&calls.function));
            let calls = calls.chain((trace.omitted > 0).then(|| "…".to_owned()));
            self.console.say(&format!("in compiled code: {}", calls.collect::<Vec<_>>().join(", ")));
        }
        self.show(stop, 0);
        self.ask(stop, false);
    }

    /// Whether a breakpoint stands there whose condition is true.
    fn is_at_breakpoint(&mut self, stop: &mut Stop<'_>, frame: &Frame, tape: &Tape) -> bool {
        let here = self.breakpoints.offsets(&frame.function, tape);
        let conditions: Vec<Option<String>> = here
            .filter(|(_, offset)| Some(*offset) == frame.offset)
            .map(|(breakpoint, _)| breakpoint.condition.clone())
            .collect();
        conditions.into_iter().any(|condition| {
            let Some(condition) = condition else { return true };
            match self.evaluate(stop, frame, &condition) {
                Ok(value) => value != 0.0 && !value.is_nan(),
                Err(message) => {
                    self.console.say(message.trim_end());
                    true
                }
            }
        })
    }

    /// Reads and carries out commands until one lets the run go on.
    fn ask(&mut self, stop: &mut Stop<'_>, can_go_on: bool) -> Then {
        let mut selected = 0;
        loop {
            let Some(line) = self.console.read(&format!("{}|debug> ", selected + 1)) else {
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

    fn carry_out(&mut self, stop: &mut Stop<'_>, line: &str, selected: &mut usize) -> Then {
        let Some((command, rest)) = Command::read(line) else {
            self.console.say(&format!("error: unknown command `{}`; h shows them", line.trim()));
            return Then::Ask;
        };
        match command.action {
            Action::Next => return Then::Follow(Plan::Next),
            Action::Step => return Then::Follow(Plan::Step),
            Action::Token => return Then::Follow(Plan::Token),
            Action::Finish => return Then::Follow(Plan::Finish),
            Action::Continue => return Then::Follow(Plan::Continue),
            Action::Quit => return Then::Quit,
            Action::Until if rest.is_empty() => return Then::Follow(Plan::Until(None)),
            Action::Until => match rest.parse() {
                Ok(line) => return Then::Follow(Plan::Until(Some(line))),
                Err(_) => self.console.say("error: u LINE"),
            },
            Action::Backtrace => self.backtrace(stop, *selected),
            Action::Up => self.select(stop, selected, selected.checked_add(1)),
            Action::Down => self.select(stop, selected, selected.checked_sub(1)),
            Action::Frame if rest.is_empty() => self.select(stop, selected, Some(*selected)),
            Action::Frame => {
                let wanted = rest.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                self.select(stop, selected, wanted);
            }
            Action::Locals => self.locals(stop, *selected),
            Action::Print => self.print(stop, *selected, rest),
            Action::Watch => self.watch(stop, *selected, rest),
            Action::Breakpoints => {
                let functions: Vec<_> = stop.bound().cloned().collect();
                let frames: Vec<_> = stop.frames.iter().map(|frame| frame.function.clone()).collect();
                let answer = self.change_breakpoints(rest, functions.iter().chain(&frames));
                self.console.say(&answer.unwrap_or_else(|message| format!("error: {message}")));
            }
            Action::Where => self.show(stop, *selected),
            Action::Help => self.console.say(&command::help()),
        }
        Then::Ask
    }

    fn change_breakpoints<'f>(
        &mut self,
        text: &str,
        functions: impl Iterator<Item = &'f Arc<Function>>,
    ) -> Result<String, String> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim();
        let changed = match (word, rest) {
            ("", _) => return Ok(self.list_breakpoints()),
            ("error", "" | "on" | "off") => {
                self.breaks_on_error = rest != "off";
                return Ok(format!("stops at errors: {}", if self.breaks_on_error { "on" } else { "off" }));
            }
            ("rm", number) => self.breakpoints.remove(number).map(|()| format!("{number} removed")),
            ("on" | "off", number) if !number.is_empty() => {
                self.breakpoints.enable(number, word == "on").map(|()| format!("{number} {word}"))
            }
            _ => self.breakpoints.add(text, &self.names).map(ToString::to_string),
        };
        self.breakpoints.settle(functions);
        self.has_changed = true;
        changed.map_err(|mistake| mistake.to_string())
    }

    fn list_breakpoints(&self) -> String {
        let lines: Vec<String> = self.breakpoints.all().iter().map(ToString::to_string).collect();
        if lines.is_empty() { "no breakpoints".into() } else { lines.join("\n") }
    }

    fn watch(&mut self, stop: &mut Stop<'_>, selected: usize, rest: &str) {
        match rest.strip_prefix("rm ").map(|number| number.trim().parse::<usize>()) {
            Some(Ok(number)) if (1..=self.watches.len()).contains(&number) => {
                self.watches.remove(number - 1);
            }
            Some(_) => self.console.say("error: there is no such watch"),
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
            None => self.console.say("error: there is no such call"),
        }
    }

    /// Lends a teller of failures.
    fn teller<T>(&self, stop: &Stop<'_>, tell: impl FnOnce(&Teller<'_>) -> T) -> T {
        let functions = || -> Vec<Name> {
            stop.bound().map(|function| function.name).chain(stop.hosts().names()).collect()
        };
        tell(&Teller { names: &self.names, functions: &functions, suggestions: &Budget::default() })
    }

    /// Why an expression did not run to its end.
    fn why(&self, stop: &Stop<'_>, stopped: &Stopped) -> String {
        self.teller(stop, |teller| format!("error: {}", teller.tell_stopped(stopped).message))
    }
}

fn moment(frame: &Frame, tape: &Tape) -> Option<Moment> {
    let offset = frame.offset?;
    let places = Places::of(&frame.function, tape);
    let (line, node) = places.at(offset).map_or((0, 0), |place| (place.line, place.node));
    Some(Moment { base: frame.base, offset, node, line, is_call: inspect::calls(tape, offset) })
}
