//! What runs the program of a context: compiled code, tapes, or both.
//!
//! Both know the same notions: names bound to definitions, functions called
//! by a handle, variables. What they need for that is theirs; with tapes the
//! compiler is never started.

mod tapes;
mod trial;

use crate::abi::Memory;
use crate::config::Mode;
use crate::engine::Engine;
use crate::error::Error;
use crate::failure::{Defined, Failure, RunFailure};
use crate::host::Output;
use crate::interp::inspect::Inspector;
use crate::jit::state::State;
use crate::jit::{self, Instance, NoTapes, Observer, Tier};
use crate::name::Name;
use crate::runtime::{Arguments, ExecutionMemory, Slot, Variable};
use crate::sema::checked::CheckedFunction;
use crate::stats::Stats;
use crate::stop::{Stoppable, Stopper};
use crate::tape::Tape;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tapes::Tapes;

/// One context's side of a back end.
pub(crate) enum Machine {
    /// Compiled code.
    Native(Instance),
    /// Tapes, interpreted, and compiled code for what is hot if that is made.
    Tape(Box<Tapes>),
}

/// What a function is called by from Rust, in every context of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Handle {
    /// The slot of compiled code.
    Slot(Slot),
    /// The name, looked up at each call.
    Name(Name),
}

/// A definition that a name is, or was, bound to, with what has been made of
/// it.
#[derive(Clone)]
pub(crate) enum Bound {
    /// With its code.
    Native(jit::Bound),
    /// To be run on a tape.
    Tape(Arc<CheckedFunction>),
}

impl Bound {
    /// The function.
    pub(crate) fn function(&self) -> &Arc<CheckedFunction> {
        match self {
            Self::Native(bound) => bound.function(),
            Self::Tape(function) => function,
        }
    }

    /// The level of its compiled code, if it has any.
    pub(crate) fn tier(&self) -> Option<Tier> {
        match self {
            Self::Native(bound) => bound.tier(),
            Self::Tape(_) => None,
        }
    }

    /// How many bytes of instructions its code has; 0 if it has none.
    pub(crate) fn code_bytes(&self) -> u64 {
        match self {
            Self::Native(bound) => bound.code_bytes(),
            Self::Tape(_) => 0,
        }
    }
}

/// A function without a name, kept to be run many times.
pub(crate) enum Code {
    /// Compiled.
    Native(jit::Formula),
    /// To be run on a tape.
    Tape(tapes::Formula),
}

impl Machine {
    /// The machine for a new context.
    pub(crate) fn new(engine: &Engine) -> Result<Self, Error> {
        let limits = engine.config().limits;
        match engine.mode() {
            Mode::Lazy | Mode::Eager => {
                let memory = ExecutionMemory::new().map_err(|error| Error::Setup(error.to_string()))?;
                Ok(Self::Native(Instance::new(engine.jit()?, Arc::new(memory), limits.stack)))
            }
            Mode::Interpret | Mode::Tiered => Tapes::new(engine).map(Box::new).map(Self::Tape),
        }
    }

    /// Gets tapes beside the compiled code, where there is only that.
    fn add_tapes(&mut self, engine: &Engine) -> Result<(), Error> {
        if let Self::Native(_) = self {
            let fresh = Self::Tape(Box::new(Tapes::new(engine)?));
            if let Self::Native(instance) = std::mem::replace(self, fresh) {
                *self = Self::Tape(Box::new(Tapes::beside(engine, instance)));
            }
        }
        Ok(())
    }

    /// Makes ready for a function: one that is too large to be compiled needs
    /// tapes.
    pub(crate) fn admit(&mut self, engine: &Engine, function: &CheckedFunction) -> Result<(), Error> {
        if is_too_large(engine, function) { self.add_tapes(engine) } else { Ok(()) }
    }

    /// Makes ready for a formula, which may come from another context.
    #[inline]
    pub(crate) fn admit_formula(&mut self, engine: &Engine, code: &Code) -> Result<(), Error> {
        match code {
            Code::Native(_) => Ok(()),
            Code::Tape(_) => self.add_tapes(engine),
        }
    }

    /// Lets runs stop, and asks `inspector` there how they go on.
    pub(crate) fn attach(&mut self, engine: &Engine, inspector: Box<dyn Inspector>) -> Result<(), Error> {
        self.add_tapes(engine)?;
        if let Self::Tape(tapes) = self {
            tapes.interpreter.set_inspector(Some(inspector));
        }
        Ok(())
    }

    /// Has functions run on their tapes from now on, where runs are to stop.
    pub(crate) fn recall(&mut self) {
        match self {
            Self::Native(_) => {}
            Self::Tape(tapes) => tapes.recall(),
        }
    }

    /// Keeps the frames of a run that fails, where tapes are run first.
    pub(crate) fn keep_failures(&mut self) {
        match self {
            Self::Native(_) => {}
            Self::Tape(tapes) => tapes.interpreter.keep_failures(),
        }
    }

    /// Shows the run that has failed last to the inspector, if its frames are
    /// still there.
    pub(crate) fn examine(&mut self, output: &mut dyn Output) -> bool {
        match self {
            Self::Native(_) => false,
            Self::Tape(tapes) => tapes.examine(output),
        }
    }

    /// Binds a function's name to it.
    pub(crate) fn define(&mut self, function: Arc<CheckedFunction>) -> Defined {
        match self {
            Self::Native(instance) => instance.define(function),
            Self::Tape(tapes) => tapes.define(&function),
        }
    }

    /// Has a tape that was made before used for a function, where tapes are run.
    pub(crate) fn supply(&mut self, function: &Arc<CheckedFunction>, tape: &Arc<Tape>) {
        match self {
            Self::Native(_) => {}
            Self::Tape(tapes) => tapes.interpreter.supply(function, tape),
        }
    }

    /// Binds a name to an earlier definition of it.
    pub(crate) fn rebind(&mut self, bound: &Bound) -> Defined {
        match (self, bound) {
            (Self::Native(instance), Bound::Native(bound)) => instance.rebind(bound),
            (Self::Tape(tapes), Bound::Native(bound)) => tapes.rebind(bound),
            (machine, bound) => machine.define(bound.function().clone()),
        }
    }

    /// Binds a name to nothing.
    pub(crate) fn drop_binding(&mut self, name: Name) {
        match self {
            Self::Native(instance) => drop(instance.drop_binding(name)),
            Self::Tape(tapes) => tapes.drop_binding(name),
        }
    }

    /// Sets how many arguments the program says that a foreign function takes.
    pub(crate) fn declare(&mut self, name: Name, arity: Option<u32>) {
        match self {
            Self::Native(instance) => instance.declare(name, arity),
            Self::Tape(tapes) => match tapes.compiler() {
                Some(instance) => instance.declare(name, arity),
                None => tapes.interpreter.declare(name, arity),
            },
        }
    }

    /// How many arguments the program says that a foreign function takes.
    pub(crate) fn declared(&self, name: Name) -> Option<u32> {
        match self {
            Self::Native(instance) => instance.declared(name),
            Self::Tape(tapes) => match tapes.compiled() {
                Some(instance) => instance.declared(name),
                None => tapes.interpreter.declared(name),
            },
        }
    }

    /// The definition that a name is bound to.
    pub(crate) fn bound(&self, name: Name) -> Option<Bound> {
        match self {
            Self::Native(instance) => instance.bound(name).map(Bound::Native),
            Self::Tape(tapes) => match tapes.compiled() {
                Some(instance) => instance.bound(name).map(Bound::Native),
                None => tapes.binding(name).map(|(_, function)| Bound::Tape(function)),
            },
        }
    }

    /// Sets who is told of what happens to the code of names. Where none is made
    /// nothing happens.
    pub(crate) fn observe(&self, observer: Option<Observer>) {
        match self {
            Self::Native(instance) => instance.observe(observer),
            Self::Tape(tapes) => {
                if let Some(instance) = tapes.compiler() {
                    instance.observe(observer);
                }
            }
        }
    }

    /// Makes a function that no name is bound to ready to be run.
    pub(crate) fn formula(&self, function: &Arc<CheckedFunction>) -> Result<Code, Failure> {
        match self {
            Self::Native(instance) => instance.formula(function).map(Code::Native),
            Self::Tape(tapes) => match tapes.compiled_first() {
                Some(instance) if !tapes.is_too_large(function) => {
                    instance.formula(function).map(Code::Native)
                }
                Some(_) | None => Ok(Code::Tape(tapes::Formula::new(function.clone()))),
            },
        }
    }

    /// Runs such a function; the number of arguments must be its own.
    pub(crate) fn run_formula(
        &mut self,
        code: &Code,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        match (self, code) {
            (Self::Native(instance), Code::Native(formula)) => {
                instance.run_formula(formula, arguments, output, &mut NoTapes)
            }
            (Self::Tape(tapes), Code::Tape(formula)) => tapes.run_formula(formula, arguments, output),
            (Self::Tape(tapes), Code::Native(formula)) => tapes.run_compiled(formula, arguments, output),
            (Self::Native(_), Code::Tape(_)) => {
                Err(Failure::System("a formula of another engine".into()).into())
            }
        }
    }

    /// What a name is bound to, and how far its code is.
    pub(crate) fn binding(&self, name: Name) -> Option<(State, Arc<CheckedFunction>)> {
        match self {
            Self::Native(instance) => instance.binding(name),
            Self::Tape(tapes) => tapes.binding(name),
        }
    }

    /// All that is bound, in no particular order.
    pub(crate) fn all(&self) -> Vec<(State, Arc<CheckedFunction>)> {
        match self {
            Self::Native(instance) => instance.all(),
            Self::Tape(tapes) => tapes.all(),
        }
    }

    /// How many names are bound.
    pub(crate) fn definitions(&self) -> usize {
        match self {
            Self::Native(instance) => instance.definitions(),
            Self::Tape(tapes) => tapes.interpreter.definitions(),
        }
    }

    /// What all code and tapes of the context work on.
    fn memory(&self) -> &Arc<ExecutionMemory> {
        match self {
            Self::Native(instance) => instance.memory(),
            Self::Tape(tapes) => tapes.memory(),
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
            Self::Native(instance) => instance.prepare(name),
            Self::Tape(tapes) => tapes.prepare(Some(name)),
        }
    }

    /// The same, soon, together with other functions; at the latest after the
    /// next [`submit`](Self::submit).
    pub(crate) fn prepare_soon(&self, name: Name) -> Result<(), Failure> {
        match self {
            Self::Native(instance) => instance.prepare_soon(name),
            Self::Tape(tapes) => tapes.prepare_soon(name),
        }
    }

    /// Has workers start on what is to be prepared soon.
    pub(crate) fn submit(&self) -> Result<(), Failure> {
        match self {
            Self::Native(instance) => instance.submit(),
            Self::Tape(tapes) => tapes.submit(),
        }
    }

    /// Makes the code of everything that is bound.
    pub(crate) fn prepare_all(&self) -> Result<(), Failure> {
        match self {
            Self::Native(instance) => instance.prepare_all(),
            Self::Tape(tapes) => tapes.prepare(None),
        }
    }

    /// Runs a top-level expression.
    pub(crate) fn run(
        &mut self,
        expression: &Arc<CheckedFunction>,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        match self {
            Self::Native(instance) => instance.run(expression, output, &mut NoTapes),
            Self::Tape(tapes) => tapes.run(expression, output),
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
    pub(crate) fn handle(&self, name: Name, arity: u32) -> Result<Handle, Failure> {
        match self {
            Self::Native(instance) => instance.slot(name, arity).map(Handle::Slot),
            Self::Tape(_) => Ok(Handle::Name(name)),
        }
    }

    /// Calls a function. The handle must be for that number of arguments.
    #[inline]
    pub(crate) fn call(
        &mut self,
        handle: Handle,
        arguments: Arguments<'_>,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        match (self, handle) {
            (Self::Native(instance), Handle::Slot(slot)) => {
                instance.call(slot, arguments, output, &mut NoTapes)
            }
            (Self::Tape(tapes), Handle::Name(name)) => tapes.call(name, arguments.as_slice(), output),
            (Self::Tape(tapes), Handle::Slot(slot)) => tapes.call_slot(slot, arguments, output),
            // The handle is from a context that runs on tapes.
            (Self::Native(instance), Handle::Name(name)) => {
                let slot = instance.slot(name, arguments.as_slice().len() as u32)?;
                instance.call(slot, arguments, output, &mut NoTapes)
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
            Self::Native(instance) => compiled(stats, instance),
            Self::Tape(tapes) => match tapes.compiled() {
                Some(instance) => compiled(stats, instance),
                None => stats,
            },
        };
        match self {
            Self::Native(_) => stats,
            Self::Tape(tapes) => Stats {
                code_bytes: stats.code_bytes + tapes.interpreter.code_bytes(),
                expressions: stats.expressions + tapes.interpreter.expressions(),
                run_ms: stats.run_ms + milliseconds(tapes.interpreter.run_nanoseconds()),
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
fn compiled(stats: Stats, instance: &Instance) -> Stats {
    let counters = instance.jit().counters();
    Stats {
        ir_generated: counters.ir_generated.get(),
        expressions: counters.expressions.get(),
        objects_linked: counters.objects_linked.get(),
        code_bytes: instance.jit().code_bytes(),
        compile_ms: milliseconds(counters.compile_nanoseconds.get()),
        wait_ms: milliseconds(instance.waited_nanoseconds()),
        run_ms: milliseconds(instance.run_nanoseconds()),
        ..stats
    }
}
