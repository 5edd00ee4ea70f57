//! What runs the program of a context: compiled code, tapes, or both.
//!
//! Both know the same notions: names bound to definitions, functions called
//! by a handle, variables. What they need for that is theirs; with tapes the
//! compiler is never started.

mod tiered;
mod trial;

use crate::abi::Memory;
use crate::config::Mode;
use crate::engine::Engine;
use crate::error::Error;
use crate::failure::{Defined, Failure, RunFailure};
use crate::host::Output;
use crate::interp::inspect::Inspector;
use crate::jit::state::State;
use crate::jit::{self, JitContext, NoInterpreter, Observer, Tier};
use crate::name::Name;
use crate::runtime::{CallArguments, ExecutionMemory, Slot, Variable};
use crate::sema::checked::CheckedFunction;
use crate::stats::Stats;
use crate::stop::{Stoppable, Stopper};
use crate::tape::Tape;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tiered::TieredBackend;

/// One context's side of a back end.
pub(crate) enum Backend {
    /// Compiled code.
    Jit(JitContext),
    /// Tapes, interpreted, and compiled code for what is hot if that is made.
    Tiered(Box<TieredBackend>),
}

/// What a function is called by from Rust, in every context of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallHandle {
    /// The slot of compiled code.
    Slot(Slot),
    /// The name, looked up at each call.
    Name(Name),
}

/// A definition that a name is, or was, bound to, with what has been made of
/// it.
#[derive(Clone)]
pub(crate) enum BoundDefinition {
    /// With its code.
    Compiled(jit::DefinitionHandle),
    /// To be run on a tape.
    Interpreted(Arc<CheckedFunction>),
}

impl BoundDefinition {
    /// The function.
    pub(crate) fn function(&self) -> &Arc<CheckedFunction> {
        match self {
            Self::Compiled(bound) => bound.function(),
            Self::Interpreted(function) => function,
        }
    }

    /// The level of its compiled code, if it has any.
    pub(crate) fn tier(&self) -> Option<Tier> {
        match self {
            Self::Compiled(bound) => bound.tier(),
            Self::Interpreted(_) => None,
        }
    }

    /// How many bytes of instructions its code has; 0 if it has none.
    pub(crate) fn code_bytes(&self) -> u64 {
        match self {
            Self::Compiled(bound) => bound.code_bytes(),
            Self::Interpreted(_) => 0,
        }
    }
}

/// A function without a name, kept to be run many times.
pub(crate) enum FormulaCode {
    /// Compiled.
    Compiled(jit::CompiledFormula),
    /// To be run on a tape.
    Interpreted(tiered::InterpretedFormula),
}

impl Backend {
    /// The machine for a new context.
    pub(crate) fn new(engine: &Engine) -> Result<Self, Error> {
        let limits = engine.config().limits;
        match engine.mode() {
            Mode::Lazy | Mode::Eager => {
                let memory = ExecutionMemory::new().map_err(|error| Error::Setup(error.to_string()))?;
                Ok(Self::Jit(JitContext::new(engine.jit()?, Arc::new(memory), limits.stack)))
            }
            Mode::Interpret | Mode::Tiered => TieredBackend::new(engine).map(Box::new).map(Self::Tiered),
        }
    }

    /// Gets tapes beside the compiled code, where there is only that.
    fn add_interpreter(&mut self, engine: &Engine) -> Result<(), Error> {
        if let Self::Jit(_) = self {
            let fresh = Self::Tiered(Box::new(TieredBackend::new(engine)?));
            if let Self::Jit(jit) = std::mem::replace(self, fresh) {
                *self = Self::Tiered(Box::new(TieredBackend::beside(engine, jit)));
            }
        }
        Ok(())
    }

    /// Makes ready for a function: one that is too large to be compiled needs
    /// tapes.
    pub(crate) fn admit(&mut self, engine: &Engine, function: &CheckedFunction) -> Result<(), Error> {
        if is_too_large(engine, function) { self.add_interpreter(engine) } else { Ok(()) }
    }

    /// Makes ready for a formula, which may come from another context.
    #[inline]
    pub(crate) fn admit_formula(&mut self, engine: &Engine, code: &FormulaCode) -> Result<(), Error> {
        match code {
            FormulaCode::Compiled(_) => Ok(()),
            FormulaCode::Interpreted(_) => self.add_interpreter(engine),
        }
    }

    /// Lets runs stop, and asks `inspector` there how they go on.
    pub(crate) fn attach(&mut self, engine: &Engine, inspector: Box<dyn Inspector>) -> Result<(), Error> {
        self.add_interpreter(engine)?;
        if let Self::Tiered(tiered) = self {
            tiered.interpreter.set_inspector(Some(inspector));
        }
        Ok(())
    }

    /// Has functions run on their tapes from now on, where runs are to stop.
    pub(crate) fn deoptimize(&mut self) {
        match self {
            Self::Jit(_) => {}
            Self::Tiered(tiered) => tiered.deoptimize(),
        }
    }

    /// Keeps the frames of a run that fails, where tapes are run first.
    pub(crate) fn keep_failures(&mut self) {
        match self {
            Self::Jit(_) => {}
            Self::Tiered(tiered) => tiered.interpreter.keep_failures(),
        }
    }

    /// Shows the run that has failed last to the inspector, if its frames are
    /// still there.
    pub(crate) fn examine(&mut self, output: &mut dyn Output) -> bool {
        match self {
            Self::Jit(_) => false,
            Self::Tiered(tiered) => tiered.examine(output),
        }
    }

    /// Binds a function's name to it.
    pub(crate) fn define(&mut self, function: Arc<CheckedFunction>) -> Defined {
        match self {
            Self::Jit(jit) => jit.define(function),
            Self::Tiered(tiered) => tiered.define(&function),
        }
    }

    /// Has a tape that was made before used for a function, where tapes are run.
    pub(crate) fn supply(&mut self, function: &Arc<CheckedFunction>, tape: &Arc<Tape>) {
        match self {
            Self::Jit(_) => {}
            Self::Tiered(tiered) => tiered.interpreter.supply(function, tape),
        }
    }

    /// Binds a name to an earlier definition of it.
    pub(crate) fn rebind(&mut self, bound: &BoundDefinition) -> Defined {
        match (self, bound) {
            (Self::Jit(jit), BoundDefinition::Compiled(bound)) => jit.rebind(bound),
            (Self::Tiered(tiered), BoundDefinition::Compiled(bound)) => tiered.rebind(bound),
            (machine, bound) => machine.define(bound.function().clone()),
        }
    }

    /// Binds a name to nothing.
    pub(crate) fn drop_binding(&mut self, name: Name) {
        match self {
            Self::Jit(jit) => drop(jit.drop_binding(name)),
            Self::Tiered(tiered) => tiered.drop_binding(name),
        }
    }

    /// Sets how many arguments the program says that a foreign function takes.
    pub(crate) fn declare(&mut self, name: Name, arity: Option<u32>) {
        match self {
            Self::Jit(jit) => jit.declare(name, arity),
            Self::Tiered(tiered) => match tiered.compiler() {
                Some(jit) => jit.declare(name, arity),
                None => tiered.interpreter.declare(name, arity),
            },
        }
    }

    /// How many arguments the program says that a foreign function takes.
    pub(crate) fn declared(&self, name: Name) -> Option<u32> {
        match self {
            Self::Jit(jit) => jit.declared(name),
            Self::Tiered(tiered) => match tiered.compiled() {
                Some(jit) => jit.declared(name),
                None => tiered.interpreter.declared(name),
            },
        }
    }

    /// The definition that a name is bound to.
    pub(crate) fn bound(&self, name: Name) -> Option<BoundDefinition> {
        match self {
            Self::Jit(jit) => jit.bound(name).map(BoundDefinition::Compiled),
            Self::Tiered(tiered) => match tiered.compiled() {
                Some(jit) => jit.bound(name).map(BoundDefinition::Compiled),
                None => tiered.binding(name).map(|(_, function)| BoundDefinition::Interpreted(function)),
            },
        }
    }

    /// Sets who is told of what happens to the code of names. Where none is made
    /// nothing happens.
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

    /// Makes a function that no name is bound to ready to be run.
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

    /// Runs such a function; the number of arguments must be its own.
    pub(crate) fn run_formula(
        &mut self,
        code: &FormulaCode,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        match (self, code) {
            (Self::Jit(jit), FormulaCode::Compiled(formula)) => {
                jit.run_formula(formula, arguments, output, &mut NoInterpreter)
            }
            (Self::Tiered(tiered), FormulaCode::Interpreted(formula)) => {
                tiered.run_formula(formula, arguments, output)
            }
            (Self::Tiered(tiered), FormulaCode::Compiled(formula)) => {
                tiered.run_compiled(formula, arguments, output)
            }
            (Self::Jit(_), FormulaCode::Interpreted(_)) => {
                Err(Failure::System("a formula of another engine".into()).into())
            }
        }
    }

    /// What a name is bound to, and how far its code is.
    pub(crate) fn binding(&self, name: Name) -> Option<(State, Arc<CheckedFunction>)> {
        match self {
            Self::Jit(jit) => jit.binding(name),
            Self::Tiered(tiered) => tiered.binding(name),
        }
    }

    /// All that is bound, in no particular order.
    pub(crate) fn all(&self) -> Vec<(State, Arc<CheckedFunction>)> {
        match self {
            Self::Jit(jit) => jit.all(),
            Self::Tiered(tiered) => tiered.all(),
        }
    }

    /// How many names are bound.
    pub(crate) fn definitions(&self) -> usize {
        match self {
            Self::Jit(jit) => jit.definitions(),
            Self::Tiered(tiered) => tiered.interpreter.definitions(),
        }
    }

    /// What all code and tapes of the context work on.
    fn memory(&self) -> &Arc<ExecutionMemory> {
        match self {
            Self::Jit(jit) => jit.memory(),
            Self::Tiered(tiered) => tiered.memory(),
        }
    }

    /// Sets how many function entries and loop rounds are left.
    pub(crate) fn set_fuel(&mut self, fuel: u64) {
        self.memory().fuel().store(i64::try_from(fuel).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// How many function entries and loop rounds are left.
    pub(crate) fn fuel(&self) -> u64 {
        u64::try_from(self.memory().fuel().load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Begins an evaluation: what was to interrupt an earlier one is forgotten.
    #[inline]
    pub(crate) fn begin(&self) {
        self.memory().forget_interrupt_of_now();
    }

    /// What asks runs of this context to stop, from any thread.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper::new(self.memory().clone())
    }

    /// Has code made ahead of the first call, without waiting for it, where code
    /// is made.
    pub(crate) fn prepare(&self, name: Name) -> Result<(), Failure> {
        match self {
            Self::Jit(jit) => jit.prepare(name),
            Self::Tiered(tiered) => tiered.prepare(Some(name)),
        }
    }

    /// The same, soon, together with other functions; at the latest after the
    /// next [`submit`](Self::submit).
    pub(crate) fn prepare_soon(&self, name: Name) -> Result<(), Failure> {
        match self {
            Self::Jit(jit) => jit.prepare_soon(name),
            Self::Tiered(tiered) => tiered.prepare_soon(name),
        }
    }

    /// Has workers start on what is to be prepared soon.
    pub(crate) fn submit(&self) -> Result<(), Failure> {
        match self {
            Self::Jit(jit) => jit.submit(),
            Self::Tiered(tiered) => tiered.submit(),
        }
    }

    /// Makes the code of everything that is bound.
    pub(crate) fn prepare_all(&self) -> Result<(), Failure> {
        match self {
            Self::Jit(jit) => jit.prepare_all(),
            Self::Tiered(tiered) => tiered.prepare(None),
        }
    }

    /// Runs a top-level expression.
    pub(crate) fn run(
        &mut self,
        expression: &Arc<CheckedFunction>,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        match self {
            Self::Jit(jit) => jit.run(expression, output, &mut NoInterpreter),
            Self::Tiered(tiered) => tiered.run(expression, output),
        }
    }

    /// Evaluates an expression beside the program; see [`trial`].
    pub(crate) fn try_out(
        &self,
        engine: &Engine,
        expression: &Arc<CheckedFunction>,
        needed: &[Arc<CheckedFunction>],
        fuel: u32,
    ) -> Option<f64> {
        trial::run(engine, self.memory(), expression, needed, fuel)
    }

    /// What calls of a function with so many arguments go by.
    pub(crate) fn handle(&self, name: Name, arity: u32) -> Result<CallHandle, Failure> {
        match self {
            Self::Jit(jit) => jit.slot(name, arity).map(CallHandle::Slot),
            Self::Tiered(_) => Ok(CallHandle::Name(name)),
        }
    }

    /// Calls a function. The handle must be for that number of arguments.
    #[inline]
    pub(crate) fn call(
        &mut self,
        handle: CallHandle,
        arguments: CallArguments<'_>,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        match (self, handle) {
            (Self::Jit(jit), CallHandle::Slot(slot)) => jit.call(slot, arguments, output, &mut NoInterpreter),
            (Self::Tiered(tiered), CallHandle::Name(name)) => tiered.call(name, arguments.as_slice(), output),
            (Self::Tiered(tiered), CallHandle::Slot(slot)) => tiered.call_slot(slot, arguments, output),
            // The handle is from a context that runs on tapes.
            (Self::Jit(jit), CallHandle::Name(name)) => {
                let slot = jit.slot(name, arguments.as_slice().len() as u32)?;
                jit.call(slot, arguments, output, &mut NoInterpreter)
            }
        }
    }

    /// The value of a variable.
    pub(crate) fn variable(&self, engine: &Engine, name: Name) -> Result<f64, Failure> {
        Ok(self.memory().variable(variable(engine, name)?))
    }

    /// Sets the value of a variable.
    pub(crate) fn set_variable(&mut self, engine: &Engine, name: Name, value: f64) -> Result<(), Failure> {
        self.memory().set_variable(variable(engine, name)?, value);
        Ok(())
    }

    /// The figures that the back end knows.
    pub(crate) fn stats(&self) -> Stats {
        let bindings = self.all();
        let count =
            |wanted: &[State]| bindings.iter().filter(|(state, _)| wanted.contains(state)).count() as u64;
        let stats = Stats {
            defined: bindings.len() as u64,
            pending: count(&[State::Pending, State::Materializing]),
            inlined: count(&[State::Inlined]),
            materialized: count(&[State::Materialized]),
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

/// The place of a variable.
fn variable(engine: &Engine, name: Name) -> Result<Variable, Failure> {
    engine.variables().number(name).map(Variable).ok_or(Failure::TooMany("variables"))
}

/// Whether a function has more operations than are compiled.
fn is_too_large(engine: &Engine, function: &CheckedFunction) -> bool {
    function.nodes.len() > engine.config().limits.max_compiled_operations
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// The figures about compiled code, added to others.
fn compiled(stats: Stats, context: &JitContext) -> Stats {
    let counters = context.jit().counters();
    Stats {
        ir_generated: counters.ir_generated.get(),
        expressions: counters.expressions.get(),
        objects_linked: counters.objects_linked.get(),
        code_bytes: context.jit().code_bytes(),
        compile_ms: milliseconds(counters.compile_nanoseconds.get()),
        wait_ms: milliseconds(context.waited_nanoseconds()),
        run_ms: milliseconds(context.run_nanoseconds()),
        ..stats
    }
}
