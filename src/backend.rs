//! The back end of a context: the JIT, or the interpreter with the JIT for what
//! is hot.
//!
//! Both offer the same operations on names bound to definitions, functions
//! called through a handle, and variables, each with its own tables. The
//! interpreter alone never starts the compiler.

#[cfg(feature = "cli")]
mod failed;
mod tiered;
mod trial;

use crate::abi::Memory;
use crate::budget::ContextBudget;
use crate::config::Mode;
use crate::engine::Engine;
use crate::error::Error;
use crate::failure::{Failure, RunFailure};
use crate::float_environment::{DefaultEnvironment, PresentEnvironment};
use crate::host::Outside;
use crate::interp::inspect::Inspector;
#[cfg(feature = "executable")]
use crate::jit::ContextFreeCode;
use crate::jit::{self, HeldSlot, JitContext};
use crate::name::Name;
use crate::runtime::{CallArguments, ExecutionMemory, Variable};
use crate::sema::checked::CheckedFunction;
use crate::stats::Stats;
use crate::status::{Observer, State};
use crate::stop::{StopHandle, Stoppable};
use crate::tape::Tape;
use crate::tier::Tier;
use crate::world::Layer;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tiered::TieredBackend;

/// The back end of one context.
pub(crate) enum Backend {
    /// The JIT: functions are compiled when they are first called.
    Jit(JitContext),
    /// The interpreter, with the JIT for hot functions and loops if the mode is
    /// tiered.
    Tiered(Box<TieredBackend>),
}

/// What Rust calls a function by, in every context of an engine.
#[derive(Clone)]
pub(crate) enum CallHandle {
    /// The dispatch slot of compiled code.
    Slot(HeldSlot),
    /// The name, looked up at each call.
    Name(Name),
}

/// A definition that a name is, or was, bound to, with its code.
#[derive(Clone)]
pub(crate) enum BoundDefinition {
    /// Known to the JIT, which keeps its code.
    Compiled(jit::DefinitionHandle),
    /// Known to the interpreter only.
    Interpreted(Arc<CheckedFunction>),
}

impl BoundDefinition {
    /// Returns the checked function.
    pub(crate) fn function(&self) -> &Arc<CheckedFunction> {
        match self {
            Self::Compiled(bound) => bound.function(),
            Self::Interpreted(function) => function,
        }
    }

    /// Returns the tier of its compiled code; `None` before it is compiled.
    pub(crate) fn tier(&self) -> Option<Tier> {
        match self {
            Self::Compiled(bound) => bound.tier(),
            Self::Interpreted(_) => None,
        }
    }

    /// Returns the size of its machine code in bytes; 0 before it is compiled.
    pub(crate) fn code_bytes(&self) -> u64 {
        match self {
            Self::Compiled(bound) => bound.code_bytes(),
            Self::Interpreted(_) => 0,
        }
    }
}

/// A function without a name, kept to be run many times.
pub(crate) enum FormulaCode {
    Compiled(jit::CompiledFormula),
    /// Interpreted, until it is hot.
    Interpreted(tiered::InterpretedFormula),
}

impl Backend {
    /// Creates the back end of a new context.
    pub(crate) fn new(engine: &Engine) -> Result<Self, Error> {
        let limits = engine.config().limits;
        match engine.mode() {
            Mode::Lazy | Mode::Eager => {
                let memory = ExecutionMemory::new().map_err(|error| Error::NoMemory(error.to_string()))?;
                let budget = engine.context_budget();
                let jit = JitContext::new(engine.jit()?, Arc::new(memory), limits.stack, budget);
                Ok(Self::Jit(jit))
            }
            Mode::Interpret | Mode::Tiered => TieredBackend::new(engine).map(Box::new).map(Self::Tiered),
        }
    }

    /// Creates the back end of a context whose functions are interpreted, in every mode, and
    /// count fuel.
    pub(crate) fn counting(engine: &Engine) -> Result<Self, Error> {
        TieredBackend::counting(engine).map(Box::new).map(Self::Tiered)
    }

    /// Adds an interpreter to a compiled context that has none yet.
    fn add_interpreter(&mut self, engine: &Engine) -> Result<(), Error> {
        if let Self::Jit(_) = self {
            let fresh = Self::Tiered(Box::new(TieredBackend::new(engine)?));
            if let Self::Jit(jit) = std::mem::replace(self, fresh) {
                *self = Self::Tiered(Box::new(TieredBackend::beside(engine, jit)));
            }
        }
        Ok(())
    }

    /// Prepares for a function: one that is too large to be compiled needs the
    /// interpreter.
    pub(crate) fn admit(&mut self, engine: &Engine, function: &CheckedFunction) -> Result<(), Error> {
        if engine.is_too_large(function) { self.add_interpreter(engine) } else { Ok(()) }
    }

    /// Prepares for a formula, which may come from another context.
    #[inline]
    pub(crate) fn admit_formula(&mut self, engine: &Engine, code: &FormulaCode) -> Result<(), Error> {
        match code {
            FormulaCode::Compiled(_) => Ok(()),
            FormulaCode::Interpreted(_) => self.add_interpreter(engine),
        }
    }

    /// Sets the inspector that is asked how to go on where a run stops.
    pub(crate) fn attach(&mut self, engine: &Engine, inspector: Box<dyn Inspector>) -> Result<(), Error> {
        self.add_interpreter(engine)?;
        if let Self::Tiered(tiered) = self {
            tiered.attach(inspector);
        }
        Ok(())
    }

    /// Switches functions that contain breakpoints back to the interpreter.
    pub(crate) fn deoptimize(&mut self) {
        match self {
            Self::Jit(_) => {}
            Self::Tiered(tiered) => tiered.deoptimize(),
        }
    }

    /// Binds a function's name to it.
    pub(crate) fn define(&mut self, function: &Arc<CheckedFunction>) {
        match self {
            Self::Jit(jit) => jit.define(function.clone()),
            Self::Tiered(tiered) => tiered.define(function),
        }
    }

    /// Unbinds all names, and sets all variables to 0. Returns `false`, without
    /// effect, if that has to be done name by name: under a debugger.
    pub(crate) fn reset(&mut self) -> bool {
        match self {
            Self::Jit(jit) => {
                jit.reset();
                true
            }
            Self::Tiered(tiered) => tiered.reset(),
        }
    }

    /// Returns the bindings of compiled code, to be [adopted](Self::adopt) by
    /// other contexts; `None` if there are none that can be shared.
    pub(crate) fn share(&self) -> Option<jit::SharedBindings> {
        match self {
            Self::Jit(jit) => jit.share(),
            Self::Tiered(_) => None,
        }
    }

    /// Adopts the bindings of another context, if possible; nothing may be bound
    /// yet. Returns whether it has.
    pub(crate) fn adopt(&self, shared: &jit::SharedBindings) -> bool {
        match self {
            Self::Jit(jit) => jit.adopt(shared),
            Self::Tiered(_) => false,
        }
    }

    /// Returns whether it can bind the names that a layer defines when they are needed.
    pub(crate) fn takes_layers(&self) -> bool {
        match self {
            Self::Jit(jit) => !jit.is_observed(),
            Self::Tiered(_) => false,
        }
    }

    /// Binds the names that a layer defines, if the back end can do so when they are
    /// needed; none of them may be bound yet. Returns whether it has.
    pub(crate) fn put_below(&self, layer: &Arc<Layer>) -> bool {
        match self {
            Self::Jit(jit) => jit.put_below(layer),
            Self::Tiered(_) => false,
        }
    }

    /// Supplies a tape that was lowered before, for the interpreter to use.
    pub(crate) fn supply(&mut self, function: &Arc<CheckedFunction>, tape: &Arc<Tape>) {
        match self {
            Self::Jit(_) => {}
            Self::Tiered(tiered) => tiered.interpreter.supply(function, tape),
        }
    }

    /// Binds a name to an earlier definition of it.
    pub(crate) fn rebind(&mut self, bound: &BoundDefinition) {
        match (self, bound) {
            (Self::Jit(jit), BoundDefinition::Compiled(bound)) => jit.rebind(bound),
            (Self::Tiered(tiered), BoundDefinition::Compiled(bound)) => tiered.rebind(bound),
            (backend, bound) => backend.define(bound.function()),
        }
    }

    /// Unbinds a name.
    pub(crate) fn drop_binding(&mut self, name: Name) {
        match self {
            Self::Jit(jit) => jit.drop_binding(name),
            Self::Tiered(tiered) => tiered.drop_binding(name),
        }
    }

    /// Sets the declared arity of a foreign function; `None` removes the
    /// declaration.
    pub(crate) fn declare(&mut self, name: Name, arity: Option<u32>) {
        match self {
            Self::Jit(jit) => jit.declare(name, arity),
            Self::Tiered(tiered) => match tiered.compiler() {
                Some(jit) => jit.declare(name, arity),
                None => tiered.interpreter.declare(name, arity),
            },
        }
    }

    /// Returns the definition of a function that contexts share, if it is bound
    /// and there is a compiler.
    pub(crate) fn shared_definition(&self, function: &Arc<CheckedFunction>) -> Option<jit::DefinitionHandle> {
        match self.bound(function.name)? {
            BoundDefinition::Compiled(bound) if Arc::ptr_eq(bound.function(), function) => Some(bound),
            BoundDefinition::Compiled(_) | BoundDefinition::Interpreted(_) => None,
        }
    }

    /// Returns the definition that a name is bound to.
    pub(crate) fn bound(&self, name: Name) -> Option<BoundDefinition> {
        match self {
            Self::Jit(jit) => jit.bound(name).map(BoundDefinition::Compiled),
            Self::Tiered(tiered) => match tiered.compiled() {
                Some(jit) => jit.bound(name).map(BoundDefinition::Compiled),
                None => tiered.interpreter.function(name).cloned().map(BoundDefinition::Interpreted),
            },
        }
    }

    /// Sets the observer of changes in compiled code. Without a compiler there
    /// are none.
    pub(crate) fn observe(&self, observer: Option<Observer>) {
        match self {
            Self::Jit(jit) => jit.observe(observer),
            Self::Tiered(tiered) => {
                if let Some(jit) = tiered.compiler() {
                    jit.observe(observer);
                }
            }
        }
    }

    /// Prepares a function that no name is bound to.
    pub(crate) fn formula(&self, function: &Arc<CheckedFunction>) -> Result<FormulaCode, Failure> {
        match self {
            Self::Jit(jit) => jit.formula(function).map(FormulaCode::Compiled),
            Self::Tiered(tiered) => match tiered.compiled_first() {
                Some(jit) if !tiered.is_too_large(function) => {
                    jit.formula(function).map(FormulaCode::Compiled)
                }
                Some(_) | None => {
                    Ok(FormulaCode::Interpreted(tiered::InterpretedFormula::new(function.clone())))
                }
            },
        }
    }

    /// Runs a formula; `arguments` must match the function's arity.
    pub(crate) fn run_formula(
        &mut self,
        code: &FormulaCode,
        arguments: &[f64],
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        match (self, code) {
            (Self::Jit(jit), FormulaCode::Compiled(formula)) => {
                jit.run_formula(formula, arguments, outside, None)
            }
            (Self::Tiered(tiered), FormulaCode::Interpreted(formula)) => {
                tiered.run_formula(formula, arguments, outside)
            }
            (Self::Tiered(tiered), FormulaCode::Compiled(formula)) => {
                tiered.run_compiled(formula, arguments, outside)
            }
            (Self::Jit(_), FormulaCode::Interpreted(_)) => {
                Err(Failure::internal("a formula came to another engine").into())
            }
        }
    }

    /// Returns the compilation status of what a name is bound to; `None` if it
    /// is not bound.
    pub(crate) fn state(&self, name: Name) -> Option<State> {
        match self {
            Self::Jit(jit) => jit.state(name),
            Self::Tiered(tiered) => tiered.state(name),
        }
    }

    /// Returns the compilation status of all bindings, in no particular order.
    fn states(&self) -> Vec<State> {
        match self {
            Self::Jit(jit) => jit.states(),
            Self::Tiered(tiered) => tiered.states(),
        }
    }

    /// Returns what the context has been given of the engine.
    pub(crate) fn budget(&self) -> &ContextBudget {
        match self {
            Self::Jit(jit) => jit.budget(),
            Self::Tiered(tiered) => tiered.budget(),
        }
    }

    /// Returns the memory that all code and tapes of the context work on.
    pub(crate) fn memory(&self) -> &Arc<ExecutionMemory> {
        match self {
            Self::Jit(jit) => jit.memory(),
            Self::Tiered(tiered) => tiered.memory(),
        }
    }

    /// Sets the remaining fuel: the number of function entries and loop
    /// iterations.
    pub(crate) fn set_fuel(&mut self, fuel: u64) {
        self.memory().fuel().store(i64::try_from(fuel).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Returns the remaining fuel: the number of function entries and loop
    /// iterations.
    pub(crate) fn fuel(&self) -> u64 {
        u64::try_from(self.memory().fuel().load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Returns whether an interrupt of what runs at its time waits, be it that of an earlier run.
    #[inline]
    pub(crate) fn is_interrupted_now(&self) -> bool {
        self.memory().is_interrupted_now()
    }

    /// Forgets an interrupt that was meant for an earlier run.
    #[cold]
    pub(crate) fn forget_interrupt_of_now(&self) {
        self.memory().forget_interrupt_of_now();
    }

    /// Returns a handle with which any thread can stop runs of this context.
    pub(crate) fn stopper(&self) -> StopHandle {
        StopHandle::new(self.memory().clone())
    }

    /// Compiles a function in the background, ahead of its first call, if there
    /// is a compiler.
    pub(crate) fn prepare(&self, name: Name) -> Result<(), Failure> {
        match self {
            Self::Jit(jit) => jit.prepare(name),
            Self::Tiered(tiered) => tiered.prepare(Some(name)),
        }
    }

    /// Queues a function to be compiled from the next [`submit`](Self::submit) on.
    pub(crate) fn prepare_soon(&self, name: Name) {
        match self {
            Self::Jit(jit) => jit.prepare_soon(name),
            Self::Tiered(tiered) => tiered.prepare_soon(name),
        }
    }

    /// Submits the queued functions to the workers.
    pub(crate) fn submit(&self) -> Result<(), Failure> {
        match self {
            Self::Jit(jit) => jit.submit(),
            Self::Tiered(tiered) => tiered.submit(),
        }
    }

    /// Compiles everything that is bound.
    pub(crate) fn prepare_all(&self) -> Result<(), Failure> {
        match self {
            Self::Jit(jit) => jit.prepare_all(),
            Self::Tiered(tiered) => tiered.prepare(None),
        }
    }

    /// Compiles what is bound of these names, and waits for it.
    pub(crate) fn prepare_those(&self, is_wanted: &dyn Fn(Name) -> bool) -> Result<(), Failure> {
        match self {
            Self::Jit(jit) => jit.prepare_those(is_wanted),
            Self::Tiered(tiered) => tiered.compiler().map_or(Ok(()), |jit| jit.prepare_those(is_wanted)),
        }
    }

    /// Compiles what is bound of these names and may round statically, and waits for it.
    pub(crate) fn prepare_exports(&self, is_exported: &dyn Fn(Name) -> bool) -> Result<(), Failure> {
        match self {
            Self::Jit(jit) => jit.prepare_exports(is_exported),
            Self::Tiered(tiered) => tiered.compiler().map_or(Ok(()), |jit| jit.prepare_exports(is_exported)),
        }
    }

    /// Compiles a top-level expression, if there is a compiler.
    pub(crate) fn prepare_expression(&self, expression: &Arc<CheckedFunction>) -> Result<(), Failure> {
        match self {
            Self::Jit(jit) => jit.prepare_expression(expression),
            Self::Tiered(tiered) => {
                tiered.compiler().map_or(Ok(()), |jit| jit.prepare_expression(expression))
            }
        }
    }

    /// Runs a top-level expression.
    pub(crate) fn run(
        &mut self,
        expression: &Arc<CheckedFunction>,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        match self {
            Self::Jit(jit) => jit.run(expression, outside, None),
            Self::Tiered(tiered) => tiered.run(expression, outside),
        }
    }

    /// Evaluates an expression without effects on the program; see [`trial`].
    pub(crate) fn try_out(
        &self,
        engine: &Engine,
        expression: &Arc<CheckedFunction>,
        needed: &[Arc<CheckedFunction>],
        fuel: u32,
    ) -> Option<f64> {
        trial::run(engine, self.memory(), expression, needed, fuel)
    }

    /// Returns the handle for calls of a function with that arity.
    pub(crate) fn handle(&self, name: Name, arity: u32) -> Result<CallHandle, Failure> {
        match self {
            Self::Jit(jit) => jit.slot(name, arity).map(CallHandle::Slot),
            Self::Tiered(tiered) => match tiered.compiled_first() {
                Some(jit) => jit.slot(name, arity).map(CallHandle::Slot),
                None => Ok(CallHandle::Name(name)),
            },
        }
    }

    /// Returns whether the interpreter is lent to each run.
    #[inline]
    pub(crate) fn has_interpreter(&self) -> bool {
        matches!(self, Self::Tiered(_))
    }

    /// Calls a function whose code needs no run; `None`, without effect, if it may need one.
    #[inline]
    pub(crate) fn call_context_free(
        &self,
        handle: &CallHandle,
        arguments: CallArguments<'_>,
        present: PresentEnvironment,
    ) -> Option<f64> {
        let CallHandle::Slot(slot) = handle else { return None };
        self.jit()?.call_context_free(slot, arguments, present)
    }

    /// Returns the code that calls of a function reach, if that needs no run; `None` as well before
    /// it has been called.
    #[cfg(feature = "executable")]
    pub(crate) fn context_free_code(&self, name: Name, handle: &CallHandle) -> Option<ContextFreeCode> {
        let CallHandle::Slot(slot) = handle else { return None };
        self.jit()?.context_free_code(name, slot)
    }

    /// Runs a formula whose code needs no run; `None`, without effect, if it may need one.
    #[inline]
    pub(crate) fn call_formula_context_free(
        &self,
        code: &FormulaCode,
        arguments: &[f64],
        present: PresentEnvironment,
    ) -> Option<f64> {
        let FormulaCode::Compiled(formula) = code else { return None };
        self.jit()?.call_formula_context_free(formula, arguments, present)
    }

    /// Returns the JIT, if it has been set up.
    #[inline]
    fn jit(&self) -> Option<&JitContext> {
        match self {
            Self::Jit(jit) => Some(jit),
            Self::Tiered(tiered) => tiered.compiled(),
        }
    }

    /// Calls a function. The handle must be for that number of arguments.
    #[inline]
    pub(crate) fn call(
        &mut self,
        handle: &CallHandle,
        arguments: CallArguments<'_>,
        present: PresentEnvironment,
        outside: &mut Outside,
    ) -> Result<f64, RunFailure> {
        match (self, handle) {
            (Self::Jit(jit), CallHandle::Slot(slot)) => jit.call(slot, arguments, present, outside, None),
            (Self::Tiered(tiered), CallHandle::Name(name)) => {
                let _environment = DefaultEnvironment::enter_from(present);
                tiered.call(*name, arguments.as_slice(), outside)
            }
            (Self::Tiered(tiered), CallHandle::Slot(slot)) => {
                tiered.call_slot(slot, arguments, present, outside)
            }
            // The handle is from a context that interprets.
            (Self::Jit(jit), CallHandle::Name(name)) => jit.call_by_name(*name, arguments, outside),
        }
    }

    /// Returns the value of a variable.
    pub(crate) fn variable(&self, variable: Variable) -> f64 {
        self.memory().variable(variable)
    }

    /// Sets the value of a variable.
    pub(crate) fn set_variable(&self, variable: Variable, value: f64) {
        self.memory().set_variable(variable, value);
    }

    /// Returns the statistics that the back end knows.
    pub(crate) fn stats(&self) -> Stats {
        let states = self.states();
        let count = |wanted: &[State]| states.iter().filter(|state| wanted.contains(state)).count() as u64;
        let stats = Stats {
            defined: states.len() as u64,
            pending: count(&[State::Pending, State::Materializing]),
            inlined: count(&[State::Inlined]),
            materialized: count(&[State::Materialized]),
            context_code_bytes: self.budget().code_bytes(),
            context_tape_bytes: self.budget().tape_bytes(),
            context_compile_ms: milliseconds(self.budget().compile_nanoseconds()),
            ..Stats::default()
        };
        let stats = match self {
            Self::Jit(jit) => compiled(stats, jit),
            Self::Tiered(tiered) => match tiered.compiled() {
                Some(jit) => compiled(stats, jit),
                None => stats,
            },
        };
        match self {
            Self::Jit(_) => stats,
            Self::Tiered(tiered) => Stats {
                code_bytes: stats.code_bytes + tiered.interpreter.code_bytes(),
                expressions: stats.expressions + tiered.interpreter.expressions(),
                run_ms: stats.run_ms + milliseconds(tiered.interpreter.run_nanoseconds()),
                ..stats
            },
        }
    }
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// Adds the statistics of compiled code to others.
fn compiled(stats: Stats, context: &JitContext) -> Stats {
    let (counters, stored) = (context.jit().counters(), context.jit().stored());
    Stats {
        ir_generated: counters.ir_generated.get(),
        expressions: counters.expressions.get(),
        objects_linked: counters.objects_linked.get(),
        cache_hits: stored.hits,
        cache_misses: stored.misses,
        code_bytes: context.jit().code_bytes(),
        compile_ms: milliseconds(counters.compile_nanoseconds.get()),
        wait_ms: milliseconds(context.waited_nanoseconds()),
        run_ms: milliseconds(context.run_nanoseconds()),
        ..stats
    }
}
