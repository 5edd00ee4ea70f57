//! The interpreter: runs programs on their tapes, without a compiler.
//!
//! An [`Interpreter`] belongs to a context: which name is bound to which
//! definition, the variables, and one long stack of values for all frames. A
//! definition is lowered and linked when it is first called: calls go through
//! numbered *callees*, which lead to an instruction that has the interpreter
//! do that, as the stubs of compiled code lead to trampolines. Binding a name
//! to another definition leads its callees there again. So a call costs one
//! look-up, and no instruction asks whether anything has changed.
//!
//! Calls of a program do not use the stack of the process.

mod code;
mod execute;
mod links;
#[cfg(any(test, fuzzing))]
mod testing;
#[cfg(test)]
mod tests;

use crate::failure::{Defined, Failure, Stopped, Trace};
use crate::host::{HostError, HostFunctions, Output};
use crate::name::{Name, Names};
use crate::sema::Calls;
use crate::sema::checked::Function;
use crate::stop::{Stoppable, Stopper};
use crate::tape::op::Op;
use crate::tape::{self, Callee, Environment, Tape};
use code::{Code, Entry, LEAVE};
use execute::{Pause, Program, State, execute, link, unlink};
use links::Links;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

#[cfg(fuzzing)]
pub use testing::damaged_tapes;

/// How many slots the stack has at first.
const FIRST_STACK: usize = 1 << 12;

/// How many slots the stack may keep after a run that failed.
const KEPT_STACK: usize = 1 << 16;

/// Bytes of stack for each slot.
const SLOT: usize = 8;

/// The bindings and variables of one context, and what runs them.
pub struct Interpreter {
    names: Arc<Names>,
    hosts: Arc<HostFunctions>,
    bindings: FxHashMap<Name, Binding>,
    /// How the bound definitions call each other.
    calls: Calls,
    code: Code,
    links: Links,
    variables: Vec<f64>,
    stack: Vec<f64>,
    max_stack: usize,
    counts_fuel: bool,
    fuel: i64,
    limit: Arc<Limit>,
    expressions: u64,
    run_nanoseconds: u64,
}

/// What a name is bound to.
struct Binding {
    function: Arc<Function>,
    /// Where it has been linked.
    code: Option<u32>,
}

/// What an interpreter is made with.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many bytes the stack may take.
    pub stack: usize,
    /// Whether function entries and loop rounds take fuel.
    pub counts_fuel: bool,
}

/// How far calls may use the stack. It is 0 to make a run look for requests.
#[derive(Debug, Default)]
struct Limit {
    requests: AtomicU64,
    slots: AtomicUsize,
}

impl Limit {
    /// Lets calls use so many slots, unless a request waits.
    fn allow(&self, slots: usize) {
        self.slots.swap(slots, Ordering::SeqCst);
        if self.requests.load(Ordering::SeqCst) != 0 {
            self.wake();
        }
    }
}

impl Stoppable for Limit {
    fn requests(&self) -> &AtomicU64 {
        &self.requests
    }

    fn wake(&self) {
        self.slots.swap(0, Ordering::SeqCst);
    }
}

impl Interpreter {
    /// An interpreter without bindings.
    pub fn new(names: &Arc<Names>, hosts: &Arc<HostFunctions>, options: Options) -> Self {
        Self {
            names: names.clone(),
            hosts: hosts.clone(),
            bindings: FxHashMap::default(),
            calls: Calls::default(),
            code: Code::new(),
            links: Links::default(),
            variables: Vec::new(),
            stack: vec![0.0; FIRST_STACK],
            max_stack: (options.stack / SLOT).clamp(FIRST_STACK, u32::MAX as usize),
            counts_fuel: options.counts_fuel,
            fuel: 0,
            limit: Arc::default(),
            expressions: 0,
            run_nanoseconds: 0,
        }
    }

    /// What asks runs to stop, from any thread.
    pub fn stopper(&self) -> Stopper {
        Stopper::new(self.limit.clone())
    }

    /// Sets how many function entries and loop rounds are left.
    pub fn set_fuel(&mut self, fuel: u64) {
        self.fuel = i64::try_from(fuel).unwrap_or(i64::MAX);
    }

    /// How many function entries and loop rounds are left.
    pub fn fuel(&self) -> u64 {
        u64::try_from(self.fuel).unwrap_or(0)
    }

    /// How many names are bound.
    pub fn definitions(&self) -> usize {
        self.bindings.len()
    }

    /// How many top-level expressions have been lowered.
    pub fn expressions(&self) -> u64 {
        self.expressions
    }

    /// Nanoseconds spent in runs.
    pub fn run_nanoseconds(&self) -> u64 {
        self.run_nanoseconds
    }

    /// Binds a function's name to it. Nothing is lowered.
    pub fn define(&mut self, function: &Arc<Function>) -> Defined {
        let name = function.name;
        let binding = Binding { function: function.clone(), code: None };
        let before = self.bindings.insert(name, binding);
        self.calls.add(function);
        match &before {
            Some(Binding { code, function: replaced }) => {
                self.calls.remove(replaced);
                self.code.remove_if(*code);
                self.links.reset(name);
            }
            None => self.meaning_changed(name),
        }
        let stale = self.stale_callers(function);
        Defined { before: before.map(|binding| binding.function), stale }
    }

    /// Binds a name to nothing; gives back what it was bound to.
    pub fn drop_binding(&mut self, name: Name) -> Option<Arc<Function>> {
        let Binding { function, code } = self.bindings.remove(&name)?;
        self.calls.remove(&function);
        self.code.remove_if(code);
        self.links.reset(name);
        self.meaning_changed(name);
        Some(function)
    }

    /// What a name is bound to, and whether it has been lowered.
    pub fn binding(&self, name: Name) -> Option<(bool, &Arc<Function>)> {
        self.bindings.get(&name).map(|binding| (binding.code.is_some(), &binding.function))
    }

    /// All that is bound, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = (bool, &Arc<Function>)> {
        self.bindings.values().map(|binding| (binding.code.is_some(), &binding.function))
    }

    /// Runs a top-level expression.
    ///
    /// # Errors
    /// Why it did not run to its end.
    pub fn run(
        &mut self,
        expression: &Arc<Function>,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, Stopped> {
        let entry = self.link(expression)?;
        self.expressions += 1;
        let result = self.enter(entry, arguments, output);
        self.code.remove(entry.code);
        result
    }

    /// Calls a function.
    ///
    /// # Errors
    /// Why it did not run to its end.
    pub fn call(&mut self, name: Name, arguments: &[f64], output: &mut dyn Output) -> Result<f64, Stopped> {
        let callee = Callee { name, arity: arguments.len() as u32 };
        let number = self.links.callee(&mut self.code, callee)?;
        self.enter(self.links.entry(number), arguments, output)
    }

    /// The value of a variable.
    pub fn variable(&self, name: Name) -> f64 {
        let place = self.links.known_variable(name).and_then(|number| self.variables.get(number as usize));
        place.copied().unwrap_or(0.0)
    }

    /// Sets the value of a variable.
    ///
    /// # Errors
    /// When there are too many variables.
    pub fn set_variable(&mut self, name: Name, value: f64) -> Result<(), Failure> {
        let number = self.links.variable(name)?;
        self.variables.resize(self.links.variables(), 0.0);
        self.variables[number as usize] = value;
        Ok(())
    }

    // --- linking ------------------------------------------------------------

    fn link(&mut self, function: &Arc<Function>) -> Result<Entry, Failure> {
        let tape = self.tape(function)?;
        self.link_tape(&tape, function)
    }

    /// Links a tape, wherever it comes from.
    fn link_tape(&mut self, tape: &Tape, function: &Arc<Function>) -> Result<Entry, Failure> {
        tape.validate()
            .map_err(|fault| Failure::Compile { function: function.clone(), message: fault.to_string() })?;
        let words = self.links.relocate(tape, &mut self.code, &self.hosts)?;
        self.variables.resize(self.links.variables(), 0.0);
        let code = self.code.add(&words, function, tape.locals);
        Ok(Entry { code, link: tape.locals, frame: tape.frame })
    }

    /// The tape of a function, as long as no name changes between being bound
    /// and being the host's.
    fn tape(&self, function: &Arc<Function>) -> Result<Tape, Failure> {
        let plain = function.without_bound_intrinsics(&self.names, |name| self.bindings.contains_key(&name));
        let is_host = |callee: Callee| {
            let host = self.hosts.get(callee.name);
            host.is_some_and(|host| host.arity == callee.arity) && !self.bindings.contains_key(&callee.name)
        };
        let environment = Environment { is_host: &is_host, counts_fuel: self.counts_fuel };
        Tape::lower(&plain, environment).map_err(|tape::TooMany(what)| Failure::TooMany(what))
    }

    /// Links what a callee stands for.
    fn link_callee(&mut self, number: u32) -> Result<Entry, Failure> {
        let Callee { name, arity } = self.links.target(number);
        let Some(Binding { function, code: _ }) = self.bindings.get(&name) else {
            return Err(match self.hosts.get(name) {
                Some(host) if host.arity != arity => {
                    Failure::HostArity { callee: name, wanted: host.arity, passed: arity, caller: None }
                }
                Some(_) | None => Failure::Undefined { callee: name, passed: arity, caller: None },
            });
        };
        let function = function.clone();
        if function.arity() != arity {
            return Err(Failure::Stale { callee: function, passed: arity, caller: None });
        }
        let entry = self.link(&function)?;
        if let Some(binding) = self.bindings.get_mut(&name) {
            binding.code = Some(entry.code);
        }
        self.links.lead(number, entry);
        Ok(entry)
    }

    /// A name was bound that was not, or is not any more: code that calls it,
    /// or that uses an instruction for it, is lowered anew.
    fn meaning_changed(&mut self, name: Name) {
        let Some(host) = self.hosts.get(name) else { return };
        let uses = |function: &Function| {
            function.callees.iter().any(|callee| callee.name == name)
                || host.intrinsic.is_some_and(|intrinsic| function.uses_intrinsic(intrinsic))
        };
        for (user, binding) in &mut self.bindings {
            if binding.code.is_some() && uses(&binding.function) {
                self.code.remove_if(binding.code.take());
                self.links.reset(*user);
            }
        }
    }

    /// The definitions that call `function` with a number of arguments it does
    /// not take.
    fn stale_callers(&self, function: &Function) -> Vec<Arc<Function>> {
        let (name, arity) = (function.name, function.arity());
        let host = self.hosts.get(name).and_then(|host| host.intrinsic);
        let intrinsic = host.filter(|intrinsic| intrinsic.arity() != arity);
        if intrinsic.is_none() && !self.calls.misfit(name, arity) {
            return Vec::new();
        }
        let calls_it_wrongly = |caller: &Function| {
            caller.callees.iter().any(|callee| callee.name == name && callee.arity != arity)
        };
        let stale = |caller: &Arc<Function>| match intrinsic {
            // What was an instruction is a call from now on.
            Some(intrinsic) if caller.uses_intrinsic(intrinsic) => {
                Some(Arc::new(caller.without_intrinsic(intrinsic, name)))
            }
            Some(_) | None => calls_it_wrongly(caller).then(|| caller.clone()),
        };
        let mut stale: Vec<_> = self.all().filter_map(|(_, caller)| stale(caller)).collect();
        stale.sort_by_key(|caller| caller.name.index());
        stale
    }

    // --- running ------------------------------------------------------------

    fn enter(&mut self, entry: Entry, arguments: &[f64], output: &mut dyn Output) -> Result<f64, Stopped> {
        let start = Instant::now();
        let mut state = State { at: entry.code as usize, base: 0, accumulator: 0.0 };
        let result = self.begin(entry, arguments).and_then(|()| self.resume(&mut state, output));
        self.run_nanoseconds += u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        result.map_err(|failure| {
            let trace = self.trace(state);
            if self.stack.len() > KEPT_STACK {
                self.stack = vec![0.0; FIRST_STACK];
            }
            Stopped { failure, trace }
        })
    }

    /// Makes the outermost frame.
    fn begin(&mut self, entry: Entry, arguments: &[f64]) -> Result<(), Failure> {
        self.reserve(entry.frame as usize)?;
        self.stack[..arguments.len()].copy_from_slice(arguments);
        self.stack[entry.link as usize] = link(LEAVE as usize, 0);
        Ok(())
    }

    /// Executes until the outermost frame returns.
    fn resume(&mut self, state: &mut State, output: &mut dyn Output) -> Result<f64, Failure> {
        loop {
            let program = Program {
                words: self.code.words(),
                callees: self.links.entries(),
                hosts: self.links.natives(),
                variables: &mut self.variables,
                stack: &mut self.stack,
                fuel: &mut self.fuel,
                limit: &self.limit.slots,
            };
            match execute(state, program) {
                Pause::Left => return Ok(state.accumulator),
                Pause::FirstCall => self.first_call(state)?,
                Pause::Limit(slots) => self.reserve(slots)?,
                Pause::Stop => self.reserve(0)?,
                Pause::Fuel => return Err(Failure::OutOfFuel),
                Pause::Closure => self.closure(state, output)?,
            }
        }
    }

    /// Gives the stack at least so many slots, unless the run is to stop.
    fn reserve(&mut self, slots: usize) -> Result<(), Failure> {
        if let Some(request) = self.stopper().take() {
            return Err(request.into());
        }
        if slots > self.max_stack {
            return Err(Failure::StackOverflow);
        }
        if let Some(more) = slots.checked_sub(self.stack.len()) {
            let doubled = (self.max_stack - self.stack.len()).min(self.stack.len());
            let more = more.max(doubled);
            if self.stack.try_reserve_exact(more).is_err() {
                return Err(Failure::StackOverflow);
            }
            self.stack.resize(self.stack.len() + more, 0.0);
        }
        self.limit.allow(self.stack.len());
        Ok(())
    }

    /// The frame of a call has begun whose callee has to be linked: goes on
    /// in the callee.
    fn first_call(&mut self, state: &mut State) -> Result<(), Failure> {
        let number = self.code.words()[state.at] >> 8;
        let saved = self.stack[state.base + self.links.target(number).arity as usize];
        let linked = self.link_callee(number).and_then(|entry| {
            self.reserve(state.base + entry.frame as usize)?;
            Ok(entry)
        });
        match linked {
            Ok(entry) => {
                self.stack[state.base + entry.link as usize] = saved;
                state.at = entry.code as usize;
                Ok(())
            }
            Err(failure) => {
                // Nobody runs there: the innermost call is the caller's.
                let (at, base) = unlink(saved);
                *state = State { at: at.saturating_sub(1), base, ..*state };
                Err(failure.called_by(self.code.function(state.at as u32).cloned()))
            }
        }
    }

    /// The next instruction calls a closure of the host.
    fn closure(&mut self, state: &mut State, output: &mut dyn Output) -> Result<(), Failure> {
        let words = &self.code.words()[state.at..];
        let from_accumulator = Op::of(words[0]) == Some(Op::HostA);
        let number = if from_accumulator { words[0] >> 8 } else { words[1] };
        let Callee { name, arity } = self.links.host_target(number);
        let arguments = if from_accumulator {
            std::slice::from_ref(&state.accumulator)
        } else {
            let first = state.base + (words[0] >> 8) as usize;
            &self.stack[first..first + arity as usize]
        };
        let result = self.hosts.call_closure(name, arguments, output);
        state.accumulator = result.map_err(|HostError(message)| Failure::Host { callee: name, message })?;
        state.at += if from_accumulator { Op::HostA.length() } else { Op::Host.length() };
        Ok(())
    }

    /// The calls in progress.
    fn trace(&self, mut state: State) -> Trace {
        let mut trace = Trace::default();
        while let Some((function, link)) = self.code.frame(state.at as u32) {
            trace.push(function);
            let Some(saved) = self.stack.get(state.base + link as usize) else { break };
            let (at, base) = unlink(*saved);
            state = State { at: at.saturating_sub(1), base, ..state };
        }
        trace
    }
}
