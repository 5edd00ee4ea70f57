//! The interpreter tier, with compiled code for what is hot.
//!
//! Every function starts in the interpreter. If hot functions and loops are
//! compiled, a context gets its own [`JitContext`] when something is hot for
//! the first time: before that, LLVM is not started. From then on both tiers
//! know every definition, work on the same memory and call each other: what is
//! compiled is called as code, everything else is interpreted.

use crate::budget::ContextBudget;
use crate::config::Mode;
use crate::engine::Engine;
use crate::error::Error;
use crate::failure::{Failure, RunFailure};
use crate::float_environment::PresentEnvironment;
use crate::host::Outside;
use crate::interp::inspect::Inspector;
use crate::interp::{
    CallSite, CodeStatus, CompiledTier, HotSpot, InterpOptions, InterpretedTier, Interpreter, KeptFunction,
};
use crate::jit::{self, HeldSlot, JitContext, OsrCode};
use crate::name::Name;
use crate::process::SteadyCell;
use crate::runtime::{CallArguments, ExecutionMemory};
use crate::sema::checked::CheckedFunction;
use crate::status::State;
use crate::tape::TapeCallee;
use crate::tier::TierUp;
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The interpreter of one context, and its JIT once that is needed.
pub(crate) struct TieredBackend {
    pub(super) interpreter: Interpreter,
    pub(super) jit: LazyJit,
}

/// The JIT of one context, set up on first use.
pub(super) struct LazyJit {
    engine: Engine,
    budget: Arc<ContextBudget>,
    memory: Arc<ExecutionMemory>,
    /// Unset before it is needed; `None` if it cannot be set up.
    context: OnceCell<Option<JitContext>>,
    /// OSR code by the address of the function and the node of the loop; kept
    /// during a run.
    osr_codes: RefCell<FxHashMap<(usize, u32), Arc<OsrCode>>>,
    /// The slots of functions that the interpreter has called in compiled code.
    slots: RefCell<FxHashMap<TapeCallee, Arc<HeldSlot>>>,
}

/// The most slots that are held for the interpreter.
const MOST_SLOTS: usize = 1024;

/// A function without a name, interpreted until it is hot.
pub(crate) struct InterpretedFormula {
    kept: Arc<KeptFunction>,
    runs: AtomicU32,
    code: SteadyCell<Option<jit::CompiledFormula>>,
}

impl TieredBackend {
    pub(super) fn new(engine: &Engine) -> Result<Self, Error> {
        Self::with(engine, options(engine), OnceCell::new())
    }

    /// Creates one that never compiles anything, and counts fuel.
    pub(super) fn counting(engine: &Engine) -> Result<Self, Error> {
        let options = InterpOptions { counts_fuel: true, hot_after: None, ..options(engine) };
        Self::with(engine, options, OnceCell::from(None))
    }

    fn with(
        engine: &Engine,
        options: InterpOptions,
        context: OnceCell<Option<JitContext>>,
    ) -> Result<Self, Error> {
        let memory = ExecutionMemory::new().map_err(|error| Error::NoMemory(error.to_string()))?;
        let (memory, budget) = (Arc::new(memory), engine.context_budget());
        let interpreter = interpreter(engine, &memory, &budget, options);
        Ok(Self { interpreter, jit: LazyJit::new(engine, memory, budget, context) })
    }

    /// Adds an interpreter to a compiled context, for the functions under the
    /// debugger.
    pub(super) fn beside(engine: &Engine, context: JitContext) -> Self {
        let (memory, budget) = (context.memory().clone(), context.budget().clone());
        let jit = LazyJit::new(engine, memory, budget, OnceCell::from(Some(context)));
        let mut interpreter = interpreter(engine, &jit.memory, &jit.budget, options(engine));
        for function in jit.context().into_iter().flat_map(JitContext::functions) {
            interpreter.define(&function);
        }
        Self { interpreter, jit }
    }

    /// Unbinds all names, and sets all variables to 0. Returns `false`, without
    /// effect, under a debugger, whose breakpoints stay.
    pub(super) fn reset(&mut self) -> bool {
        if self.interpreter.is_inspected() {
            return false;
        }
        let (engine, jit) = (&self.jit.engine, &self.jit);
        self.interpreter = interpreter(engine, &jit.memory, &jit.budget, options(engine));
        self.jit.slots.take();
        match self.jit.context() {
            Some(context) => context.reset(),
            None => self.jit.memory.clear(),
        }
        true
    }

    /// Returns the JIT if this context runs compiled code by default.
    pub(super) fn compiled_first(&self) -> Option<&JitContext> {
        self.jit.compiled_first()
    }

    /// Returns whether a function has too many nodes to be compiled.
    pub(super) fn is_too_large(&self, function: &CheckedFunction) -> bool {
        self.jit.engine.is_too_large(function)
    }

    /// Returns whether a function must stay in the interpreter.
    fn stays(&self, name: Name) -> bool {
        let is_too_large = |function: &Arc<CheckedFunction>| self.is_too_large(function);
        self.interpreter.holds(name) || self.interpreter.function(name).is_some_and(is_too_large)
    }

    /// Sets the inspector that is asked how to go on where a run stops.
    pub(super) fn attach(&mut self, inspector: Box<dyn Inspector>) {
        self.interpreter.set_inspector(Some(inspector));
        if let Some(context) = self.jit.context() {
            context.inspect();
        }
    }

    /// Switches functions that contain breakpoints back to the interpreter.
    pub(super) fn deoptimize(&mut self) {
        self.interpreter.place_breaks();
        self.jit.deoptimize_held(&self.interpreter);
    }

    /// Compiles a function in the background, or all of them, except those that
    /// must stay in the interpreter.
    pub(super) fn prepare(&self, name: Option<Name>) -> Result<(), Failure> {
        let Some(context) = self.compiler() else { return Ok(()) };
        self.in_background(match name {
            Some(name) if self.stays(name) => Ok(()),
            Some(name) => context.prepare(name),
            None => context.prepare_all(),
        })
    }

    /// Queues a function to be compiled, if this context runs compiled code by
    /// default.
    pub(super) fn prepare_soon(&self, name: Name) {
        if let Some(context) = self.jit.compiled_first()
            && !self.stays(name)
        {
            context.prepare_soon(name);
        }
    }

    /// Submits the queued functions to the workers.
    pub(super) fn submit(&self) -> Result<(), Failure> {
        self.jit.compiled_first().map_or(Ok(()), |context| self.in_background(context.submit()))
    }

    /// Deoptimises the functions that must stay in the interpreter, which workers
    /// may have started on.
    fn in_background(&self, started: Result<(), Failure>) -> Result<(), Failure> {
        self.jit.deoptimize_held(&self.interpreter);
        started
    }

    /// Returns what the context has been given of the engine.
    pub(super) fn budget(&self) -> &ContextBudget {
        &self.jit.budget
    }

    pub(super) fn memory(&self) -> &Arc<ExecutionMemory> {
        &self.jit.memory
    }

    /// Returns the JIT, if it has been set up.
    pub(super) fn compiled(&self) -> Option<&JitContext> {
        self.jit.context()
    }

    /// Returns the JIT, set up now if this mode compiles.
    pub(super) fn compiler(&self) -> Option<&JitContext> {
        self.jit.attach(&self.interpreter)
    }

    pub(super) fn define(&mut self, function: &Arc<CheckedFunction>) {
        self.interpreter.define(function);
        if let Some(context) = self.jit.context() {
            context.define(function.clone());
        }
    }

    /// Binds a name to an earlier definition of it, with its code.
    pub(super) fn rebind(&mut self, bound: &jit::DefinitionHandle) {
        self.interpreter.define(bound.function());
        if let Some(context) = self.jit.context() {
            context.rebind(bound);
        }
        self.jit.deoptimize_held(&self.interpreter);
    }

    pub(super) fn drop_binding(&mut self, name: Name) {
        self.interpreter.drop_binding(name);
        if let Some(context) = self.jit.context() {
            context.drop_binding(name);
        }
    }

    /// Returns the compilation status of what a name is bound to: that of its
    /// machine code where functions are compiled, else that of its tape.
    pub(super) fn state(&self, name: Name) -> Option<State> {
        self.interpreter.function(name).map(|_| self.bound_state(name, self.interpreter.has_called(name)))
    }

    /// Returns the compilation status of all bindings, in no particular order.
    pub(super) fn states(&self) -> Vec<State> {
        self.interpreter.bound().map(|(name, has_tape)| self.bound_state(name, has_tape)).collect()
    }

    fn bound_state(&self, name: Name, has_tape: bool) -> State {
        match self.jit.context() {
            Some(context) => context.state(name).unwrap_or(State::Pending),
            None if has_tape && !self.jit.is_tiered() => State::Materialized,
            None => State::Pending,
        }
    }

    pub(super) fn run(
        &mut self,
        expression: &Arc<CheckedFunction>,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        let result = match self.jit.compiled_first() {
            Some(_) if !self.interpreter.wants(expression) && !self.is_too_large(expression) => {
                let run = |context: &JitContext, interpreted: InterpretedTier<'_>| {
                    context.run(expression, outside, Some(interpreted))
                };
                let result = self.in_code("an expression", run);
                if let Err(stopped) = &result {
                    self.interpreter.show_code(stopped, Some(&self.jit), outside);
                }
                result
            }
            Some(_) | None => self.interpreter.run(expression, Some(&self.jit), outside),
        };
        self.jit.forget_osr_codes();
        result
    }

    /// Calls through a slot of compiled code.
    pub(super) fn call_slot(
        &mut self,
        slot: &HeldSlot,
        arguments: CallArguments<'_>,
        present: PresentEnvironment,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        self.in_code("a handle", |context, interpreted| {
            context.call(slot, arguments, present, outside, Some(interpreted))
        })
    }

    /// Runs a compiled formula.
    pub(super) fn run_compiled(
        &mut self,
        code: &jit::CompiledFormula,
        arguments: &[f64],
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        self.in_code("a formula", |context, interpreted| {
            context.run_formula(code, arguments, outside, Some(interpreted))
        })
    }

    /// Runs something in the JIT, which is lent the interpreter. Fails without
    /// a JIT: `what` is from another engine then.
    fn in_code(
        &mut self,
        what: &str,
        run: impl FnOnce(&JitContext, InterpretedTier<'_>) -> Result<f64, RunFailure>,
    ) -> Result<f64, RunFailure> {
        let Some(context) = self.jit.context() else {
            return Err(Failure::internal(format!("{what} came to another engine")).into());
        };
        self.interpreter.begin_outermost();
        run(context, self.jit.lend(&mut self.interpreter))
    }

    pub(super) fn call(
        &mut self,
        name: Name,
        arguments: &[f64],
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        let result = self.interpreter.call(name, arguments, Some(&self.jit), outside);
        self.jit.forget_osr_codes();
        result
    }

    pub(super) fn run_formula(
        &mut self,
        formula: &InterpretedFormula,
        arguments: &[f64],
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        let result = match formula.code(&self.jit, &self.interpreter)? {
            Some(code) if self.jit.context().is_some() => self.run_compiled(code, arguments, outside),
            Some(_) | None => self.interpreter.run_kept(&formula.kept, arguments, Some(&self.jit), outside),
        };
        self.jit.forget_osr_codes();
        result
    }
}

fn options(engine: &Engine) -> InterpOptions {
    let limits = engine.config().limits;
    InterpOptions { stack: limits.stack, counts_fuel: limits.fuel.is_some(), hot_after: hot_after(engine) }
}

fn interpreter(
    engine: &Engine,
    memory: &Arc<ExecutionMemory>,
    budget: &Arc<ContextBudget>,
    options: InterpOptions,
) -> Interpreter {
    let (names, hosts, variables) = (engine.names(), engine.hosts(), engine.variables());
    Interpreter::new(names, hosts, variables, memory.clone(), budget, options)
}

/// Returns the number of calls or iterations after which code is hot; `None` if
/// nothing is compiled.
fn hot_after(engine: &Engine) -> Option<u32> {
    match (engine.mode(), engine.config().tier_up) {
        (Mode::Tiered, TierUp::After(calls)) => Some(calls),
        (Mode::Lazy | Mode::Eager | Mode::Interpret, _) | (Mode::Tiered, TierUp::Never) => None,
    }
}

impl InterpretedFormula {
    pub(super) fn new(function: Arc<CheckedFunction>) -> Self {
        Self { kept: Arc::new(KeptFunction { function }), runs: AtomicU32::new(0), code: SteadyCell::new() }
    }

    /// Returns its compiled code, once it is hot.
    ///
    /// # Errors
    /// A request to stop that came during the compile: it is for the run.
    fn code(
        &self,
        jit: &LazyJit,
        interpreter: &Interpreter,
    ) -> Result<Option<&jit::CompiledFormula>, Failure> {
        let Some(hot_after) = hot_after(&jit.engine) else { return Ok(None) };
        let runs = self.runs.load(Ordering::Relaxed);
        if runs < hot_after {
            // Runs in several threads at once may count as one.
            self.runs.store(runs + 1, Ordering::Relaxed);
            return Ok(None);
        }
        if let Some(known) = self.code.get() {
            return Ok(known.as_ref());
        }
        let compiled = jit.attach(interpreter).map(|context| context.formula(&self.kept.function));
        let code = match compiled.transpose() {
            Err(stop @ (Failure::Interrupted | Failure::DeadlineExceeded)) => return Err(stop),
            // What cannot be compiled stays in the interpreter.
            made => made.ok().flatten(),
        };
        Ok(self.code.get_or_make(|| code).as_ref())
    }
}

impl LazyJit {
    fn new(
        engine: &Engine,
        memory: Arc<ExecutionMemory>,
        budget: Arc<ContextBudget>,
        context: OnceCell<Option<JitContext>>,
    ) -> Self {
        let (engine, osr_codes, slots) = (engine.clone(), RefCell::default(), RefCell::default());
        Self { engine, budget, memory, context, osr_codes, slots }
    }

    fn compiled_first(&self) -> Option<&JitContext> {
        self.context().filter(|_| self.is_compiled_first())
    }

    /// Returns whether functions are compiled at their first call, so that only
    /// those under the debugger are interpreted.
    fn is_compiled_first(&self) -> bool {
        match self.engine.mode() {
            Mode::Lazy | Mode::Eager => true,
            Mode::Interpret | Mode::Tiered => false,
        }
    }

    /// Makes compiled code call the functions under the debugger through their
    /// trampolines again.
    fn deoptimize_held(&self, interpreter: &Interpreter) {
        if let Some(context) = self.context() {
            interpreter.held().into_iter().for_each(|name| context.deoptimize(name));
        }
    }

    /// Lends the interpreter to a run of compiled code.
    fn lend<'a>(&'a self, interpreter: &'a mut Interpreter) -> InterpretedTier<'a> {
        InterpretedTier { interpreter, compiled: self, comes_first: !self.is_compiled_first() }
    }

    fn is_tiered(&self) -> bool {
        self.engine.mode() == Mode::Tiered
    }

    fn waits_for_code(&self) -> bool {
        self.engine.config().waits_for_code
    }

    fn context(&self) -> Option<&JitContext> {
        self.context.get().and_then(Option::as_ref)
    }

    /// Sets up the JIT with all definitions of the interpreter.
    fn attach(&self, interpreter: &Interpreter) -> Option<&JitContext> {
        let make = || {
            let jit = self.is_tiered().then(|| self.engine.jit().ok())??;
            let stack = self.engine.config().limits.stack;
            let context = JitContext::new(jit, self.memory.clone(), stack, self.budget.clone());
            for function in interpreter.functions() {
                context.define(function.clone());
            }
            if interpreter.is_inspected() {
                context.inspect();
            }
            Some(context)
        };
        self.context.get_or_init(make).as_ref()
    }

    /// Returns the slot for calls of a function from the interpreter.
    fn slot(&self, context: &JitContext, callee: TapeCallee) -> Result<Arc<HeldSlot>, Failure> {
        let mut slots = self.slots.borrow_mut();
        if let Some(slot) = slots.get(&callee) {
            return Ok(slot.clone());
        }
        let slot = Arc::new(context.slot(callee.name, callee.arity)?);
        if slots.len() == MOST_SLOTS {
            slots.clear();
        }
        slots.insert(callee, slot.clone());
        Ok(slot)
    }

    /// Drops the OSR code of a run that has ended.
    fn forget_osr_codes(&self) {
        let mut osr_codes = self.osr_codes.borrow_mut();
        if !osr_codes.is_empty() {
            osr_codes.clear();
        }
    }

    fn osr_code(&self, spot: &HotSpot) -> Option<Arc<OsrCode>> {
        let node = spot.counted.as_ref()?.node;
        self.osr_codes.borrow().get(&(Arc::as_ptr(&spot.function) as usize, node)).cloned()
    }

    /// Requests code for a hot spot.
    fn make(&self, interpreter: &Interpreter, spot: &HotSpot) -> Option<()> {
        let context = self.attach(interpreter)?;
        // The next call goes there. What could not be requested is lost.
        if interpreter.function(spot.function.name).is_some_and(|bound| Arc::ptr_eq(bound, &spot.function)) {
            let _ = context.promote(spot.function.name, self.waits_for_code());
        }
        let Some(counted) = &spot.counted else { return Some(()) };
        if self.osr_code(spot).is_some_and(|made| !made.is_lost()) {
            return Some(());
        }
        let made = context.compile_osr(&spot.function, counted, self.waits_for_code()).ok()?;
        let key = (Arc::as_ptr(&spot.function) as usize, counted.node);
        self.osr_codes.borrow_mut().insert(key, made);
        Some(())
    }
}

impl CompiledTier for LazyJit {
    fn has_code(&self, callee: TapeCallee) -> bool {
        let goes = |context: &JitContext| {
            context.has_code(callee.name, callee.arity)
                || (self.is_compiled_first() && context.is_bound(callee.name, callee.arity))
        };
        self.context().is_some_and(goes)
    }

    fn callers(&self, site: CallSite) -> Vec<Arc<CheckedFunction>> {
        self.context().map_or_else(Vec::new, |context| context.callers(site.address, site.frame))
    }

    fn define(&self, function: &Arc<CheckedFunction>) {
        if let Some(context) = self.context() {
            context.define(function.clone());
        }
    }

    fn deoptimize(&self, name: Name) {
        if let Some(context) = self.context() {
            context.deoptimize(name);
        }
    }

    fn call(
        &self,
        interpreter: &mut Interpreter,
        callee: TapeCallee,
        arguments: &[f64],
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        let missing = Failure::Undefined { callee: callee.name, passed: callee.arity, caller: None };
        let context = self.context().ok_or(missing)?;
        let slot = self.slot(context, callee)?;
        let (arguments, present) = (CallArguments::new(arguments), PresentEnvironment::read());
        context.call(&slot, arguments, present, outside, Some(self.lend(interpreter)))
    }

    fn call_context_free(&self, callee: TapeCallee, arguments: &[f64]) -> Option<f64> {
        let slots = self.slots.borrow();
        let (arguments, present) = (CallArguments::new(arguments), PresentEnvironment::read());
        self.context()?.call_context_free(slots.get(&callee)?, arguments, present)
    }

    fn promote(&self, interpreter: &Interpreter, spot: &HotSpot) -> CodeStatus {
        match self.make(interpreter, spot) {
            Some(()) => self.code_status(spot),
            None => CodeStatus::Never,
        }
    }

    fn code_status(&self, spot: &HotSpot) -> CodeStatus {
        if spot.counted.is_some() {
            return match self.osr_code(spot) {
                Some(made) if made.is_ready() => CodeStatus::Ready,
                Some(made) if made.is_lost() => CodeStatus::Lost,
                Some(made) if made.has_failed() => CodeStatus::Never,
                Some(_) => CodeStatus::Busy,
                // It was requested in a run that has ended.
                None => CodeStatus::Lost,
            };
        }
        let name = spot.function.name;
        // In this order: what is done meanwhile is not lost.
        let is_queued = self.context().is_some_and(|context| context.is_queued(name));
        match self.context().and_then(|context| context.state(name)) {
            Some(State::Materialized) => CodeStatus::Ready,
            Some(State::Materializing) if !is_queued => CodeStatus::Lost,
            Some(State::Materializing) => CodeStatus::Busy,
            Some(State::NotDefined | State::Pending | State::Inlined) | None => CodeStatus::Never,
        }
    }

    fn enter_osr(
        &self,
        interpreter: &mut Interpreter,
        spot: &HotSpot,
        arguments: &[f64],
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        let (Some(context), Some(code)) = (self.context(), self.osr_code(spot)) else {
            return Err(Failure::internal("code that was ready is not there").into());
        };
        context.enter_osr(&code, arguments, outside, Some(self.lend(interpreter)))
    }
}
