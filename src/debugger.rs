//! The debugger: what happens when a run stops.
//!
//! Functions that hold breakpoints, or are being stepped through, are
//! interpreted; all others run as they do without a debugger. The interpreter
//! asks a [`Debugger`] before an instruction where a run may stop; that reads
//! commands from a [`Console`] until one resumes the run. Every such command is
//! a [`plan`] over single steps.

mod breakpoint;
mod command;
mod definition;
mod evaluate;
mod place;
mod plan;
mod prompt;
#[cfg(feature = "cli")]
mod session;
mod setting;
mod spot;
mod view;
mod waiting;

use crate::abi::{HeldVariables, Variables};
use crate::diagnostic::suggest::Budget;
use crate::failure::report::FailureReport;
use crate::failure::{CallGroup, Failure, RunFailure};
use crate::host::HostFunctions;
use crate::host::decimal::format_number;
use crate::interp::KeptFunction;
use crate::interp::inspect::{self, CallFrame, Go, Inspector, PausedRun, Reason};
use crate::name::{Name, Names};
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use crate::syntax::operator::Fixity;
use crate::tape::Tape;
use crate::world::World;
pub use breakpoint::BreakpointError;
use breakpoint::Breakpoints;
#[cfg(feature = "cli")]
pub(crate) use command::words;
use parking_lot::Mutex;
use place::Places;
use plan::{StepPlan, StepPosition};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The source of the debugger's commands, and where its answers go. If it
/// panics, the run ends with an error.
pub trait Console: Send {
    /// Reads a line; `None` at the end of the input.
    fn read(&mut self, prompt: &str) -> Option<String>;

    /// Reads a further line of a definition; an empty one ends it, `None`
    /// gives it up.
    fn read_more(&mut self, prompt: &str) -> Option<String> {
        Some(self.read(prompt).unwrap_or_default())
    }

    /// Writes one or more lines; `text` does not end in a line feed.
    fn say(&mut self, text: &str);

    /// Returns whether it completes words, and so wants them
    /// [offered](Self::offer).
    fn completes(&self) -> bool {
        false
    }

    /// Receives the words that can be completed in the line about to be read.
    fn offer(&mut self, _words: Vec<String>) {}
}

/// What expressions are read with.
#[derive(Clone)]
pub(crate) struct DebuggerScope {
    pub(crate) world: World,
    pub(crate) max_nesting: u32,
}

/// The debugger of one context. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Debugger(Arc<Mutex<Inner>>);

/// How a stopped run was ended from the prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// Ended.
    Quit,
    /// Started again.
    Restart,
}

/// How far a program is stepped.
pub(crate) struct Stepping {
    stops_at_first: bool,
    plan: StepPlan,
    start: Option<StepPosition>,
}

/// Which functions are interpreted although they could be compiled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
enum Reach {
    /// Only those under inspection.
    Looked,
    /// All, so that every frame can be inspected.
    Everything,
}

/// What was defined while a run was stopped.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) functions: Vec<NewDefinition>,
    /// The variables of each declaration.
    pub(crate) variables: Vec<HeldVariables>,
}

/// A definition made at the prompt.
pub(crate) struct NewDefinition {
    pub(crate) function: Arc<CheckedFunction>,
    pub(crate) fixity: Option<Fixity>,
}

struct Inner {
    names: Arc<Names>,
    hosts: Arc<HostFunctions>,
    variables: Arc<Variables>,
    console: Box<dyn Console>,
    breakpoints: Breakpoints,
    breaks_on_error: bool,
    /// Whether runs stop where a NaN or an infinity appears.
    breaks_on_nan: bool,
    /// Whether an interrupt stops the run here instead of ending it.
    breaks_in: bool,
    reach: Reach,
    ending: Option<Ending>,
    /// What has been defined at the prompt during the present run.
    changes: Changes,
    /// The names of all functions that were defined at the prompt.
    defined: BTreeSet<Name>,
    /// The functions of a program that is about to run.
    expected: Vec<Arc<CheckedFunction>>,
    /// The position of the previous step, if the run was being stepped.
    before: Option<StepPosition>,
    /// The value that the call stepped over has returned.
    returned: Option<f64>,
    /// The value that was shown last: `ans`.
    answer: Option<f64>,
    watches: Vec<String>,
    scope: DebuggerScope,
    /// Whether the next run begins with a stop.
    stops_at_first: bool,
    /// Whether stepping continues from one run to the next.
    follows: bool,
    plan: StepPlan,
    /// The position at which the plan began.
    start: Option<StepPosition>,
    /// The line that an empty one repeats.
    last: String,
    has_changed: bool,
    /// The expressions that were read in the present run, by their source and
    /// the variables visible to them.
    read: FxHashMap<(String, Vec<Name>), Arc<KeptFunction>>,
}

impl Debugger {
    /// Creates a debugger without breakpoints.
    pub(crate) fn new(
        names: &Arc<Names>,
        hosts: &Arc<HostFunctions>,
        variables: &Arc<Variables>,
        scope: DebuggerScope,
        console: Box<dyn Console>,
    ) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            names: names.clone(),
            hosts: hosts.clone(),
            variables: variables.clone(),
            console,
            breakpoints: Breakpoints::default(),
            breaks_on_error: false,
            breaks_on_nan: false,
            breaks_in: false,
            reach: Reach::Looked,
            ending: None,
            changes: Changes::default(),
            defined: BTreeSet::new(),
            expected: Vec::new(),
            before: None,
            returned: None,
            answer: None,
            watches: Vec::new(),
            scope,
            stops_at_first: false,
            follows: false,
            plan: StepPlan::Continue,
            start: None,
            last: String::new(),
            has_changed: false,
            read: FxHashMap::default(),
        })))
    }

    /// Prepares for the run of an expression; input at a stop is read in this
    /// scope.
    pub(crate) fn begin(&self, scope: DebuggerScope) {
        let mut inner = self.0.lock();
        inner.scope = scope;
        inner.ending = None;
        inner.before = None;
        inner.read.clear();
        if !inner.follows {
            inner.plan = StepPlan::Continue;
            inner.start = None;
        }
    }

    /// Prepares for the call of a function; input at a stop is read in this
    /// scope.
    pub(crate) fn enter(&self, scope: DebuggerScope) {
        self.0.lock().scope = scope;
    }

    /// Sets whether the next run stops at its beginning.
    pub(crate) fn stop_at_first(&self, stops: bool) {
        self.0.lock().stops_at_first = stops;
    }

    /// Makes runs go on to breakpoints until the stepping is [resumed](Self::resume_stepping).
    pub(crate) fn suspend_stepping(&self) -> Stepping {
        let mut inner = self.0.lock();
        Stepping {
            stops_at_first: std::mem::take(&mut inner.stops_at_first),
            plan: std::mem::replace(&mut inner.plan, StepPlan::Continue),
            start: inner.start.take(),
        }
    }

    /// Goes on stepping as before.
    pub(crate) fn resume_stepping(&self, stepping: Stepping) {
        let mut inner = self.0.lock();
        let Stepping { stops_at_first, plan, start } = stepping;
        (inner.stops_at_first, inner.plan, inner.start) = (stops_at_first, plan, start);
    }

    /// Records that a function has been defined.
    pub(crate) fn note(&self, function: &Arc<CheckedFunction>) {
        let mut inner = self.0.lock();
        inner.breakpoints.note(function);
    }

    /// Sets whether an interrupt stops the run here instead of ending it.
    pub(crate) fn break_in(&self, breaks_in: bool) {
        self.0.lock().breaks_in = breaks_in;
    }

    /// Returns whether an interrupt stops runs here.
    pub(crate) fn is_breaking_in(&self) -> bool {
        self.0.lock().breaks_in
    }

    /// Forgets how the last run was ended.
    pub(crate) fn forget_ending(&self) {
        self.0.lock().ending = None;
    }

    /// Returns what was defined at the prompt during the last run.
    pub(crate) fn take_changes(&self) -> Changes {
        std::mem::take(&mut self.0.lock().changes)
    }

    /// Executes the command `bp` with these arguments; returns the answer, or
    /// what is wrong. `functions` are all that are defined, and conditions are read in that
    /// scope, unless a program is [expected](Self::expect).
    pub(crate) fn breakpoints(
        &self,
        text: &str,
        functions: Vec<Arc<CheckedFunction>>,
        scope: DebuggerScope,
    ) -> Result<String, BreakpointError> {
        let mut inner = self.0.lock();
        if inner.expected.is_empty() {
            inner.scope = scope;
        }
        inner.change_breakpoints(text, functions, None)
    }
}

impl Inspector for Debugger {
    fn breaks(&self, function: &Arc<CheckedFunction>, tape: &Tape) -> Vec<u32> {
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

    fn wants(&self, function: &CheckedFunction) -> bool {
        let inner = self.0.lock();
        inner.stops_at_first() || inner.breakpoints.covers(function)
    }

    fn stops_at_first(&self) -> bool {
        self.0.lock().stops_at_first()
    }

    fn wants_all(&self) -> bool {
        self.0.lock().reach == Reach::Everything
    }

    fn watches_numbers(&self) -> bool {
        self.0.lock().breaks_on_nan
    }

    fn breaks_in(&self) -> bool {
        self.0.lock().breaks_in
    }

    fn stopped(&mut self, stop: &mut PausedRun<'_>) -> Go {
        self.0.lock().stopped(stop)
    }

    fn left(&mut self, base: usize, value: f64, caller: Option<&Arc<CheckedFunction>>) -> bool {
        self.0.lock().left(base, value, caller)
    }

    fn failed(&mut self, stop: &mut PausedRun<'_>, stopped: &RunFailure) -> Go {
        self.0.lock().failed(stop, stopped)
    }

    fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.0.lock().has_changed)
    }
}

/// The message for an interrupt in compiled code.
const INTERRUPTED: &str =
    "interrupted in compiled code, which cannot be resumed: this run has ended. This is where it was;
`restart` runs it again. Interpreted functions can be stopped and resumed: `kal debug` interprets all
of them without --lazy, --eager or --tiered, and `bp error` does so in every mode";

/// What happens after a command.
enum Then {
    /// The next one is read.
    Ask,
    /// The run resumes.
    Follow(StepPlan),
    /// The run resumes by repeating the last call of a frame.
    Again(usize),
    /// The run ends.
    Quit,
}

impl Inner {
    fn stops_at_first(&self) -> bool {
        self.stops_at_first || (self.follows && self.start.is_some() && self.plan != StepPlan::Continue)
    }

    fn stopped(&mut self, stop: &mut PausedRun<'_>) -> Go {
        let Some(frame) = stop.frames.first().cloned() else { return Go::On };
        let Some(tape) = frame.tape.clone() else { return Go::On };
        let Some(now) = moment(&frame, &tape) else { return Go::On };
        let is_nameless = self.names.text(frame.function.name) == EXPRESSION;
        self.note_value(now, stop.accumulator());
        let is_first = now.offset == 0 && is_nameless && self.stops_at_first();
        self.stops_at_first = false;
        let has_arrived = self.start.is_some_and(|start| self.plan.has_arrived(start, now));
        let is_due = match stop.reason {
            // A breakpoint counts its hits wherever the run stops anyway.
            Reason::Place => self.is_at_breakpoint(stop, &frame, &tape) || is_first || has_arrived,
            Reason::Interrupt | Reason::Nonfinite(_) | Reason::Failure => true,
        };
        if !is_due {
            return self.start.map_or(Go::On, |start| self.plan.go(start));
        }
        self.say_why(stop, has_arrived);
        self.show(stop, 0);
        if has_arrived && self.plan == StepPlan::Token {
            self.show_instruction(stop, &frame, &tape);
        }
        let then = self.ask(stop, true);
        self.before = None;
        match then {
            Then::Follow(plan) => {
                self.plan = plan;
                self.start = Some(now);
                self.before = Some(now);
                plan.go(now)
            }
            Then::Again(number) => {
                self.plan = StepPlan::Continue;
                self.start = None;
                Go::Again(number)
            }
            Then::Quit | Then::Ask => {
                self.start = None;
                Go::Quit
            }
        }
    }

    /// Prints why a run has stopped, if the place does not show it.
    fn say_why(&mut self, stop: &PausedRun<'_>, has_arrived: bool) {
        let value = format_number(stop.accumulator());
        match stop.reason {
            Reason::Interrupt => self.console.say("interrupted"),
            Reason::Nonfinite(_) if stop.accumulator().is_finite() => {
                self.console.say("stopped: the variable of a loop has become infinite");
            }
            Reason::Nonfinite(_) => self.console.say(&format!("stopped: {value} from finite operands")),
            Reason::Place if has_arrived && self.plan == StepPlan::Finish => {
                self.console.say(&format!("returned {value}"));
            }
            Reason::Place | Reason::Failure => {}
        }
    }

    /// Keeps the value returned by a call that was stepped over.
    fn note_value(&mut self, now: StepPosition, value: f64) {
        let before = self.before.replace(now);
        if before.is_some_and(|before| {
            let is_after = before.is_call && before.base == now.base && before.offset < now.offset;
            is_after || now.base < before.base
        }) {
            self.returned = Some(value);
        }
    }

    /// Handles a step that leaves interpreted code for its compiled caller.
    fn left(&mut self, base: usize, value: f64, caller: Option<&Arc<CheckedFunction>>) -> bool {
        if self.start.is_none_or(|start| start.base < base) {
            return false;
        }
        if self.plan == StepPlan::Finish {
            self.console.say(&format!("returned {}", format_number(value)));
        }
        let caller = caller.map_or_else(|| "the caller".to_owned(), |caller| self.signature(caller));
        self.console.say(&format!("{caller} is compiled: continuing to its next call, or its end"));
        self.plan = StepPlan::Anywhere;
        true
    }

    fn failed(&mut self, stop: &mut PausedRun<'_>, stopped: &RunFailure) -> Go {
        self.start = None;
        self.before = None;
        let RunFailure { failure, trace } = stopped;
        let is_interrupt = matches!(failure, Failure::Interrupted);
        let is_wanted = if is_interrupt { self.breaks_in } else { self.breaks_on_error };
        if !is_wanted || stop.frames.is_empty() || self.ending.is_some() {
            return Go::Quit;
        }
        if is_interrupt {
            self.console.say(INTERRUPTED);
        } else {
            let message = self.with_report(|report| report.diagnose(failure).message);
            self.console.say(&format!("stopped: {message}"));
        }
        if !trace.is_empty() && stop.frames.iter().any(|frame| frame.offset.is_some()) {
            let (inner, omitted, _) = trace.shown();
            let calls = inner.iter().flat_map(CallGroup::functions).map(|function| self.signature(function));
            let calls = calls.chain((omitted > 0).then(|| "…".to_owned()));
            self.console.say(&format!("in compiled code: {}", calls.collect::<Vec<_>>().join(", ")));
        }
        self.show(stop, 0);
        match self.ask(stop, false) {
            Then::Again(number) => Go::Again(number),
            Then::Follow(_) | Then::Quit | Then::Ask => Go::Quit,
        }
    }

    /// Returns whether the frame is at a breakpoint whose condition is true.
    fn is_at_breakpoint(&mut self, stop: &mut PausedRun<'_>, frame: &CallFrame, tape: &Tape) -> bool {
        let here = self.breakpoints.offsets(&frame.function, tape);
        let here: Vec<(usize, Option<String>)> = here
            .filter(|(_, offset)| Some(*offset) == frame.offset)
            .map(|(breakpoint, _)| (breakpoint.number, breakpoint.condition.clone()))
            .collect();
        let mut stops = false;
        for (number, condition) in here {
            let is_true = condition.is_none_or(|condition| match self.evaluate(stop, frame, &condition) {
                Ok(value) => value != 0.0 && !value.is_nan(),
                Err(error) => {
                    self.console.say(&error.to_string());
                    true
                }
            });
            stops |= is_true && self.breakpoints.hit(number);
        }
        stops
    }

    /// Runs a closure with a [`FailureReport`] for this stop.
    fn with_report<T>(&self, work: impl FnOnce(&FailureReport<'_>) -> T) -> T {
        let (names, hosts, world) = (&self.names, &self.hosts, &self.scope.world);
        work(&FailureReport { names, hosts, world, suggestions: &Budget::default() })
    }
}

fn moment(frame: &CallFrame, tape: &Tape) -> Option<StepPosition> {
    let offset = frame.offset?;
    let places = Places::of(&frame.function, tape);
    let (line, node) = places.at(offset).map_or((0, 0), |place| (place.line, place.node));
    Some(StepPosition { base: frame.base, offset, node, line, is_call: inspect::calls(tape, offset) })
}
