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
//!
//! Others may run the same program as compiled code: then a call that goes
//! there leaves the loop that executes instructions (see [`CompiledCalls`]), and code
//! that calls a function on a tape comes back as a run inside the run, whose
//! frames lie on the same stack behind the frames of the caller.

mod code;
mod execute;
mod gaps;
mod hot;
pub mod inspect;
mod kept;
mod links;
mod compiled;
mod nonfinite;
mod remains;
#[cfg(any(test, fuzzing))]
mod testing;
#[cfg(test)]
mod tests;

use crate::abi::{Memory, Variables};
use crate::budget::MemoryBudget;
use crate::failure::{CallTrace, Defined, Failure, RunFailure};
use crate::host::{ForeignFunction, HostError, HostFunctions, Output};
use crate::name::{Name, Names};
use crate::sema::Calls;
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use crate::stop::Stopper;
use crate::tape::op::Op;
use crate::tape::{self, Counts, LoweringContext, Tape, TapeCallee};
use code::{CodeMemory, EntryPoint, LEAVE};
pub use compiled::{CodeStatus, CompiledCalls, HotSpot, NoCompiledCode};
use execute::{ExecutionTables, InterpState, Pause, execute, link, unlink};
use inspect::{CallSite, Inspector, Outer, Reason, StepMode};
use kept::Kept;
use links::Links;
use remains::Remains;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

#[cfg(fuzzing)]
pub use testing::damaged_tapes;

/// How many slots the stack has at first.
const FIRST_STACK: usize = 1 << 12;

/// How many slots the stack may keep after a run that failed.
const KEPT_STACK: usize = 1 << 16;

/// Bytes of stack for each slot.
const SLOT: usize = 8;

/// The bindings of one context, and what runs them on tapes.
pub struct Interpreter {
    names: Arc<Names>,
    hosts: Arc<HostFunctions>,
    variables: Arc<Variables>,
    memory: Arc<dyn Memory>,
    stopper: Stopper,
    bindings: FxHashMap<Name, InterpBinding>,
    /// The arities of the foreign functions that the program has declared.
    declared: FxHashMap<Name, u32>,
    /// How the bound definitions call each other.
    calls: Calls,
    code: CodeMemory,
    links: Links,
    /// Functions without a name that are linked for good.
    kept: Kept,
    /// The tape of the function that comes next, if it was made before.
    supplied: Option<(Arc<CheckedFunction>, Arc<Tape>)>,
    stack: Vec<f64>,
    /// Where on the stack the next run begins.
    top: usize,
    /// How many runs are in progress, each inside the one before.
    depth: u32,
    max_stack: usize,
    counts_fuel: bool,
    hot_after: Option<u32>,
    expressions: u64,
    run_nanoseconds: u64,
    /// Who is asked when a run stops; not there while it is.
    inspector: Option<Box<dyn Inspector>>,
    step_mode: StepMode,
    /// How often somebody has been asked how a run goes on.
    stops: u64,
    /// The functions that run on their tapes because they were stepped into.
    stepped: Vec<Name>,
    /// Whether the failure that ends the runs in progress has been shown.
    has_shown: bool,
    /// Where the runs stand that wait for one inside them.
    outer: Vec<Outer>,
    /// A host function has just returned a NaN or an infinity for finite
    /// arguments, which is watched for.
    is_nonfinite: bool,
    remains: Remains,
}

/// What a name is bound to.
struct InterpBinding {
    function: Arc<CheckedFunction>,
    /// Its tape, if that was made before and has not been needed yet.
    tape: Option<Arc<Tape>>,
    /// Where it has been linked.
    code: Option<u32>,
}

/// What an interpreter is made with.
#[derive(Clone, Copy, Debug)]
pub struct InterpOptions {
    /// How many bytes the stack may take.
    pub stack: usize,
    /// Whether function entries and loop rounds take fuel.
    pub counts_fuel: bool,
    /// After how many calls, or rounds of a loop, compiled code is asked for;
    /// nothing is counted if `None`.
    pub hot_after: Option<u32>,
}

impl Interpreter {
    /// An interpreter without bindings, which works on `memory`.
    pub fn new(
        names: &Arc<Names>,
        hosts: &Arc<HostFunctions>,
        variables: &Arc<Variables>,
        memory: Arc<dyn Memory>,
        budget: &Arc<MemoryBudget>,
        options: InterpOptions,
    ) -> Self {
        Self {
            names: names.clone(),
            hosts: hosts.clone(),
            variables: variables.clone(),
            stopper: Stopper::new(memory.clone()),
            memory,
            bindings: FxHashMap::default(),
            declared: FxHashMap::default(),
            calls: Calls::default(),
            code: CodeMemory::new(budget),
            links: Links::default(),
            kept: Kept::default(),
            supplied: None,
            stack: vec![0.0; FIRST_STACK],
            top: 0,
            depth: 0,
            max_stack: (options.stack / SLOT).clamp(FIRST_STACK, u32::MAX as usize),
            counts_fuel: options.counts_fuel,
            hot_after: options.hot_after,
            expressions: 0,
            run_nanoseconds: 0,
            inspector: None,
            step_mode: StepMode::Run,
            stops: 0,
            stepped: Vec::new(),
            has_shown: false,
            outer: Vec::new(),
            is_nonfinite: false,
            remains: Remains::default(),
        }
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
    pub fn define(&mut self, function: &Arc<CheckedFunction>) -> Defined {
        self.forget_remains();
        let name = function.name;
        let binding = InterpBinding { function: function.clone(), tape: self.supplied(function), code: None };
        let before = self.bindings.insert(name, binding);
        self.calls.add(function);
        match &before {
            Some(InterpBinding { code, function: replaced, .. }) => {
                self.calls.remove(replaced);
                self.retire(*code);
                self.links.reset(name);
            }
            None => self.meaning_changed(name),
        }
        let before = before.map(|binding| binding.function);
        // What did not fit before has been told of then.
        let is_same = before.as_ref().is_some_and(|before| before.arity() == function.arity());
        let stale = if is_same { Vec::new() } else { self.stale_callers(function) };
        Defined { before, stale }
    }

    /// Declares how many arguments a foreign function takes.
    pub fn declare(&mut self, name: Name, arity: Option<u32>) {
        let before = match arity {
            Some(arity) => self.declared.insert(name, arity),
            None => self.declared.remove(&name),
        };
        if before.is_some() && before != arity {
            self.links.reset(name);
            self.meaning_changed(name);
        }
    }

    /// How many arguments a foreign function is declared to take.
    pub fn declared(&self, name: Name) -> Option<u32> {
        self.declared.get(&name).copied()
    }

    /// Binds a name to nothing; gives back what it was bound to.
    pub fn drop_binding(&mut self, name: Name) -> Option<Arc<CheckedFunction>> {
        self.forget_remains();
        let InterpBinding { function, code, .. } = self.bindings.remove(&name)?;
        self.calls.remove(&function);
        self.code.remove_if(code);
        self.links.reset(name);
        self.meaning_changed(name);
        Some(function)
    }

    /// What a name is bound to, and whether it has been lowered.
    pub fn binding(&self, name: Name) -> Option<(bool, &Arc<CheckedFunction>)> {
        self.bindings.get(&name).map(|binding| (binding.code.is_some(), &binding.function))
    }

    /// All that is bound, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = (bool, &Arc<CheckedFunction>)> {
        self.bindings.values().map(|binding| (binding.code.is_some(), &binding.function))
    }

    /// Whether a name is bound to that function, and it has been called.
    pub fn has_called(&self, name: Name) -> bool {
        self.bindings.get(&name).is_some_and(|binding| binding.code.is_some())
    }

    /// Runs a top-level expression.
    ///
    /// # Errors
    /// Why it did not run to its end.
    pub fn run(
        &mut self,
        expression: &Arc<CheckedFunction>,
        compiled: &mut dyn CompiledCalls,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        let tape = self.supplied(expression);
        let entry = self.link(expression, tape)?;
        self.expressions += 1;
        let result = self.enter(entry, &[], compiled, output);
        self.retire(Some(entry.code));
        result
    }

    /// Calls a function.
    ///
    /// # Errors
    /// Why it did not run to its end.
    pub fn call(
        &mut self,
        name: Name,
        arguments: &[f64],
        compiled: &mut dyn CompiledCalls,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        let callee = TapeCallee { name, arity: arguments.len() as u32 };
        if self.is_host(callee) {
            if let Some(request) = self.memory.take_request() {
                return Err(Failure::from(request).into());
            }
            let result = self.hosts.call(name, arguments, output, &self.stopper);
            return Ok(result.map_err(|HostError(message)| Failure::Host { callee: name, message })?);
        }
        let number = self.links.callee(&mut self.code, callee)?;
        self.enter(self.links.entry(number), arguments, compiled, output)
    }

    /// The same for compiled code, which calls from there.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_from(
        &mut self,
        site: CallSite,
        name: Name,
        arguments: &[f64],
        compiled: &mut dyn CompiledCalls,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        self.outer.push(Outer::Compiled(site));
        let result = self.call(name, arguments, compiled, output);
        self.outer.pop();
        if let Ok(value) = &result {
            self.leave_to(site, *value, compiled);
        }
        result
    }

    /// How many bytes the instructions take that can be run.
    pub fn code_bytes(&self) -> u64 {
        self.code.bytes()
    }

    // --- linking ------------------------------------------------------------

    /// Links a function, with the tape that was made before if that is as good.
    fn link(
        &mut self,
        function: &Arc<CheckedFunction>,
        tape: Option<Arc<Tape>>,
    ) -> Result<EntryPoint, Failure> {
        if let Some(tape) = tape.filter(|tape| self.is_present(tape, function)) {
            return self.link_tape(&tape, function);
        }
        let tape = self.tape(function)?;
        self.link_tape(&tape, function)
    }

    /// Has a tape that was made before used for a function, which is defined or
    /// run next, if it fits what names mean when the function is first called.
    pub fn supply(&mut self, function: &Arc<CheckedFunction>, tape: &Arc<Tape>) {
        self.supplied = Some((function.clone(), tape.clone()));
    }

    /// The tape that was supplied for a function.
    fn supplied(&mut self, function: &Arc<CheckedFunction>) -> Option<Arc<Tape>> {
        let (supplied, tape) = self.supplied.take()?;
        Arc::ptr_eq(&supplied, function).then_some(tape)
    }

    /// Whether a tape is the one that would be made now.
    fn is_present(&self, tape: &Tape, function: &Arc<CheckedFunction>) -> bool {
        let plain = !self.counts_fuel && self.hot_after.is_none();
        plain
            && Arc::ptr_eq(&self.present(function), function)
            && tape.callees.iter().all(|callee| !self.is_host(*callee))
            && tape.hosts.iter().all(|host| self.is_host(*host))
    }

    fn is_host(&self, callee: TapeCallee) -> bool {
        let host = self.hosts.get(callee.name);
        host.is_some_and(|host| host.arity == callee.arity) && !self.bindings.contains_key(&callee.name)
    }

    /// Links a tape, wherever it comes from.
    fn link_tape(&mut self, tape: &Tape, function: &Arc<CheckedFunction>) -> Result<EntryPoint, Failure> {
        tape.validate()
            .map_err(|fault| Failure::Compile { function: function.clone(), message: fault.to_string() })?;
        let surroundings = (&*self.hosts, &*self.variables);
        let counter = self.hot_after.unwrap_or(0).max(1);
        let words = self.links.relocate(tape, &mut self.code, surroundings, counter)?;
        let no_room = || Failure::Compile {
            function: function.clone(),
            message: "there is no room for its tape".to_owned(),
        };
        let code = self.code.add(&words, function, tape).ok_or_else(no_room)?;
        self.place_breaks_of(function, tape, code);
        Ok(EntryPoint { code, link: tape.locals, frame: tape.frame })
    }

    /// The function as it is to be read now: with calls of what the program
    /// defines itself, where it was read with an instruction.
    pub fn present(&self, function: &Arc<CheckedFunction>) -> Arc<CheckedFunction> {
        function.without_bound_intrinsics(&self.names, |name| self.bindings.contains_key(&name))
    }

    /// The tape of a function, as long as no name changes between being bound
    /// and being the host's.
    fn tape(&self, function: &Arc<CheckedFunction>) -> Result<Tape, Failure> {
        let plain = self.present(function);
        let is_host = |callee: TapeCallee| self.is_host(callee);
        let counts = match self.hot_after {
            None => Counts::Nothing,
            Some(_) if self.names.text(function.name) == EXPRESSION => Counts::Iterations,
            Some(_) => Counts::IterationsAndCalls,
        };
        let environment = LoweringContext { is_host: &is_host, counts_fuel: self.counts_fuel, counts };
        Tape::lower(&plain, environment).map_err(|tape::TooMany(what)| Failure::TooMany(what))
    }

    /// Links what a callee stands for.
    fn link_callee(&mut self, number: u32) -> Result<EntryPoint, Failure> {
        let TapeCallee { name, arity } = self.links.target(number);
        let Some(InterpBinding { function, tape, code }) = self.bindings.get_mut(&name) else {
            return Err(self.without_definition(name, arity));
        };
        let function = function.clone();
        if function.arity() != arity {
            return Err(Failure::Stale { callee: function, passed: arity, caller: None });
        }
        let (tape, known) = (tape.take(), code.and_then(|code| self.code.entry(code)));
        let entry = match known {
            Some(entry) => entry,
            None => self.link(&function, tape)?,
        };
        if matches!(self.step_mode, StepMode::Step { into: true, .. }) {
            self.stepped.push(name);
        }
        if let Some(binding) = self.bindings.get_mut(&name) {
            binding.code = Some(entry.code);
        }
        self.links.link_to(number, entry);
        Ok(entry)
    }

    /// Why a name that no definition is bound to cannot be called.
    fn without_definition(&self, name: Name, passed: u32) -> Failure {
        let is_foreign = self.hosts.foreign(name).is_some();
        match self.hosts.get(name).map(|host| host.arity).or(self.declared(name)) {
            Some(wanted) if wanted != passed => {
                Failure::HostArity { callee: name, wanted, passed, caller: None }
            }
            None if is_foreign => Failure::Undeclared { callee: name, passed, caller: None },
            Some(_) | None => Failure::Undefined { callee: name, passed, caller: None },
        }
    }

    /// The foreign function that a callee means.
    fn foreign(&self, callee: TapeCallee) -> Option<ForeignFunction> {
        let is_meant =
            !self.bindings.contains_key(&callee.name) && self.declared(callee.name) == Some(callee.arity);
        self.hosts.foreign(callee.name).filter(|_| is_meant).cloned()
    }

    /// A name was bound that was not, or is not any more: code that calls it,
    /// or that uses an instruction for it, is lowered anew.
    fn meaning_changed(&mut self, name: Name) {
        let Some(host) = self.hosts.get(name) else { return };
        let uses = |function: &CheckedFunction| {
            function.callees.iter().any(|callee| callee.name == name)
                || host.intrinsic.is_some_and(|intrinsic| function.uses_intrinsic(intrinsic))
        };
        for (user, binding) in &mut self.bindings {
            if binding.code.is_some() && uses(&binding.function) {
                self.code.remove_if(binding.code.take());
                self.links.reset(*user);
            }
        }
        self.kept.retain(&mut self.code, |function| function.is_some_and(|function| !uses(function)));
    }

    /// The definitions that call `function` with a number of arguments it does
    /// not take.
    fn stale_callers(&self, function: &CheckedFunction) -> Vec<Arc<CheckedFunction>> {
        let (name, arity) = (function.name, function.arity());
        let host = self.hosts.get(name).and_then(|host| host.intrinsic);
        let intrinsic = host.filter(|intrinsic| intrinsic.arity() != arity);
        if intrinsic.is_none() && !self.calls.misfit(name, arity) {
            return Vec::new();
        }
        let calls_it_wrongly = |caller: &CheckedFunction| {
            caller.callees.iter().any(|callee| callee.name == name && callee.arity != arity)
        };
        let stale = |caller: &Arc<CheckedFunction>| match intrinsic {
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

    fn enter(
        &mut self,
        entry: EntryPoint,
        arguments: &[f64],
        compiled: &mut dyn CompiledCalls,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        self.forget_remains();
        // Until its frame is there, what its slots hold is of earlier runs: no
        // trace can be made of it.
        self.begin(entry, arguments)?;
        let start = (self.depth == 0).then(Instant::now);
        let mut state = InterpState { at: entry.code as usize, base: self.top, accumulator: 0.0 };
        self.depth += 1;
        let begun = self.begin_stepping(&mut state, compiled, output);
        let mut result = begun.and_then(|()| self.resume(&mut state, compiled, output));
        while let Err(stopped) = &result
            && self.show_failure(&mut state, stopped, compiled, output)
        {
            result = self.resume(&mut state, compiled, output);
        }
        self.depth -= 1;
        if let Some(start) = start {
            self.run_nanoseconds += u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        }
        result.map_err(|stopped| {
            let RunFailure { failure, trace } = self.keep_remains(state, stopped);
            let trace = self.trace(state, trace);
            // A stop in progress still shows what is below the top.
            if self.depth == 0 && self.top == 0 && self.stack.len() > KEPT_STACK {
                self.stack = vec![0.0; FIRST_STACK];
            }
            RunFailure { failure, trace }
        })
    }

    /// Makes the outermost frame.
    fn begin(&mut self, entry: EntryPoint, arguments: &[f64]) -> Result<(), Failure> {
        let base = self.top;
        self.reserve(base + entry.frame as usize)?;
        self.stack[base..base + arguments.len()].copy_from_slice(arguments);
        self.stack[base + entry.link as usize] = link(LEAVE as usize, 0);
        Ok(())
    }

    /// Executes until the outermost frame returns.
    fn resume(
        &mut self,
        state: &mut InterpState,
        compiled: &mut dyn CompiledCalls,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        loop {
            let pause = match self.step_mode {
                StepMode::Run if self.is_watching() => self.execute::<false, true>(state),
                StepMode::Run => self.execute::<false, false>(state),
                StepMode::Past | StepMode::Step { .. } => {
                    if let Some(value) = self.step(state, compiled, output)? {
                        return Ok(value);
                    }
                    continue;
                }
            };
            match pause {
                Pause::Left => return Ok(state.accumulator),
                Pause::Break => self.inspect(state, Reason::Place, compiled, output)?,
                Pause::Nonfinite(operation) => {
                    self.look_at(operation, state, compiled, output)?;
                }
                pause => {
                    if self.breaks_in(pause, state, compiled, output)? {
                        continue;
                    }
                    self.attend(pause, state, compiled, output)?;
                    // A run inside this one may have been stepped out of.
                    if !self.look_at_host(state, compiled, output)? {
                        self.arrive(state, compiled, output)?;
                    }
                }
            }
        }
    }

    fn execute<const ONCE: bool, const WATCH: bool>(&mut self, state: &mut InterpState) -> Pause {
        let program = ExecutionTables {
            words: self.code.running(),
            callees: self.links.entries(),
            hosts: self.links.natives(),
            variables: self.memory.variables(),
            stack: &mut self.stack,
            fuel: self.memory.fuel(),
            limit: self.memory.interp_limit(),
        };
        execute::<ONCE, WATCH>(state, program)
    }

    /// Does what the instructions themselves do not.
    fn attend(
        &mut self,
        pause: Pause,
        state: &mut InterpState,
        compiled: &mut dyn CompiledCalls,
        output: &mut dyn Output,
    ) -> Result<(), RunFailure> {
        match pause {
            Pause::Left | Pause::Break | Pause::Once | Pause::Nonfinite(_) => {}
            Pause::FirstCall => self.first_call(state, compiled, output)?,
            Pause::Limit(slots) => {
                self.poll_ready_code(compiled);
                self.reserve(slots)?;
            }
            Pause::Stop => {
                self.poll_ready_code(compiled);
                self.reserve(0)?;
            }
            Pause::Fuel => return Err(Failure::OutOfFuel.into()),
            Pause::Closure => self.closure(state, output)?,
            Pause::Hot => self.hot(state, compiled, output)?,
        }
        Ok(())
    }

    /// Gives the stack at least so many slots, unless the run is to stop.
    fn reserve(&mut self, slots: usize) -> Result<(), Failure> {
        if let Some(request) = self.take_request() {
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
        self.allow();
        Ok(())
    }

    /// Lets calls use the stack, unless there is something to look at.
    fn allow(&self) {
        let memory = &self.memory;
        memory.interp_limit().swap(self.stack.len(), Ordering::SeqCst);
        if memory.requests().load(Ordering::SeqCst) != 0 || memory.code_ready().load(Ordering::SeqCst) != 0 {
            memory.interp_limit().swap(0, Ordering::SeqCst);
        }
    }

    /// The frame of a call has begun whose callee has to be linked, or is
    /// compiled: goes on in the callee.
    fn first_call(
        &mut self,
        state: &mut InterpState,
        compiled: &mut dyn CompiledCalls,
        output: &mut dyn Output,
    ) -> Result<(), RunFailure> {
        let number = self.code.words()[state.at] >> 8;
        let callee = self.links.target(number);
        let arity = callee.arity as usize;
        if !self.holds(callee.name) && compiled.has_code(callee) {
            let arguments = self.stack[state.base..state.base + arity].to_vec();
            return self.leave_for(state, callee.arity, |interpreter| {
                compiled.call(interpreter, callee, &arguments, output)
            });
        }
        if let Some(foreign) = self.foreign(callee) {
            let arguments = self.stack[state.base..state.base + arity].to_vec();
            return self.leave_for(state, callee.arity, |_| {
                let too_many = || Failure::TooMany("arguments of a C function").into();
                foreign.call(&arguments).ok_or_else(too_many)
            });
        }
        let saved = self.stack[state.base + arity];
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
                *state = InterpState { at: at.saturating_sub(1), base, ..*state };
                Err(failure.called_by(self.code.function(state.at as u32).cloned()).into())
            }
        }
    }

    /// Leaves the innermost frame, whose link is in that slot, for compiled
    /// code that does the rest of its work.
    fn leave_for(
        &mut self,
        state: &mut InterpState,
        link: u32,
        work: impl FnOnce(&mut Self) -> Result<f64, RunFailure>,
    ) -> Result<(), RunFailure> {
        let (at, base) = unlink(self.stack[state.base + link as usize]);
        let top = std::mem::replace(&mut self.top, state.base);
        self.outer.push(Outer::Interpreted(InterpState { at, base, accumulator: 0.0 }));
        let (step_mode, stops) = (std::mem::replace(&mut self.step_mode, StepMode::Run), self.stops);
        let result = work(self);
        if self.stops == stops {
            self.step_mode = step_mode;
        }
        self.outer.pop();
        self.top = top;
        // What ran inside may have moved the limit.
        self.allow();
        match result {
            Ok(accumulator) => {
                *state = InterpState { at, base, accumulator };
                Ok(())
            }
            Err(stopped) => {
                *state = InterpState { at: at.saturating_sub(1), base, ..*state };
                Err(stopped)
            }
        }
    }

    /// The next instruction calls a closure of the host.
    fn closure(&mut self, state: &mut InterpState, output: &mut dyn Output) -> Result<(), Failure> {
        let words = &self.code.words()[state.at..];
        let from_accumulator = Op::of(words[0]) == Some(Op::HostA);
        let number = if from_accumulator { words[0] >> 8 } else { words[1] };
        let TapeCallee { name, arity } = self.links.host_target(number);
        let arguments = if from_accumulator {
            std::slice::from_ref(&state.accumulator)
        } else {
            let first = state.base + (words[0] >> 8) as usize;
            &self.stack[first..first + arity as usize]
        };
        let is_finite = arguments.iter().all(|argument| argument.is_finite());
        let result = self.hosts.call_closure(name, arguments, output, &self.stopper);
        // A request that came meanwhile is for this run, not for the next.
        if let Some(request) = self.memory.take_request() {
            return Err(request.into());
        }
        state.accumulator = result.map_err(|HostError(message)| Failure::Host { callee: name, message })?;
        self.is_nonfinite = is_finite && !state.accumulator.is_finite();
        state.at += if from_accumulator { Op::HostA.length() } else { Op::Host.length() };
        Ok(())
    }

    /// The calls in progress, behind those inside them.
    fn trace(&self, mut state: InterpState, mut trace: CallTrace) -> CallTrace {
        while let Some((function, link)) = self.code.frame(state.at as u32) {
            trace.push(function);
            let Some((at, base)) = self.caller(state.base, link) else { break };
            state = InterpState { at: at.saturating_sub(1), base, ..state };
        }
        trace
    }

    /// Where the caller of a frame goes on, and the caller's base. A caller
    /// begins before what it calls; anything else ends the walk.
    fn caller(&self, base: usize, link: u32) -> Option<(usize, usize)> {
        let (at, callers) = unlink(*self.stack.get(base + link as usize)?);
        (callers < base).then_some((at, callers))
    }
}
