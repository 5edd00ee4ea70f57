//! The JIT's side of one context: its bindings, and running code in it.

use super::batch;
use super::bindings::{Bindings, CallAction, Observer};
use super::code_map::Finder;
use super::definition::Definition;
use super::epoch::RunEpoch;
use super::formula::{CompiledFormula, Intrinsics};
use super::osr::OsrCode;
use super::request::{claim_pending, make_as, make_later, materialize};
use super::run::JitRun;
use super::slots::CallTarget;
use super::state::{Event, State};
use super::tier::{CompilePlan, Tier};
use super::{Jit, nanoseconds};
use crate::codegen::LoopEntry;
use crate::failure::{CallTrace, Defined, Failure, RunFailure};
use crate::host::Output;
use crate::name::Name;
use crate::runtime::{self, CallArguments, Execution, ExecutionMemory, Left, Slot};
use crate::sema::checked::CheckedFunction;
use crate::stop::Stopper;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;

/// The bindings of one context and what its code runs on. Used by one thread
/// at a time.
pub struct JitContext {
    jit: Arc<Jit>,
    bindings: Arc<Bindings>,
    run_epoch: Arc<RunEpoch>,
    execution: Execution,
    /// How many arguments the program says that foreign functions take.
    declared: RefCell<FxHashMap<Name, u32>>,
    /// The functions with instructions of their own that the program defines.
    defined: Cell<Intrinsics>,
    run_nanoseconds: Cell<u64>,
    /// Nanoseconds that runs have waited for compilers.
    waited: Cell<u64>,
    /// What is to be prepared soon.
    queued: RefCell<Vec<Arc<Definition>>>,
}

/// Functions that run on tapes, as compiled code sees them.
pub trait InterpretedCalls {
    /// Whether calls of a function go to its tape.
    fn is_interpreted(&mut self, name: Name, is_compiled: bool) -> bool;

    /// Whether there may be any.
    fn may_interpret(&self) -> bool {
        true
    }

    /// Calls it; `from` says where the code calls.
    ///
    /// # Errors
    /// Why it did not run to its end.
    fn call(
        &mut self,
        name: Name,
        arguments: &[f64],
        from: Left,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure>;
}

/// No tapes at all.
pub struct NoInterpreter;

impl InterpretedCalls for NoInterpreter {
    fn is_interpreted(&mut self, _: Name, _: bool) -> bool {
        false
    }

    fn may_interpret(&self) -> bool {
        false
    }

    fn call(&mut self, _: Name, _: &[f64], _: Left, _: &mut dyn Output) -> Result<f64, RunFailure> {
        Err(Failure::System("no interpreted".into()).into())
    }
}

/// A definition that a name is, or was, bound to, with its code if that has
/// been made. Whoever holds one keeps the code.
#[derive(Clone)]
pub struct DefinitionHandle(Arc<Definition>);

impl DefinitionHandle {
    /// The function.
    pub fn function(&self) -> &Arc<CheckedFunction> {
        self.0.function()
    }

    /// The level of its code, if it has any yet.
    pub fn tier(&self) -> Option<Tier> {
        self.0.tier()
    }

    /// How many bytes of instructions its code has; 0 if it has none yet.
    pub fn code_bytes(&self) -> u64 {
        self.0.code_bytes()
    }
}

impl JitContext {
    /// A context without bindings, whose code works on `memory` and runs on a
    /// stack of `stack` bytes.
    pub fn new(jit: &Arc<Jit>, memory: Arc<ExecutionMemory>, stack: usize) -> Self {
        jit.slots.join(&memory);
        Self {
            jit: jit.clone(),
            bindings: Arc::new(Bindings::new(memory.clone())),
            run_epoch: jit.epochs.join(),
            execution: Execution::new(memory, stack),
            declared: RefCell::default(),
            defined: Cell::default(),
            run_nanoseconds: Cell::new(0),
            waited: Cell::new(0),
            queued: RefCell::default(),
        }
    }

    /// The JIT of the engine.
    pub fn jit(&self) -> &Arc<Jit> {
        &self.jit
    }

    /// What its code works on.
    pub fn memory(&self) -> &Arc<ExecutionMemory> {
        self.bindings.memory()
    }

    /// What asks runs of this context to stop, from any thread.
    pub fn stopper(&self) -> Stopper {
        Stopper::new(self.bindings.memory().clone())
    }

    /// Nanoseconds spent in top-level expressions, without waiting for
    /// compilers. Calls from Rust are not timed, which would take longer than
    /// many of them.
    pub fn run_nanoseconds(&self) -> u64 {
        self.run_nanoseconds.get()
    }

    /// Nanoseconds that top-level expressions and runs have waited for
    /// compilers.
    pub fn waited_nanoseconds(&self) -> u64 {
        self.waited.get()
    }

    /// Binds a function's name to it. Nothing is compiled.
    pub fn define(&self, function: Arc<CheckedFunction>) -> Defined {
        let definition = self.jit.define(function);
        self.bind(definition)
    }

    /// Binds a name to an earlier definition of it, whose code is still there
    /// if it was ever made.
    pub fn rebind(&self, bound: &DefinitionHandle) -> Defined {
        let defined = self.bind(bound.0.clone());
        if let Some(made) = bound.0.present() {
            self.bindings.finished(&self.jit, &bound.0, Some(made));
        }
        defined
    }

    fn bind(&self, definition: Arc<Definition>) -> Defined {
        let function = definition.function().clone();
        let before = self.bindings.bind(&self.jit.slots, Event::Define, definition);
        self.forget_inlined(function.name);
        if before.is_none() {
            self.note_intrinsic(function.name, true);
            self.replace_intrinsic(function.name);
        }
        let before = before.map(|definition| definition.function().clone());
        // What did not fit before has been told of then.
        let is_same = before.as_ref().is_some_and(|before| before.arity() == function.arity());
        let stale = if is_same { Vec::new() } else { self.stale_callers(&function) };
        Defined { before, stale }
    }

    /// Binds a name to nothing; gives back what it was bound to.
    pub fn drop_binding(&self, name: Name) -> Option<DefinitionHandle> {
        let definition = self.bindings.unbind(&self.jit.slots, name)?;
        self.note_intrinsic(name, false);
        self.forget_inlined(name);
        Some(DefinitionHandle(definition))
    }

    /// The definition that a name is bound to.
    pub fn bound(&self, name: Name) -> Option<DefinitionHandle> {
        self.bindings.get(name).map(|(_, definition)| DefinitionHandle(definition))
    }

    /// Sets who is told of what happens to names from now on, on whatever
    /// thread it happens.
    pub fn observe(&self, observer: Option<Observer>) {
        self.bindings.observe(observer);
    }

    /// Sets how many arguments the program says that a foreign function takes.
    pub fn declare(&self, name: Name, arity: Option<u32>) {
        if self.jit.hosts.foreign(name).is_none() {
            return;
        }
        let mut declared = self.declared.borrow_mut();
        let before = match arity {
            Some(arity) => declared.insert(name, arity),
            None => declared.remove(&name),
        };
        if before != arity {
            self.jit.slots.reset(self.memory(), name);
        }
    }

    /// How many arguments the program says that a foreign function takes.
    pub fn declared(&self, name: Name) -> Option<u32> {
        self.declared.borrow().get(&name).copied()
    }

    /// What a name is bound to, and how far its code is.
    pub fn binding(&self, name: Name) -> Option<(State, Arc<CheckedFunction>)> {
        self.bindings.get(name).map(|(state, definition)| (state, definition.function().clone()))
    }

    /// All that is bound, in no particular order.
    pub fn all(&self) -> Vec<(State, Arc<CheckedFunction>)> {
        let all = self.bindings.all();
        all.into_iter().map(|(state, definition)| (state, definition.function().clone())).collect()
    }

    /// How many names are bound.
    pub fn definitions(&self) -> usize {
        self.bindings.len()
    }

    /// Has the code of a function made ahead of its first call, without
    /// waiting for it. Does nothing if the name is not bound.
    ///
    /// # Errors
    /// When no worker can be started.
    pub fn prepare(&self, name: Name) -> Result<(), Failure> {
        let Some((_, definition)) = self.bindings.get(name) else { return Ok(()) };
        make_later(&self.jit, &self.bindings, claim_pending(&self.jit, &self.bindings, vec![definition]))
    }

    /// Has the code of a function made ahead of its first call, together with
    /// that of others: soon, at the latest after the next
    /// [`submit`](Self::submit).
    ///
    /// # Errors
    /// When no worker can be started.
    pub fn prepare_soon(&self, name: Name) -> Result<(), Failure> {
        let Some((_, definition)) = self.bindings.get(name) else { return Ok(()) };
        self.queued.borrow_mut().push(definition);
        if self.queued.borrow().len() >= batch::SIZE { self.submit() } else { Ok(()) }
    }

    /// Has a worker start on what is to be prepared soon.
    ///
    /// # Errors
    /// When no worker can be started.
    pub fn submit(&self) -> Result<(), Failure> {
        make_later(&self.jit, &self.bindings, claim_pending(&self.jit, &self.bindings, self.queued.take()))
    }

    /// Makes the code of every pending definition, on all workers, and waits.
    ///
    /// # Errors
    /// The first definition that cannot be compiled; all others are made.
    pub fn prepare_all(&self) -> Result<(), Failure> {
        self.submit()?;
        let all = self.bindings.all().into_iter().map(|(_, definition)| definition);
        let fitting = all.filter(|definition| !self.jit.is_too_large(definition.function()));
        let waiting: Vec<_> = fitting.filter(|definition| definition.body().is_none()).collect();
        let waiting = claim_pending(&self.jit, &self.bindings, waiting);
        let share = waiting.len().div_ceil(self.jit.options.workers.max(1));
        let ask = |part: &[Arc<Definition>]| {
            let (jit, bindings, part) = (self.jit.clone(), self.bindings.clone(), part.to_vec());
            self.jit.ask(move || batch::make(&jit, &bindings, &part))
        };
        let answers: Vec<_> = waiting.chunks(share.clamp(1, batch::SIZE)).map(ask).collect();
        let mut result = Ok(());
        for answer in answers {
            result = result.and(answer?.wait(&self.jit.workers, Some(&self.stopper()))?);
        }
        // What another worker was at is waited for as well.
        for definition in waiting.into_iter().filter(|definition| definition.is_busy()) {
            let made = self.jit.wait_for(Some(&self.stopper()), move || definition.wait())?;
            result = result.and(made.map(|_| ()));
        }
        result
    }

    /// Compiles a top-level expression, runs it and removes its code.
    ///
    /// # Errors
    /// Why it could not be compiled or did not run to its end.
    pub fn run(
        &self,
        expression: &Arc<CheckedFunction>,
        output: &mut dyn Output,
        interpreted: &mut dyn InterpretedCalls,
    ) -> Result<f64, RunFailure> {
        let start = Instant::now();
        let definition = self.jit.define(expression.clone());
        let body = materialize(&self.jit, &self.bindings, &definition, interpreted);
        self.waited.set(self.waited.get() + nanoseconds(start.elapsed()));
        let body = body?;
        let (start, waited) = (Instant::now(), self.waited.get());
        let result = self.enter(|_| body, CallArguments::NONE, output, interpreted);
        let waited = self.waited.get() - waited;
        let run = nanoseconds(start.elapsed()).saturating_sub(waited);
        self.run_nanoseconds.set(self.run_nanoseconds.get() + run);
        result
    }

    /// Compiles a function that no name is bound to.
    ///
    /// # Errors
    /// Why it could not be compiled.
    pub fn formula(&self, function: &Arc<CheckedFunction>) -> Result<CompiledFormula, Failure> {
        let formula = CompiledFormula::new(function.clone());
        self.formula_body(&formula)?;
        Ok(formula)
    }

    /// The body of a formula in this context, made if need be.
    fn formula_body(&self, formula: &CompiledFormula) -> Result<usize, Failure> {
        let defined = self.defined.get();
        if let Some(body) = formula.body(defined) {
            return Ok(body);
        }
        // Nothing is inlined: it is to see what its callees mean later.
        let options = self.jit.options.code;
        let plan = CompilePlan { tier: Tier::Full, options, inline: Vec::new(), hot_after: None };
        let definition = self.jit.define(formula.function(&self.jit.names, defined));
        let body = make_as(&self.jit, &self.bindings, &definition, plan, Some(&self.stopper()))?;
        formula.add(defined, definition, body);
        Ok(body)
    }

    /// Runs a formula; the number of arguments must be the function's.
    ///
    /// # Errors
    /// Why it could not be compiled or did not run to its end.
    pub fn run_formula(
        &self,
        formula: &CompiledFormula,
        arguments: &[f64],
        output: &mut dyn Output,
        interpreted: &mut dyn InterpretedCalls,
    ) -> Result<f64, RunFailure> {
        let body = self.formula_body(formula)?;
        let mut room = [0.0; 8];
        self.enter(|_| body, CallArguments::new(arguments, &mut room), output, interpreted)
    }

    /// Whether calls of a function with so many arguments need no tape: it is
    /// compiled, or it is a foreign function.
    pub fn has_code(&self, name: Name, arity: u32) -> bool {
        match self.bindings.get(name) {
            Some((state, definition)) => {
                state == State::Materialized && definition.function().arity() == arity
            }
            None => self.jit.hosts.foreign(name).is_some(),
        }
    }

    /// Whether a name is bound to a function that takes so many arguments and can
    /// be compiled.
    pub fn is_bound(&self, name: Name, arity: u32) -> bool {
        self.bindings.get(name).is_some_and(|(_, definition)| {
            let function = definition.function();
            function.arity() == arity && !self.jit.is_too_large(function)
        })
    }

    /// Has all code call a function through its trampoline again, as if it had
    /// just been defined.
    pub fn deoptimize(&self, name: Name) {
        if let Some((State::Materializing | State::Materialized, definition)) = self.bindings.get(name) {
            let again = self.jit.define(definition.function().clone());
            self.bindings.bind(&self.jit.slots, Event::CalleeChanged, again);
        }
        self.forget_inlined(name);
    }

    /// Has a function that is often called on its tape compiled at the full
    /// level: in the background, or at once if this `wait`. `ran` says what has
    /// been called on its tape.
    ///
    /// # Errors
    /// When no worker can be started; if this waits, also what the compiler said.
    pub fn promote(&self, name: Name, wait: bool, ran: &dyn Fn(Name) -> bool) -> Result<(), Failure> {
        let Some((State::Pending | State::Inlined, definition)) = self.bindings.get(name) else {
            return Ok(());
        };
        let target = CallTarget { name, arity: definition.function().arity() };
        let plan = self.bindings.plan_among(&self.jit, definition.function(), Tier::Full, ran);
        let CallAction::Wait(definition) = self.bindings.call(&self.jit.slots, target) else { return Ok(()) };
        if wait {
            // Who is asked to stop meanwhile does so in the run that goes on.
            return make_as(&self.jit, &self.bindings, &definition, plan, None).map(|_| ());
        }
        let (jit, bindings) = (self.jit.clone(), self.bindings.clone());
        self.jit.later(move || _ = batch::body_as(&jit, &bindings, (definition, plan)))
    }

    /// Has code made for the rest of a function from a round of a loop on: in
    /// the background, or at once if this `wait`. `ran` says what has been
    /// called on its tape.
    ///
    /// # Errors
    /// When no worker can be started; if this waits, also what the compiler said.
    pub fn compile_osr(
        &self,
        function: &Arc<CheckedFunction>,
        entry: LoopEntry,
        wait: bool,
        ran: &dyn Fn(Name) -> bool,
    ) -> Result<Arc<OsrCode>, Failure> {
        let plan = self.bindings.plan_among(&self.jit, function, Tier::Full, ran);
        let code = Arc::new(OsrCode::new(function.clone(), entry));
        let (jit, made) = (self.jit.clone(), code.clone());
        let work = move || made.make(&jit, &plan);
        if wait {
            self.jit.wait_for(None, work)?;
            return Ok(code);
        }
        let memory = self.bindings.memory().clone();
        self.jit.later(move || {
            work();
            memory.signal_code_ready();
        })?;
        Ok(code)
    }

    /// Runs such code, if it is there.
    ///
    /// # Errors
    /// Why it did not run to its end.
    pub fn enter_osr(
        &self,
        code: &OsrCode,
        arguments: &[f64],
        output: &mut dyn Output,
        interpreted: &mut dyn InterpretedCalls,
    ) -> Result<f64, RunFailure> {
        let Some(body) = code.body() else {
            return Err(Failure::System("the code is not ready".into()).into());
        };
        self.enter(|_| body, CallArguments::new(arguments, &mut [0.0; 8]), output, interpreted)
    }

    /// The slot for calls of a function from Rust.
    ///
    /// # Errors
    /// When there are too many functions.
    pub fn slot(&self, name: Name, arity: u32) -> Result<Slot, Failure> {
        self.jit.slots.slot(CallTarget { name, arity })
    }

    /// Calls a function through its slot, as compiled code does. The number
    /// of arguments must be the one the slot is for.
    ///
    /// # Errors
    /// Why it did not run to its end.
    #[inline]
    pub fn call(
        &self,
        slot: Slot,
        arguments: CallArguments<'_>,
        output: &mut dyn Output,
        interpreted: &mut dyn InterpretedCalls,
    ) -> Result<f64, RunFailure> {
        self.enter(|memory| memory.slot(slot), arguments, output, interpreted)
    }

    #[inline]
    #[allow(unsafe_code)]
    fn enter(
        &self,
        body: impl FnOnce(&ExecutionMemory) -> usize,
        arguments: CallArguments<'_>,
        output: &mut dyn Output,
        interpreted: &mut dyn InterpretedCalls,
    ) -> Result<f64, RunFailure> {
        let Self { jit, bindings, run_epoch, execution, declared, .. } = self;
        let outermost = jit.epochs.begin(run_epoch);
        let body = body(bindings.memory());
        let mut run =
            JitRun { jit, bindings, declared, output, interpreted, tape: None, failure: None, waited: 0 };
        // SAFETY: the body is that of an expression, formula or continuation with
        // that number of parameters, which its caller keeps, or what a slot for
        // this number of arguments leads to. Slots lead to trampolines of the
        // JIT's pool, to host functions of that number of arguments, which stay,
        // or to bodies of that number, which the epoch begun above keeps.
        let result = unsafe { execution.call(body, arguments, &mut run) };
        self.waited.set(self.waited.get() + run.waited);
        if let Ok(Ok(value)) = result {
            if outermost {
                self.jit.epochs.end(&self.run_epoch);
            }
            return Ok(value);
        }
        let stopped = match result {
            // Code that was left is known only until the epoch ends.
            Ok(left) => left.map_err(|left| self.failed(left, run.failure.take(), outermost)),
            Err(error) => Err(Failure::System(error.to_string()).into()),
        };
        if outermost {
            self.jit.epochs.end(&self.run_epoch);
        }
        stopped
    }

    #[cold]
    fn failed(&self, left: Left, failure: Option<RunFailure>, outermost: bool) -> RunFailure {
        let is_own = failure.as_ref().is_none_or(|stopped| stopped.trace.is_empty());
        let RunFailure { failure, trace } = failure.unwrap_or_else(|| Failure::Interrupted.into());
        let (caller, trace) = self.trace(left, trace);
        let failure = if is_own { failure.called_by(caller) } else { failure };
        if outermost && matches!(failure, Failure::StackOverflow) {
            self.execution.release_stack();
        }
        RunFailure { failure, trace }
    }

    /// The calls in progress, innermost first, where code has called out.
    pub fn callers(&self, address: usize, frame: usize) -> Vec<Arc<CheckedFunction>> {
        let mut finder = Finder::new(&self.jit.code);
        let addresses = std::iter::once(address).chain(self.execution.return_addresses(frame));
        addresses.filter_map(|address| finder.find(address)).collect()
    }

    /// Who was running where a run was left, and the calls in progress behind
    /// those inside them.
    fn trace(&self, left: Left, mut trace: CallTrace) -> (Option<Arc<CheckedFunction>>, CallTrace) {
        let mut finder = Finder::new(&self.jit.code);
        let innermost = (left.fault != 0 && !runtime::is_entry(left.fault)).then_some(left.fault);
        if let Some(fault) = innermost {
            let addresses = std::iter::once(fault).chain(self.execution.return_addresses(left.frame));
            addresses.for_each(|address| finder.find(address).iter().for_each(|owner| trace.push(owner)));
        }
        (innermost.and_then(|fault| finder.find(fault)), trace)
    }

    /// The definitions that call `function` with a number of arguments it does
    /// not take. Found by looking at all definitions, but only if one of
    /// them makes such calls.
    fn stale_callers(&self, function: &CheckedFunction) -> Vec<Arc<CheckedFunction>> {
        let fits = |arity: &u32| *arity == function.arity();
        if !self.bindings.is_called_without(function.name, function.arity()) {
            return Vec::new();
        }
        let calls_it_wrongly = |caller: &Arc<CheckedFunction>| {
            caller.callees.iter().any(|callee| callee.name == function.name && !fits(&callee.arity))
        };
        let callers = self.all().into_iter().map(|(_, caller)| caller);
        let mut stale: Vec<_> = callers.filter(calls_it_wrongly).collect();
        stale.sort_by_key(|caller| caller.name.index());
        stale
    }

    /// The program defines a function from now on, or does no longer.
    fn note_intrinsic(&self, name: Name, is_defined: bool) {
        if let Some(intrinsic) = self.jit.hosts.get(name).and_then(|host| host.intrinsic) {
            self.defined.set(self.defined.get().with(intrinsic, is_defined));
        }
    }

    /// When the program defines a name that code has used as an instruction,
    /// that code is made anew, with calls.
    fn replace_intrinsic(&self, name: Name) {
        let Some(intrinsic) = self.jit.hosts.get(name).and_then(|host| host.intrinsic) else { return };
        let uses_it = |function: &Arc<CheckedFunction>| function.uses_intrinsic(intrinsic);
        for user in self.all().into_iter().map(|(_, function)| function).filter(uses_it) {
            let definition = self.jit.define(Arc::new(user.without_intrinsic(intrinsic, name)));
            self.bindings.bind(&self.jit.slots, Event::CalleeChanged, definition);
        }
    }

    /// When a name means something else, code that it was inlined into is
    /// made anew.
    fn forget_inlined(&self, name: Name) {
        for inliner in self.bindings.take_inliners(name) {
            let definition = self.jit.define(inliner);
            self.bindings.bind(&self.jit.slots, Event::CalleeChanged, definition);
        }
    }
}
