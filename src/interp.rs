//! The interpreter: runs programs from bytecode, without a compiler.
//!
//! An [`Interpreter`] belongs to a context: which name is bound to which
//! definition, the variables, and one contiguous stack of values for all
//! frames. The bytecode of a function is its *tape* (see [`crate::tape`]). A
//! definition is lowered and linked at its first call: calls go through
//! numbered *callees*, which first lead to an instruction that makes the
//! interpreter do that, as slots of compiled code first hold trampolines.
//! Rebinding a name resets its callees to that instruction. So a call costs one
//! look-up, and no instruction tests whether anything has changed.
//!
//! Calls inside a program do not use the stack of the process.
//!
//! The same program may also run as compiled code: a call that goes there
//! leaves the instruction loop (see [`CompiledTier`]), and compiled code that
//! calls an interpreted function begins a nested run, whose frames lie on the
//! same stack after the caller's.

mod code;
mod crossing;
mod execute;
#[cfg(feature = "cli")]
mod failed;
mod gaps;
mod hot;
pub mod inspect;
mod kept;
mod links;
mod memory;
mod nonfinite;
mod remains;
#[cfg(any(test, fuzzing))]
mod testing;
#[cfg(test)]
mod tests;

use crate::abi::{HeldVariables, Memory, Variables};
use crate::budget::ContextBudget;
use crate::failure::{CallTrace, Failure, RunFailure};
use crate::host::Outside;
use crate::host::{ForeignFunction, HostFunctions};
use crate::name::{Name, Names};
use crate::process::GenerationCell;
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use crate::stop::StopHandle;
use crate::tape::op::Op;
use crate::tape::{self, Counts, Linkage, LoweringContext, Tape, TapeCallee};
pub use code::HotSpot;
use code::{CodeMemory, EntryPoint, LEAVE};
pub use crossing::{CallSite, CodeStatus, CompiledTier, Crossing, InterpretedTier};
use execute::{ExecutionTables, InterpState, Pause, execute, link, unlink};
use inspect::{Inspector, Outer, Reason, StepMode};
use kept::Kept;
pub use kept::KeptFunction;
use links::Links;
pub use memory::InterpMemory;
use remains::Remains;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

#[cfg(fuzzing)]
pub use testing::damaged_tapes;

/// Slots of the stack at first.
const FIRST_STACK: usize = 1 << 12;

/// Slots that the stack may keep after a failed run.
const KEPT_STACK: usize = 1 << 16;

/// Bytes of a slot.
const SLOT: usize = 8;

/// The bindings of one context, and what interprets them.
pub struct Interpreter {
    names: Arc<Names>,
    hosts: Arc<HostFunctions>,
    variables: Arc<Variables>,
    memory: Arc<dyn Memory>,
    stopper: StopHandle,
    bindings: FxHashMap<Name, InterpBinding>,
    /// The declared arities of foreign functions.
    declared: FxHashMap<Name, u32>,
    code: CodeMemory,
    links: Links,
    /// Functions without a name that stay linked.
    kept: Kept,
    /// A tape that was lowered before, for the next function to be bound or
    /// run.
    supplied: Option<(Arc<CheckedFunction>, Arc<Tape>)>,
    stack: Vec<f64>,
    /// The slot where the next run begins.
    top: usize,
    /// The number of nested runs in progress.
    depth: u32,
    max_stack: usize,
    counts_fuel: bool,
    hot_after: Option<u32>,
    expressions: u64,
    run_nanoseconds: u64,
    /// Asked when a run stops; taken out while it is.
    inspector: Option<Box<dyn Inspector>>,
    /// The process for which code that is being compiled is waited for.
    generation: GenerationCell,
    step_mode: StepMode,
    /// The number of times the inspector has been asked how to go on.
    stops: u64,
    /// Functions that are interpreted because they were stepped into.
    stepped: Vec<Name>,
    /// Whether the failure that ends the runs in progress has been shown.
    has_shown: bool,
    /// The states of outer runs that wait for a nested one.
    outer: Vec<Outer>,
    /// Set if a host function has just returned a NaN or an infinity for finite
    /// arguments, while that is watched for.
    is_nonfinite: bool,
    remains: Remains,
}

/// What a name is bound to.
struct InterpBinding {
    function: Arc<CheckedFunction>,
    /// A tape that was lowered before, until it is linked.
    tape: Option<Arc<Tape>>,
    /// Where its tape is linked.
    code: Option<u32>,
}

/// The options of an interpreter.
#[derive(Clone, Copy, Debug)]
pub struct InterpOptions {
    /// The largest size of the stack, in bytes.
    pub stack: usize,
    /// Whether function entries and loop iterations take fuel.
    pub counts_fuel: bool,
    /// The number of calls, or iterations of a loop, after which code is hot;
    /// nothing is counted if `None`.
    pub hot_after: Option<u32>,
}

impl Interpreter {
    /// Creates an interpreter without bindings that works on `memory`.
    pub fn new(
        names: &Arc<Names>,
        hosts: &Arc<HostFunctions>,
        variables: &Arc<Variables>,
        memory: Arc<dyn Memory>,
        budget: &Arc<ContextBudget>,
        options: InterpOptions,
    ) -> Self {
        Self {
            names: names.clone(),
            hosts: hosts.clone(),
            variables: variables.clone(),
            stopper: StopHandle::new(memory.clone()),
            memory,
            bindings: FxHashMap::default(),
            declared: FxHashMap::default(),
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
            generation: GenerationCell::current(),
            step_mode: StepMode::Run,
            stops: 0,
            stepped: Vec::new(),
            has_shown: false,
            outer: Vec::new(),
            is_nonfinite: false,
            remains: Remains::default(),
        }
    }

    /// Returns the number of top-level expressions that have been lowered.
    pub fn expressions(&self) -> u64 {
        self.expressions
    }

    /// Returns the nanoseconds spent in runs.
    pub fn run_nanoseconds(&self) -> u64 {
        self.run_nanoseconds
    }

    /// Binds a function's name to it. Lowers nothing.
    pub fn define(&mut self, function: &Arc<CheckedFunction>) {
        self.forget_remains();
        let name = function.name;
        let binding = InterpBinding { function: function.clone(), tape: self.supplied(function), code: None };
        match self.bindings.insert(name, binding) {
            Some(InterpBinding { code, .. }) => {
                self.retire(code);
                self.links.reset(name);
            }
            None => self.meaning_changed(name),
        }
    }

    /// Sets the declared arity of a foreign function; `None` removes the
    /// declaration.
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

    /// Unbinds a name.
    pub fn drop_binding(&mut self, name: Name) {
        self.forget_remains();
        let Some(InterpBinding { code, .. }) = self.bindings.remove(&name) else { return };
        self.code.remove_if(code);
        self.links.reset(name);
        self.meaning_changed(name);
    }

    /// Returns the function that a name is bound to.
    pub fn function(&self, name: Name) -> Option<&Arc<CheckedFunction>> {
        self.bindings.get(&name).map(|binding| &binding.function)
    }

    /// Returns all bound functions, in no particular order.
    pub fn functions(&self) -> impl Iterator<Item = &Arc<CheckedFunction>> {
        self.bindings.values().map(|binding| &binding.function)
    }

    /// Returns all bound names, each with whether its function has been lowered,
    /// in no particular order.
    pub fn bound(&self) -> impl Iterator<Item = (Name, bool)> {
        self.bindings.iter().map(|(name, binding)| (*name, binding.code.is_some()))
    }

    /// Returns whether the bound function has ever been called.
    pub fn has_called(&self, name: Name) -> bool {
        self.bindings.get(&name).is_some_and(|binding| binding.code.is_some())
    }

    /// Runs a top-level expression.
    ///
    /// # Errors
    /// If the run fails or is stopped.
    pub fn run(
        &mut self,
        expression: &Arc<CheckedFunction>,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        let tape = self.supplied(expression);
        let entry = self.link(expression, tape)?;
        self.expressions += 1;
        let result = self.enter(entry, &[], compiled, outside);
        self.retire(Some(entry.code));
        result
    }

    /// Calls a function.
    ///
    /// # Errors
    /// If the run fails or is stopped.
    pub fn call(
        &mut self,
        name: Name,
        arguments: &[f64],
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        let callee = TapeCallee { name, arity: arguments.len() as u32 };
        if self.linkage(callee) != Linkage::Bound {
            if let Some(request) = self.take_request() {
                return Err(Failure::from(request).into());
            }
            let result = self.hosts.call(name, arguments, outside, &self.stopper);
            return Ok(result.map_err(|error| Failure::of_host(name, arguments, error))?);
        }
        let number = self.links.callee(&mut self.code, callee)?;
        self.enter(self.links.entry(number), arguments, compiled, outside)
    }

    /// Calls a function on behalf of compiled code, from that call site.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_from(
        &mut self,
        site: CallSite,
        name: Name,
        arguments: &[f64],
        compiled: &dyn CompiledTier,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        self.outer.push(Outer::Compiled(site));
        let result = self.call(name, arguments, Some(compiled), outside);
        self.outer.pop();
        let value = result?;
        self.leave_to(site, value, compiled)?;
        Ok(value)
    }

    /// Returns the size of the linked instructions in bytes.
    pub fn code_bytes(&self) -> u64 {
        self.code.bytes()
    }

    // --- linking ------------------------------------------------------------

    /// Links a function: from the given tape if that is still valid, else from
    /// a new one.
    fn link(
        &mut self,
        function: &Arc<CheckedFunction>,
        tape: Option<Arc<Tape>>,
    ) -> Result<EntryPoint, Failure> {
        if let Some(tape) = tape.filter(|tape| self.is_present(tape)) {
            return self.link_tape(&tape, function);
        }
        let tape = Arc::new(self.tape(function)?);
        self.link_tape(&tape, function)
    }

    /// Supplies a tape that was lowered before, for the next function to be
    /// bound or run. It is used if it is still valid when the function is first
    /// called.
    pub fn supply(&mut self, function: &Arc<CheckedFunction>, tape: &Arc<Tape>) {
        self.supplied = Some((function.clone(), tape.clone()));
    }

    /// Takes the tape that was supplied for a function.
    fn supplied(&mut self, function: &Arc<CheckedFunction>) -> Option<Arc<Tape>> {
        let (supplied, tape) = self.supplied.take()?;
        Arc::ptr_eq(&supplied, function).then_some(tape)
    }

    /// Returns whether a tape equals what lowering would produce now.
    fn is_present(&self, tape: &Tape) -> bool {
        let plain = !self.counts_fuel && self.hot_after.is_none();
        plain
            && tape.callees.iter().all(|callee| self.linkage(*callee) == Linkage::Bound)
            && tape.hosts.iter().all(|callee| self.linkage(*callee).is_direct())
            && tape.instructions.iter().all(|callee| self.linkage(*callee).is_instruction())
    }

    /// Returns how a call reaches its function now.
    fn linkage(&self, callee: TapeCallee) -> Linkage {
        Linkage::of(callee, &self.hosts, self.bindings.contains_key(&callee.name))
    }

    /// Validates and links a tape.
    fn link_tape(
        &mut self,
        tape: &Arc<Tape>,
        function: &Arc<CheckedFunction>,
    ) -> Result<EntryPoint, Failure> {
        // Those of stored programs are validated when they are read.
        tape.validate().map_err(|fault| Failure::Internal {
            message: format!("an invalid tape is made: {fault}"),
            function: Some(function.clone()),
        })?;
        let mut held = HeldVariables::of(&self.variables);
        let counter = self.hot_after.unwrap_or(0).max(1);
        let words = self.links.relocate(tape, &mut self.code, &self.hosts, &mut held, counter)?;
        let no_room = |limit| match limit {
            Some(limit) => Failure::OverLimit { function: function.clone(), limit },
            None => Failure::Compile {
                function: function.clone(),
                message: "there is no room for its tape".to_owned(),
            },
        };
        let code = self.code.add(&words, function, tape, held).map_err(no_room)?;
        self.place_breaks_of(function, tape, code);
        Ok(EntryPoint { code, link: tape.locals, frame: tape.frame })
    }

    /// Lowers a function. The tape is valid until a name changes between being
    /// bound and being the host's.
    fn tape(&self, function: &Arc<CheckedFunction>) -> Result<Tape, Failure> {
        let linkage = |callee: TapeCallee| self.linkage(callee);
        let counts = match self.hot_after {
            None => Counts::Nothing,
            Some(_) if self.names.text(function.name) == EXPRESSION => Counts::Iterations,
            Some(_) => Counts::IterationsAndCalls,
        };
        let environment = LoweringContext { linkage: &linkage, counts_fuel: self.counts_fuel, counts };
        Tape::lower(function, environment).map_err(|tape::TooMany(what)| Failure::TooMany(what))
    }

    /// Links the function that a callee refers to.
    fn link_callee(&mut self, number: u32) -> Result<EntryPoint, Failure> {
        let TapeCallee { name, arity } = self.links.target(number);
        let Some(InterpBinding { function, tape, code }) = self.bindings.get_mut(&name) else {
            return Err(self.without_definition(name, arity));
        };
        let function = function.clone();
        if !function.fits(arity) {
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

    /// Returns why a name without a definition cannot be called.
    fn without_definition(&self, name: Name, passed: u32) -> Failure {
        let is_foreign = self.hosts.foreign(name).is_some();
        match self.hosts.get(name).map(|host| host.arity).or(self.declared.get(&name).copied()) {
            Some(wanted) if wanted != passed => {
                Failure::HostArity { callee: name, wanted, passed, caller: None }
            }
            None if is_foreign => Failure::Undeclared { callee: name, passed, caller: None },
            Some(_) | None => Failure::Undefined { callee: name, passed, caller: None },
        }
    }

    /// Returns the foreign function that a callee refers to.
    fn foreign(&self, callee: TapeCallee) -> Option<ForeignFunction> {
        let is_meant = !self.bindings.contains_key(&callee.name)
            && self.declared.get(&callee.name) == Some(&callee.arity);
        self.hosts.foreign(callee.name).filter(|_| is_meant).cloned()
    }

    /// Handles a name that has become bound or unbound: discards linked code
    /// that calls it.
    fn meaning_changed(&mut self, name: Name) {
        if self.hosts.get(name).is_none() {
            return;
        }
        let uses = |function: &CheckedFunction| function.callees.iter().any(|callee| callee.name == name);
        for (user, binding) in &mut self.bindings {
            if binding.code.is_some() && uses(&binding.function) {
                self.code.remove_if(binding.code.take());
                self.links.reset(*user);
            }
        }
        self.kept.retain(&mut self.code, |function| !uses(function));
    }

    // --- running ------------------------------------------------------------

    fn enter(
        &mut self,
        entry: EntryPoint,
        arguments: &[f64],
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        self.forget_remains();
        // Before its frame is set up, the slots hold values of earlier runs: no
        // trace can be made of it.
        self.begin(entry, arguments)?;
        // The run may be too short to have a safepoint.
        if self.memory.code_ready().load(Ordering::Relaxed) != 0 {
            self.poll_ready_code(compiled);
        }
        let start = (self.depth == 0).then(Instant::now);
        let mut state = InterpState { at: entry.code as usize, base: self.top, accumulator: 0.0 };
        self.depth += 1;
        let begun = self.begin_stepping(&mut state, compiled, outside);
        let mut result = begun.and_then(|()| self.resume(&mut state, compiled, outside));
        while let Err(stopped) = &result
            && self.show_failure(&mut state, stopped, compiled, outside)
        {
            result = self.resume(&mut state, compiled, outside);
        }
        self.depth -= 1;
        if let Some(start) = start {
            self.run_nanoseconds += u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        }
        result.map_err(|stopped| {
            let RunFailure { failure, trace } = self.keep_remains(state, stopped);
            let trace = self.trace(state, trace);
            // A stop in progress still shows the frames below the top.
            if self.depth == 0 && self.top == 0 && self.stack.len() > KEPT_STACK {
                self.stack = vec![0.0; FIRST_STACK];
            }
            RunFailure { failure, trace }
        })
    }

    /// Sets up the outermost frame.
    fn begin(&mut self, entry: EntryPoint, arguments: &[f64]) -> Result<(), Failure> {
        let base = self.top;
        self.note_fork();
        self.reserve(base + entry.frame as usize)?;
        self.stack[base..base + arguments.len()].copy_from_slice(arguments);
        self.stack[base + entry.link as usize] = link(LEAVE as usize, 0);
        Ok(())
    }

    /// Executes until the outermost frame returns.
    fn resume(
        &mut self,
        state: &mut InterpState,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        loop {
            let pause = match self.step_mode {
                StepMode::Run if self.is_watching() => self.execute::<false, true>(state),
                StepMode::Run => self.execute::<false, false>(state),
                StepMode::Past | StepMode::Step { .. } => {
                    if let Some(value) = self.step(state, compiled, outside)? {
                        return Ok(value);
                    }
                    continue;
                }
            };
            match pause {
                Pause::Left => return Ok(state.accumulator),
                Pause::Break => self.inspect(state, Reason::Place, compiled, outside)?,
                Pause::Nonfinite(operation) => {
                    self.stop_if_nonfinite(operation, state, compiled, outside)?;
                }
                pause => {
                    if self.breaks_in(pause, state, compiled, outside)? {
                        continue;
                    }
                    self.handle_pause(pause, state, compiled, outside)?;
                    // A nested run may have been stepped out of.
                    if !self.stop_if_host_nonfinite(state, compiled, outside)? {
                        self.arrive(state, compiled, outside)?;
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

    /// Handles what the instruction loop paused for.
    fn handle_pause(
        &mut self,
        pause: Pause,
        state: &mut InterpState,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<(), RunFailure> {
        match pause {
            Pause::Left | Pause::Break | Pause::Once | Pause::Nonfinite(_) => {}
            Pause::FirstCall => self.first_call(state, compiled, outside)?,
            Pause::Limit(slots) => {
                self.poll_ready_code(compiled);
                self.reserve(slots)?;
            }
            Pause::Stop => {
                self.poll_ready_code(compiled);
                self.reserve(0)?;
            }
            Pause::Fuel => return Err(Failure::OutOfFuel.into()),
            Pause::Closure => self.closure(state, outside)?,
            Pause::Hot => self.hot(state, compiled, outside)?,
        }
        Ok(())
    }

    /// Grows the stack to at least that number of slots, unless the run is to
    /// stop.
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
        self.set_limit();
        Ok(())
    }

    /// Sets the stack limit to the stack's size, or to 0 if the next safepoint
    /// poll has something to do.
    fn set_limit(&self) {
        let memory = &self.memory;
        memory.interp_limit().swap(self.stack.len(), Ordering::SeqCst);
        if memory.requests().load(Ordering::SeqCst) != 0 || memory.code_ready().load(Ordering::SeqCst) != 0 {
            memory.interp_limit().swap(0, Ordering::SeqCst);
        }
    }

    /// Continues a call whose frame has been set up, in a callee that has to be
    /// linked first or is compiled.
    fn first_call(
        &mut self,
        state: &mut InterpState,
        compiled: Crossing<'_>,
        outside: &mut Outside,
    ) -> Result<(), RunFailure> {
        let number = self.code.words()[state.at] >> 8;
        let callee = self.links.target(number);
        let arity = callee.arity as usize;
        let compiled = compiled.filter(|_| !self.holds(callee.name));
        let arguments = &self.stack[state.base..state.base + arity];
        if let Some(value) = compiled.and_then(|compiled| compiled.call_context_free(callee, arguments)) {
            let (at, base) = unlink(self.stack[state.base + arity]);
            *state = InterpState { at, base, accumulator: value };
            return Ok(());
        }
        let compiled = compiled.filter(|compiled| compiled.has_code(callee));
        if let Some(compiled) = compiled {
            let arguments = self.stack[state.base..state.base + arity].to_vec();
            return self.leave_for(state, callee.arity, |interpreter| {
                compiled.call(interpreter, callee, &arguments, outside)
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
                // The callee has not begun: the innermost call is the caller's.
                let (at, base) = unlink(saved);
                *state = InterpState { at: at.saturating_sub(1), base, ..*state };
                Err(failure.called_by(self.code.function(state.at as u32).cloned()).into())
            }
        }
    }

    /// Leaves the innermost frame, whose link is in slot `link`, for compiled
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
        // A nested run may have moved the limit.
        self.set_limit();
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

    /// Calls the closure of the host that the next instruction refers to.
    fn closure(&mut self, state: &mut InterpState, outside: &mut Outside) -> Result<(), Failure> {
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
        let result = self.hosts.call_closure(name, arguments, outside, &self.stopper);
        self.note_fork();
        // A request that came meanwhile is for this run, not for the next.
        if let Some(request) = self.take_request() {
            return Err(request.into());
        }
        state.accumulator = result.map_err(|error| Failure::of_host(name, arguments, error))?;
        self.is_nonfinite = is_finite && !state.accumulator.is_finite();
        state.at += if from_accumulator { Op::HostA.length() } else { Op::Host.length() };
        Ok(())
    }

    /// Appends the calls in progress to a trace, innermost first.
    fn trace(&self, mut state: InterpState, mut trace: CallTrace) -> CallTrace {
        while let Some((function, tape)) = self.code.frame(state.at as u32) {
            trace.push(function);
            let Some((at, base)) = self.caller(state.base, tape.locals) else { break };
            state = InterpState { at: at.saturating_sub(1), base, ..state };
        }
        trace
    }

    /// Returns where the caller of a frame continues, and the caller's base. A
    /// caller's frame is below its callee's; anything else ends the walk.
    fn caller(&self, base: usize, link: u32) -> Option<(usize, usize)> {
        let (at, callers) = unlink(*self.stack.get(base + link as usize)?);
        (callers < base).then_some((at, callers))
    }
}
