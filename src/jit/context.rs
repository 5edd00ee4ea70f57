//! The JIT's part of one context: its bindings, and running code in it.

use super::batch;
use super::bindings::{Bindings, CallAction, SharedBindings};
use super::code::CompiledCode;
#[cfg(feature = "executable")]
use super::code::ContextFreeCode;
use super::code_map::{CodeOwner, Finder};
use super::definition::Definition;
use super::formula::{Builtins, CompiledFormula};
use super::osr::OsrCode;
use super::reporter::Observer;
use super::request::{Request, claim_pending, make_as, make_later, materialize};
use super::run::JitRun;
use super::shapes;
use super::slots::{CallTarget, HeldSlot};
use super::state::{Event, State};
use super::tier::{self, Assumptions, CompilePlan, Tier};
use super::{Jit, nanoseconds};
use crate::budget::ContextBudget;
use crate::codegen::{LoopEntry, gains_from_features, may_round_statically};
use crate::failure::{CallTrace, Failure, RunFailure};
use crate::float_environment::{DefaultEnvironment, PresentEnvironment};
use crate::host::Outside;
use crate::interp::InterpretedTier;
use crate::name::Name;
use crate::runtime::{self, CallArguments, Execution, ExecutionMemory, Left, Slot};
use crate::sema::checked::CheckedFunction;
use crate::stop::StopHandle;
use crate::tape::CountedLoop;
use crate::world::Layer;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;

/// The bindings of one context and what its code runs on. Used by one thread at
/// a time.
pub struct JitContext {
    jit: Arc<Jit>,
    bindings: Arc<Bindings>,
    execution: Execution,
    /// The builtins whose names the program defines itself.
    defined: Cell<Builtins>,
    run_nanoseconds: Cell<u64>,
    /// Nanoseconds that runs have spent waiting for compilers.
    waited: Cell<u64>,
    /// The expressions in progress, outermost first, each after the function
    /// that is run for it.
    expressions: RefCell<Vec<(Arc<CheckedFunction>, Arc<CheckedFunction>)>>,
    /// Definitions to be submitted to a worker as one batch.
    queued: RefCell<Vec<Arc<Definition>>>,
}

/// A definition that a name is, or was, bound to, with its code if it is
/// compiled. Holding it keeps the code alive.
#[derive(Clone)]
pub struct DefinitionHandle(Arc<Definition>);

impl DefinitionHandle {
    /// Returns the checked function.
    pub fn function(&self) -> &Arc<CheckedFunction> {
        self.0.function()
    }

    /// Returns the tier of its code; `None` before it is compiled.
    pub fn tier(&self) -> Option<Tier> {
        self.0.tier()
    }

    /// Returns the size of its machine code in bytes; 0 before it is compiled.
    pub fn code_bytes(&self) -> u64 {
        self.0.code_bytes()
    }
}

impl JitContext {
    /// Creates a context without bindings. Its code works on `memory` and runs
    /// on a stack of `stack` bytes; what is made for it counts in `budget`.
    pub fn new(
        jit: &Arc<Jit>,
        memory: Arc<ExecutionMemory>,
        stack: usize,
        budget: Arc<ContextBudget>,
    ) -> Self {
        jit.slots.join(&memory);
        let bindings = Bindings::new(memory.clone(), jit.epochs.join(), budget);
        Self {
            jit: jit.clone(),
            bindings: Arc::new(bindings),
            execution: Execution::new(memory, stack),
            defined: Cell::default(),
            run_nanoseconds: Cell::new(0),
            waited: Cell::new(0),
            expressions: RefCell::default(),
            queued: RefCell::default(),
        }
    }

    /// Returns the engine's JIT.
    pub fn jit(&self) -> &Arc<Jit> {
        &self.jit
    }

    /// Returns what the context has been given of the engine.
    pub fn budget(&self) -> &Arc<ContextBudget> {
        self.bindings.budget()
    }

    /// Returns the memory that its code works on.
    pub fn memory(&self) -> &Arc<ExecutionMemory> {
        self.bindings.memory()
    }

    /// Returns a handle with which any thread can stop runs of this context.
    pub fn stopper(&self) -> StopHandle {
        StopHandle::new(self.bindings.memory().clone())
    }

    /// Returns the nanoseconds spent in top-level expressions, without waiting
    /// for compilers. Calls from Rust are not timed: reading the clock would
    /// take longer than many of them.
    pub fn run_nanoseconds(&self) -> u64 {
        self.run_nanoseconds.get()
    }

    /// Returns the nanoseconds that top-level expressions and runs have waited
    /// for compilers.
    pub fn waited_nanoseconds(&self) -> u64 {
        self.waited.get()
    }

    /// Binds a function's name to it. Compiles nothing.
    pub fn define(&self, function: Arc<CheckedFunction>) {
        let name = function.name;
        self.bindings.bind(&self.jit, Event::Define, self.jit.define(function));
        self.bound_anew(name);
    }

    /// Binds a name to an earlier definition of it. Its code is reused if it
    /// was ever compiled.
    pub fn rebind(&self, bound: &DefinitionHandle) {
        self.bindings.restore(&self.jit, bound.0.clone());
        self.bound_anew(bound.function().name);
    }

    /// Unbinds all names and forgets all declarations. The memory is as that of a
    /// new context.
    pub fn reset(&self) {
        self.queued.take();
        self.defined.take();
        self.bindings.reset(&self.jit);
    }

    /// Returns the bindings, for contexts in which all names mean the same;
    /// `None` if there is an observer, which is not to see what others compile.
    pub fn share(&self) -> Option<SharedBindings> {
        (!self.bindings.is_observed()).then(|| self.bindings.share())
    }

    /// Adopts the bindings of another context, with all code that is made for
    /// them. Nothing may be bound yet. Returns `false`, without effect, if there
    /// is an observer, which wants to know of each binding.
    pub fn adopt(&self, shared: &SharedBindings) -> bool {
        if self.bindings.is_observed() {
            return false;
        }
        let hidden = self.bindings.adopt(&self.jit, shared);
        hidden.into_iter().for_each(|name| self.note_builtin(name, true));
        true
    }

    /// Returns whether there is an observer, which wants to know of each binding.
    pub fn is_observed(&self) -> bool {
        self.bindings.is_observed()
    }

    /// Binds the names that a layer defines, each when it is needed. Nothing that the
    /// layer defines may be bound yet. Returns `false`, without effect, if there is an
    /// observer.
    pub fn put_below(&self, layer: &Arc<Layer>) -> bool {
        if self.bindings.is_observed() {
            return false;
        }
        let hidden = self.bindings.put_below(&self.jit, layer);
        hidden.into_iter().for_each(|name| self.bound_anew(name));
        true
    }

    /// Handles a new binding of a name.
    fn bound_anew(&self, name: Name) {
        self.invalidate_dependents(name);
        self.note_builtin(name, true);
    }

    /// Unbinds a name.
    pub fn drop_binding(&self, name: Name) {
        self.bindings.unbind(&self.jit, name);
        self.note_builtin(name, false);
        self.invalidate_dependents(name);
    }

    /// Returns the definition that a name is bound to.
    pub fn bound(&self, name: Name) -> Option<DefinitionHandle> {
        self.bindings.get(name).map(|(_, definition)| DefinitionHandle(definition))
    }

    /// Sets the observer of later changes of bindings, called on the thread of
    /// each change.
    pub fn observe(&self, observer: Option<Observer>) {
        self.bindings.observe(&self.jit, observer);
    }

    /// Sets the declared arity of a foreign function; `None` removes the
    /// declaration.
    pub fn declare(&self, name: Name, arity: Option<u32>) {
        if self.jit.hosts.foreign(name).is_none() {
            return;
        }
        if self.bindings.declare(&self.jit, name, arity) {
            self.invalidate_dependents(name);
        }
    }

    /// Returns the compilation status of what a name is bound to.
    pub fn state(&self, name: Name) -> Option<State> {
        self.bindings.get(name).map(|(state, _)| state)
    }

    /// Returns the compilation status of all bindings, in no particular order.
    pub fn states(&self) -> Vec<State> {
        self.bindings.all().into_iter().map(|(state, _)| state).collect()
    }

    /// Returns all bound functions, in no particular order.
    pub fn functions(&self) -> Vec<Arc<CheckedFunction>> {
        self.bindings.all().into_iter().map(|(_, definition)| definition.function().clone()).collect()
    }

    /// Compiles a function in the background, ahead of its first call. Does
    /// nothing if the name is not bound.
    ///
    /// # Errors
    /// If no worker can be started.
    pub fn prepare(&self, name: Name) -> Result<(), Failure> {
        let Some((_, definition)) = self.bindings.get(name) else { return Ok(()) };
        make_later(&self.jit, &self.bindings, &claim_pending(&self.jit, &self.bindings, vec![definition]))
    }

    /// Queues a function to be compiled ahead of its first call, from the next
    /// [`submit`](Self::submit) on: what is defined until then is inlined into it.
    pub fn prepare_soon(&self, name: Name) {
        let definition = self.bindings.get(name).map(|(_, definition)| definition);
        self.queued.borrow_mut().extend(definition);
    }

    /// Submits the queued functions to the workers.
    ///
    /// # Errors
    /// If no worker can be started.
    pub fn submit(&self) -> Result<(), Failure> {
        make_later(&self.jit, &self.bindings, &claim_pending(&self.jit, &self.bindings, self.queued.take()))
    }

    /// Compiles all pending definitions, on all workers, and waits for them.
    ///
    /// # Errors
    /// The first definition that cannot be compiled; all others are compiled.
    pub fn prepare_all(&self) -> Result<(), Failure> {
        self.prepare_those(&|_| true)
    }

    /// Returns whether a function is compiled when all are.
    fn is_prepared(&self, function: &Arc<CheckedFunction>) -> bool {
        let gains = || {
            let Assumptions { inlined, builtins } = self.assumptions(function);
            gains_from_features(function, &inlined, &builtins)
        };
        !self.jit.options.only_clones || gains()
    }

    /// Returns what the code of a function would assume, with what is inlined into it.
    fn assumptions(&self, function: &Arc<CheckedFunction>) -> Assumptions {
        self.bindings.plan(&self.jit, function, None).assumptions
    }

    /// Compiles an expression, without running it.
    ///
    /// # Errors
    /// If it cannot be compiled.
    pub fn prepare_expression(&self, expression: &Arc<CheckedFunction>) -> Result<(), Failure> {
        if !self.is_prepared(expression) {
            return Ok(());
        }
        self.expression_code(expression, false).map(|_| ())
    }

    /// Compiles the pending definitions of these names, on all workers, and waits for them.
    ///
    /// # Errors
    /// The first definition that cannot be compiled; all others are compiled.
    pub fn prepare_those(&self, is_wanted: &dyn Fn(Name) -> bool) -> Result<(), Failure> {
        self.prepare_if(&|function| is_wanted(function.name) && self.is_prepared(function))
    }

    /// Compiles the pending definitions of these names that the host may call without a context, in
    /// whatever floating-point environment, if that is compiled for processors with AVX-512; and waits
    /// for them.
    ///
    /// # Errors
    /// As [`prepare_those`](Self::prepare_those).
    pub fn prepare_exports(&self, is_exported: &dyn Fn(Name) -> bool) -> Result<(), Failure> {
        let may_round = |function: &Arc<CheckedFunction>| {
            let Assumptions { inlined, builtins } = self.assumptions(function);
            may_round_statically(function, &inlined, &builtins)
        };
        self.prepare_if(&|function| is_exported(function.name) && may_round(function))
    }

    /// Compiles some of the pending definitions, on all workers, and waits for them.
    fn prepare_if(&self, is_wanted: &dyn Fn(&Arc<CheckedFunction>) -> bool) -> Result<(), Failure> {
        self.submit()?;
        let all = self.bindings.all().into_iter().map(|(_, definition)| definition);
        let fitting = all.filter(|definition| {
            !self.jit.is_too_large(definition.function()) && is_wanted(definition.function())
        });
        let waiting = claim_pending(&self.jit, &self.bindings, fitting.collect());
        let shards = self.jit.options.shards.unwrap_or_else(|| self.jit.workers.usual());
        let share = waiting.len().div_ceil(shards.max(1));
        let ask = |part: &[Arc<Definition>]| {
            let (jit, request) = (self.jit.clone(), Request::new(&self.bindings, part.to_vec()));
            self.jit.ask(move || batch::make(&jit, request.bindings(), request.definitions()))
        };
        let answers: Vec<_> = waiting.chunks(share.clamp(1, batch::SIZE)).map(ask).collect();
        let mut result = Ok(());
        for answer in answers {
            result = result.and(answer?.wait(&self.jit.workers, Some(&self.stopper()))?);
        }
        result
    }

    /// Runs a top-level expression, with the code of an earlier one if they
    /// differ only in their numbers.
    ///
    /// # Errors
    /// If it cannot be compiled, or the run fails or is stopped.
    pub fn run(
        &self,
        expression: &Arc<CheckedFunction>,
        outside: &mut Outside,
        interpreted: Option<InterpretedTier<'_>>,
    ) -> Result<f64, RunFailure> {
        let start = Instant::now();
        let code = self.expression_code(expression, interpreted.is_some());
        self.waited.set(self.waited.get() + nanoseconds(start.elapsed()));
        let (function, code) = code?;
        let (start, waited) = (Instant::now(), self.waited.get());
        let numbers = &expression.numbers[..function.arity() as usize];
        self.expressions.borrow_mut().push((function.clone(), expression.clone()));
        let body = |_: &ExecutionMemory| self.admit(&code);
        let result =
            self.enter(body, CallArguments::new(numbers), PresentEnvironment::read(), outside, interpreted);
        self.expressions.borrow_mut().pop();
        let result = result.map_err(|failure| failure.restate(&function, expression));
        let waited = self.waited.get() - waited;
        let run = nanoseconds(start.elapsed()).saturating_sub(waited);
        self.run_nanoseconds.set(self.run_nanoseconds.get() + run);
        result
    }

    /// Makes the context ready to run code. Returns its body.
    fn admit(&self, code: &CompiledCode) -> usize {
        code.admit(&self.jit, self.memory(), self.bindings.run_epoch());
        code.body()
    }

    /// Returns the function that runs an expression, given as many of its
    /// numbers as it has parameters, and its code: that of its shape, or its
    /// own. Compiled if needed.
    fn expression_code(
        &self,
        expression: &Arc<CheckedFunction>,
        may_interpret: bool,
    ) -> Result<(Arc<CheckedFunction>, Arc<CompiledCode>), Failure> {
        let shape = self.jit.shapes.find(expression);
        let ready = shape.and_then(|shape| shape.present().map(|code| (shape, code)));
        if let Some((shape, code)) =
            ready.filter(|(_, code)| self.bindings.holds(&self.jit, code.assumptions()))
        {
            return Ok((shape.function().clone(), code));
        }
        let shape = shapes::generalised(expression, &self.jit.names).map(Arc::new);
        let function = shape.as_ref().unwrap_or(expression);
        let definition = self.jit.define_anew(function.clone());
        let made = materialize(&self.jit, &self.bindings, &definition, may_interpret);
        made.map_err(|failure| failure.restate(function, expression))?;
        let code = definition.present().ok_or_else(|| Failure::internal("code is gone at once"))?;
        if shape.is_some() {
            self.jit.shapes.keep(expression, definition);
        }
        Ok((function.clone(), code))
    }

    /// Compiles a function that no name is bound to.
    ///
    /// # Errors
    /// If it cannot be compiled.
    pub fn formula(&self, function: &Arc<CheckedFunction>) -> Result<CompiledFormula, Failure> {
        let formula = CompiledFormula::new(function.clone(), &self.jit.hosts);
        self.formula_code(&formula)?;
        Ok(formula)
    }

    /// Returns the code of a formula for this context, compiled if needed.
    fn formula_code<'f>(&self, formula: &'f CompiledFormula) -> Result<&'f CompiledCode, Failure> {
        let defined = self.defined.get();
        if let Some(code) = formula.code(defined) {
            return Ok(code);
        }
        // Nothing is inlined, so that later redefinitions of its callees are
        // seen.
        let plan = CompilePlan::alone(self.jit.options.code, formula.builtins(defined));
        let definition = self.jit.define_anew(formula.function().clone());
        make_as(&self.jit, &self.bindings, &definition, plan, Some(&self.stopper()))?;
        let code = definition.present().ok_or_else(|| Failure::internal("code is gone at once"))?;
        Ok(formula.add(defined, code))
    }

    /// Runs a formula without preparing a run, if it has code that needs none; `None`, without
    /// effect, if it may. `arguments` must match the function's arity.
    #[inline]
    #[allow(unsafe_code)]
    pub fn call_formula_context_free(
        &self,
        formula: &CompiledFormula,
        arguments: &[f64],
        present: PresentEnvironment,
    ) -> Option<f64> {
        let code = formula.code(self.defined.get())?;
        // SAFETY: the body is that of a formula with that number of parameters, which keeps it.
        unsafe { self.execution.call_context_free(code.body(), CallArguments::new(arguments), present) }
    }

    /// Runs a formula; `arguments` must match the function's arity.
    ///
    /// # Errors
    /// If it cannot be compiled, or the run fails or is stopped.
    pub fn run_formula(
        &self,
        formula: &CompiledFormula,
        arguments: &[f64],
        outside: &mut Outside,
        interpreted: Option<InterpretedTier<'_>>,
    ) -> Result<f64, RunFailure> {
        let (arguments, present) = (CallArguments::new(arguments), PresentEnvironment::read());
        let code = self.formula_code(formula)?;
        self.enter(|_| self.admit(code), arguments, present, outside, interpreted)
    }

    /// Returns whether a call of this name and arity runs machine code: the
    /// function is compiled, or it is a foreign function.
    pub fn has_code(&self, name: Name, arity: u32) -> bool {
        match self.bindings.get(name) {
            Some((state, definition)) => state == State::Materialized && definition.function().fits(arity),
            None => self.jit.hosts.foreign(name).is_some(),
        }
    }

    /// Returns whether a name is bound to a function of this arity that can be compiled.
    pub fn is_bound(&self, name: Name, arity: u32) -> bool {
        self.bindings.get(name).is_some_and(|(_, definition)| {
            let function = definition.function();
            function.fits(arity) && !self.jit.is_too_large(function)
        })
    }

    /// Deoptimises a function: all code calls it through its trampoline again,
    /// as if it had just been defined.
    pub fn deoptimize(&self, name: Name) {
        if let Some((State::Materializing | State::Materialized, definition)) = self.bindings.get(name) {
            let again = self.jit.define_anew(definition.function().clone());
            self.bindings.bind(&self.jit, Event::CalleeChanged, again);
        }
        self.invalidate_dependents(name);
    }

    /// Prepares for a debugger, which may stop in every function: nothing is
    /// inlined from now on, and what was compiled with inlined functions is
    /// compiled again.
    pub fn inspect(&self) {
        for inliner in self.bindings.inspect(&self.jit) {
            self.deoptimize(inliner.name);
        }
    }

    /// Compiles a hot interpreted function: with the baseline compiler, at once, or, where
    /// code does not begin there, at the optimising tier; that blocks if `wait` is set,
    /// else it compiles in the background.
    ///
    /// # Errors
    /// If no worker can be started; with `wait`, also what the compiler says.
    pub fn promote(&self, name: Name, wait: bool) -> Result<(), Failure> {
        let Some((state, definition)) = self.bindings.get(name) else { return Ok(()) };
        let is_due = match state {
            State::Pending | State::Inlined => true,
            State::Materializing => !self.bindings.queued().contains(&definition),
            State::NotDefined | State::Materialized => false,
        };
        if !is_due {
            return Ok(());
        }
        let target = CallTarget { name, arity: definition.function().arity() };
        let CallAction::Wait(definition) = self.bindings.call(&self.jit, target) else { return Ok(()) };
        if self.jit.begins_with_baseline(definition.function())
            && let Some(made) =
                self.jit.here(|| batch::body_here(&self.jit, &self.bindings, &definition, &[]))?
        {
            return made.map(|_| ());
        }
        let plan = self.bindings.plan(&self.jit, definition.function(), Some(Tier::Full));
        if wait {
            // A request to stop that arrives meanwhile stops the run when it
            // goes on.
            return make_as(&self.jit, &self.bindings, &definition, plan, None).map(|_| ());
        }
        let (jit, request) = (self.jit.clone(), Request::new(&self.bindings, vec![definition.clone()]));
        let urgency = tier::urgency(definition.function());
        self.jit.later(urgency, move || _ = batch::body_as(&jit, request.bindings(), &definition, plan))
    }

    /// Returns whether a job is going to compile what a name is bound to.
    pub fn is_queued(&self, name: Name) -> bool {
        let bound = self.bindings.get(name);
        bound.is_some_and(|(_, definition)| self.bindings.queued().contains(&definition))
    }

    /// Compiles on-stack replacement (OSR) code for a function, entered at an
    /// iteration of a hot loop; blocks if `wait` is set, else compiles in the
    /// background. If no worker can be started for that, the code [is
    /// lost](OsrCode::is_lost).
    ///
    /// # Errors
    /// With `wait`, if no worker can be started.
    pub fn compile_osr(
        &self,
        function: &Arc<CheckedFunction>,
        counted: &CountedLoop,
        wait: bool,
    ) -> Result<Arc<OsrCode>, Failure> {
        let entry = LoopEntry { node: counted.node, values: counted.values.len() as u32 };
        OsrCode::request(&self.jit, &self.bindings, function.clone(), entry, wait)
    }

    /// Enters OSR code. `arguments` are the function's locals, then the values
    /// that are live across the loop.
    ///
    /// # Errors
    /// If the code is not ready, or the run fails or is stopped.
    pub fn enter_osr(
        &self,
        code: &OsrCode,
        arguments: &[f64],
        outside: &mut Outside,
        interpreted: Option<InterpretedTier<'_>>,
    ) -> Result<f64, RunFailure> {
        let Some(body) = code.body_for(&self.jit, self.memory()) else {
            return Err(Failure::internal("code is entered before it is ready").into());
        };
        self.enter(|_| body, CallArguments::new(arguments), PresentEnvironment::read(), outside, interpreted)
    }

    /// Returns the dispatch slot for calls of a function from Rust.
    ///
    /// # Errors
    /// If there are too many functions.
    pub fn slot(&self, name: Name, arity: u32) -> Result<HeldSlot, Failure> {
        self.jit.slots.hold(CallTarget { name, arity })
    }

    /// Calls a function through its slot, as compiled code does. The number of
    /// arguments must be that of the slot.
    ///
    /// # Errors
    /// If the run fails or is stopped.
    #[inline(always)]
    pub fn call(
        &self,
        slot: &HeldSlot,
        arguments: CallArguments<'_>,
        present: PresentEnvironment,
        outside: &mut Outside,
        interpreted: Option<InterpretedTier<'_>>,
    ) -> Result<f64, RunFailure> {
        let slot = slot.slot();
        let body = |memory: &ExecutionMemory| match memory.slot(slot) {
            0 => self.first_body(slot),
            body => body,
        };
        self.enter(body, arguments, present, outside, interpreted)
    }

    /// Calls a function through its slot without preparing a run, if it needs none; `None`,
    /// without effect, if it may. The number of arguments must be that of the slot.
    #[inline]
    #[allow(unsafe_code)]
    pub fn call_context_free(
        &self,
        slot: &HeldSlot,
        arguments: CallArguments<'_>,
        present: PresentEnvironment,
    ) -> Option<f64> {
        let Self { jit, bindings, execution, .. } = self;
        let run_epoch = bindings.run_epoch();
        let outermost = jit.epochs.begin(run_epoch);
        let body = bindings.memory().slot(slot.slot());
        let call = || {
            // SAFETY: the slot holds what `enter` says.
            unsafe { execution.call_context_free(body, arguments, present) }
        };
        let value = if body == 0 { None } else { call() };
        if outermost {
            jit.epochs.end(run_epoch);
        }
        value
    }

    /// Returns the code that calls through a slot reach, if that needs no run; `None` as well
    /// before it has been called.
    #[cfg(feature = "executable")]
    #[allow(unsafe_code)]
    pub fn context_free_code(&self, name: Name, slot: &HeldSlot) -> Option<ContextFreeCode> {
        let (_, definition) = self.bindings.get(name)?;
        let code = definition.present()?;
        let is_called = self.memory().slot(slot.slot()) == code.body();
        // SAFETY: the code is there while it is held.
        let is_it = is_called && unsafe { runtime::is_context_free(code.body()) };
        // SAFETY: as above.
        let is_environment_free = is_it && unsafe { runtime::is_environment_free(code.body()) };
        is_it.then(|| ContextFreeCode::new(code, is_environment_free))
    }

    /// Calls the function that a name is bound to.
    ///
    /// # Errors
    /// As [`call`](Self::call), and if there is no slot left.
    #[cold]
    pub fn call_by_name(
        &self,
        name: Name,
        arguments: CallArguments<'_>,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        let slot = self.slot(name, arguments.as_slice().len() as u32)?;
        self.call(&slot, arguments, PresentEnvironment::read(), outside, None)
    }

    /// Returns what a slot leads to that the context has not used yet.
    #[cold]
    fn first_body(&self, slot: Slot) -> usize {
        self.jit.slots.fill_all(self.memory(), std::iter::once(slot));
        self.memory().slot(slot)
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn enter(
        &self,
        body: impl FnOnce(&ExecutionMemory) -> usize,
        arguments: CallArguments<'_>,
        present: PresentEnvironment,
        outside: &mut Outside,
        interpreted: Option<InterpretedTier<'_>>,
    ) -> Result<f64, RunFailure> {
        let Self { jit, bindings, execution, .. } = self;
        let run_epoch = bindings.run_epoch();
        let outermost = jit.epochs.begin(run_epoch);
        let body = body(bindings.memory());
        // SAFETY: as for `call` below.
        if let Some(value) = unsafe { execution.call_context_free(body, arguments, present) } {
            if outermost {
                jit.epochs.end(run_epoch);
            }
            return Ok(value);
        }
        let _environment = DefaultEnvironment::enter_from(present);
        let mut run = JitRun {
            jit,
            bindings,
            outside,
            interpreted,
            tape: None,
            failure: None,
            waited: 0,
            hot_loops: None,
        };
        // SAFETY: the body is that of an expression, formula or OSR code with
        // that number of parameters, which its caller keeps, or what a slot for
        // this number of arguments holds once it is filled. Slots hold trampolines
        // of the JIT's pool, host functions of that arity, which stay, or bodies
        // of that arity, which the epoch begun above keeps.
        let result = unsafe { execution.call(body, arguments, &mut run) };
        self.waited.set(self.waited.get() + run.waited);
        if let Ok(Ok(value)) = result {
            if outermost {
                execution.end_run();
                jit.epochs.end(run_epoch);
            }
            return Ok(value);
        }
        let stopped = match result {
            // The frames of a run that was left can be walked only until the
            // epoch ends.
            Ok(left) => left.map_err(|left| self.failed(left, run.failure.take(), outermost)),
            Err(error) => Err(Failure::System(error.to_string()).into()),
        };
        if outermost {
            execution.end_run();
            jit.epochs.end(run_epoch);
        }
        stopped
    }

    #[cold]
    fn failed(&self, left: Left, failure: Option<Box<RunFailure>>, outermost: bool) -> RunFailure {
        let is_own = failure.as_ref().is_none_or(|stopped| stopped.trace.is_empty());
        let RunFailure { failure, trace } =
            failure.map_or_else(|| Failure::Interrupted.into(), |stopped| *stopped);
        let (caller, trace) = self.trace(left, trace);
        let failure = if is_own { failure.called_by(caller) } else { failure };
        if outermost && matches!(failure, Failure::StackOverflow) {
            self.execution.release_stack();
        }
        RunFailure { failure, trace }
    }

    /// Returns the functions of the compiled calls in progress, innermost
    /// first, from a call site outwards.
    pub fn callers(&self, address: usize, frame: usize) -> Vec<Arc<CheckedFunction>> {
        let expressions = self.expressions.borrow();
        let restated = |function: Arc<CheckedFunction>| {
            let meant = expressions.iter().rfind(|(shape, _)| Arc::ptr_eq(shape, &function));
            meant.map_or(function, |(_, expression)| expression.clone())
        };
        self.calls(address, frame).map(restated).collect()
    }

    /// Returns the function that code in this context is of: what its name is bound
    /// to, if code was made for the same function in another text.
    fn meant(&self, owner: CodeOwner) -> Arc<CheckedFunction> {
        match self.bindings.get(owner.function.name) {
            Some((_, bound)) if owner.is_code_of(bound.function(), &self.jit.names) => {
                bound.function().clone()
            }
            Some(_) | None => owner.function,
        }
    }

    /// Returns the function in which a run failed, and appends the calls in
    /// progress to the trace, innermost first.
    fn trace(&self, left: Left, mut trace: CallTrace) -> (Option<Arc<CheckedFunction>>, CallTrace) {
        if left.fault == 0 || runtime::is_entry(left.fault) {
            return (None, trace);
        }
        self.calls(left.fault, left.frame).for_each(|function| trace.push(&function));
        let innermost = self.jit.code.find(left.fault).and_then(|(_, owner)| owner);
        (innermost.map(|owner| self.meant(owner)), trace)
    }

    /// Returns the functions of the compiled calls in progress, innermost first,
    /// from an address in the innermost one and its frame outwards.
    fn calls(&self, address: usize, frame: usize) -> impl Iterator<Item = Arc<CheckedFunction>> {
        let mut finder = Finder::new(&self.jit.code, |owner| self.meant(owner));
        let mut is_replaced = false;
        let addresses = std::iter::once(address).chain(self.execution.return_addresses(frame));
        addresses.filter_map(move |address| {
            let (function, is_osr) = finder.find(address)?;
            let is_shown = !std::mem::replace(&mut is_replaced, is_osr);
            is_shown.then_some(function)
        })
    }

    /// Records that the program defines the name of a builtin, or no longer
    /// does.
    fn note_builtin(&self, name: Name, is_defined: bool) {
        if let Some(builtin) = self.jit.hosts.get(name).and_then(|host| host.builtin) {
            self.defined.set(self.defined.get().with(builtin, is_defined));
        }
    }

    /// Invalidates the code that depends on the meaning of a redefined name.
    fn invalidate_dependents(&self, name: Name) {
        for dependent in self.bindings.take_dependents(&self.jit, name) {
            let definition = self.jit.define_anew(dependent);
            self.bindings.bind(&self.jit, Event::CalleeChanged, definition);
        }
    }
}
