//! What runs the program of a context: compiled code, or tapes.
//!
//! Both know the same notions: names bound to definitions, functions called
//! by a handle, variables. What they need for that is theirs; with tapes the
//! compiler is never started.

use crate::config::Mode;
use crate::engine::Engine;
use crate::error::Error;
use crate::failure::{Defined, Failure, Stopped};
use crate::host::Output;
use crate::interp::{self, Interpreter};
use crate::jit::state::State;
use crate::jit::{self, Instance, Observer, Tier};
use crate::name::Name;
use crate::runtime::{Arguments, Slot};
use crate::sema::checked::Function;
use crate::stats::Stats;
use crate::stop::Stopper;
use std::sync::Arc;

/// One context's side of a back end.
pub(crate) enum Machine {
    /// Compiled code.
    Native(Instance),
    /// Tapes, interpreted.
    Tape(Box<Interpreter>),
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
    Tape(Arc<Function>),
}

impl Bound {
    /// The function.
    pub(crate) fn function(&self) -> &Arc<Function> {
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
    Tape(Arc<Function>),
}

impl Machine {
    /// The machine for a new context.
    pub(crate) fn new(engine: &Engine) -> Result<Self, Error> {
        let limits = engine.config().limits;
        match engine.mode() {
            Mode::Lazy | Mode::Eager => {
                let instance = Instance::new(engine.jit()?, limits.stack);
                instance.map(Self::Native).map_err(|error| Error::Setup(error.to_string()))
            }
            Mode::Interpret => {
                let options = interp::Options { stack: limits.stack, counts_fuel: limits.fuel.is_some() };
                Ok(Self::Tape(Box::new(Interpreter::new(engine.names(), engine.hosts(), options))))
            }
        }
    }

    /// Binds a function's name to it.
    pub(crate) fn define(&mut self, function: Arc<Function>) -> Defined {
        match self {
            Self::Native(instance) => instance.define(function),
            Self::Tape(interpreter) => interpreter.define(&function),
        }
    }

    /// Binds a name to an earlier definition of it.
    pub(crate) fn rebind(&mut self, bound: &Bound) -> Defined {
        match (self, bound) {
            (Self::Native(instance), Bound::Native(bound)) => instance.rebind(bound),
            (machine, bound) => machine.define(bound.function().clone()),
        }
    }

    /// Binds a name to nothing.
    pub(crate) fn drop_binding(&mut self, name: Name) {
        match self {
            Self::Native(instance) => drop(instance.drop_binding(name)),
            Self::Tape(interpreter) => drop(interpreter.drop_binding(name)),
        }
    }

    /// The program says how many arguments a foreign function takes. Whether it
    /// can be called: only compiled code can pass any number of arguments.
    pub(crate) fn declare(&mut self, name: Name, arity: u32) -> bool {
        match self {
            Self::Native(instance) => instance.declare(name, arity),
            Self::Tape(_) => return false,
        }
        true
    }

    /// How many arguments the program says that a foreign function takes.
    pub(crate) fn declared(&self, name: Name) -> Option<u32> {
        match self {
            Self::Native(instance) => instance.declared(name),
            Self::Tape(_) => None,
        }
    }

    /// The definition that a name is bound to.
    pub(crate) fn bound(&self, name: Name) -> Option<Bound> {
        match self {
            Self::Native(instance) => instance.bound(name).map(Bound::Native),
            Self::Tape(interpreter) => {
                interpreter.binding(name).map(|(_, function)| Bound::Tape(function.clone()))
            }
        }
    }

    /// Sets who is told of what happens to names. With tapes nothing happens
    /// that is worth telling.
    pub(crate) fn observe(&self, observer: Option<Observer>) {
        match self {
            Self::Native(instance) => instance.observe(observer),
            Self::Tape(_) => {}
        }
    }

    /// Makes a function that no name is bound to ready to be run.
    pub(crate) fn formula(&self, function: &Arc<Function>) -> Result<Code, Failure> {
        match self {
            Self::Native(instance) => instance.formula(function).map(Code::Native),
            Self::Tape(_) => Ok(Code::Tape(function.clone())),
        }
    }

    /// Runs such a function; the number of arguments must be its own.
    pub(crate) fn run_formula(
        &mut self,
        code: &Code,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, Stopped> {
        match (self, code) {
            (Self::Native(instance), Code::Native(formula)) => {
                instance.run_formula(formula, arguments, output)
            }
            (Self::Tape(interpreter), Code::Tape(function)) => interpreter.run(function, arguments, output),
            (Self::Native(_), Code::Tape(_)) | (Self::Tape(_), Code::Native(_)) => {
                Err(Failure::System("a formula of another engine".into()).into())
            }
        }
    }

    /// What a name is bound to, and how far its code is.
    pub(crate) fn binding(&self, name: Name) -> Option<(State, Arc<Function>)> {
        match self {
            Self::Native(instance) => instance.binding(name),
            Self::Tape(interpreter) => {
                interpreter.binding(name).map(|(ready, function)| (state(ready), function.clone()))
            }
        }
    }

    /// All that is bound, in no particular order.
    pub(crate) fn all(&self) -> Vec<(State, Arc<Function>)> {
        match self {
            Self::Native(instance) => instance.all(),
            Self::Tape(interpreter) => {
                interpreter.all().map(|(ready, function)| (state(ready), function.clone())).collect()
            }
        }
    }

    /// How many names are bound.
    pub(crate) fn definitions(&self) -> usize {
        match self {
            Self::Native(instance) => instance.definitions(),
            Self::Tape(interpreter) => interpreter.definitions(),
        }
    }

    /// Sets how many function entries and loop rounds are left.
    pub(crate) fn set_fuel(&mut self, fuel: u64) {
        match self {
            Self::Native(instance) => instance.set_fuel(fuel),
            Self::Tape(interpreter) => interpreter.set_fuel(fuel),
        }
    }

    /// How many function entries and loop rounds are left.
    pub(crate) fn fuel(&self) -> u64 {
        match self {
            Self::Native(instance) => instance.fuel(),
            Self::Tape(interpreter) => interpreter.fuel(),
        }
    }

    /// What asks runs of this context to stop, from any thread.
    pub(crate) fn stopper(&self) -> Stopper {
        match self {
            Self::Native(instance) => instance.stopper(),
            Self::Tape(interpreter) => interpreter.stopper(),
        }
    }

    /// Has code made ahead of the first call, without waiting for it. There
    /// is nothing to gain for a tape.
    pub(crate) fn prepare(&self, name: Name) -> Result<(), Failure> {
        match self {
            Self::Native(instance) => instance.prepare(name),
            Self::Tape(_) => Ok(()),
        }
    }

    /// Makes the code of everything that is bound.
    pub(crate) fn prepare_all(&self) -> Result<(), Failure> {
        match self {
            Self::Native(instance) => instance.prepare_all(),
            Self::Tape(_) => Ok(()),
        }
    }

    /// Runs a top-level expression.
    pub(crate) fn run(
        &mut self,
        expression: &Arc<Function>,
        output: &mut dyn Output,
    ) -> Result<f64, Stopped> {
        match self {
            Self::Native(instance) => instance.run(expression, output),
            Self::Tape(interpreter) => interpreter.run(expression, &[], output),
        }
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
    ) -> Result<f64, Stopped> {
        match (self, handle) {
            (Self::Native(instance), Handle::Slot(slot)) => instance.call(slot, arguments, output),
            (Self::Tape(interpreter), Handle::Name(name)) => {
                interpreter.call(name, arguments.as_slice(), output)
            }
            (Self::Native(_), Handle::Name(_)) | (Self::Tape(_), Handle::Slot(_)) => {
                Err(Failure::System("a handle of another engine".into()).into())
            }
        }
    }

    /// The value of a variable.
    pub(crate) fn variable(&self, name: Name) -> Result<f64, Failure> {
        match self {
            Self::Native(instance) => instance.variable(name),
            Self::Tape(interpreter) => Ok(interpreter.variable(name)),
        }
    }

    /// Sets the value of a variable.
    pub(crate) fn set_variable(&mut self, name: Name, value: f64) -> Result<(), Failure> {
        match self {
            Self::Native(instance) => instance.set_variable(name, value),
            Self::Tape(interpreter) => interpreter.set_variable(name, value),
        }
    }

    /// The figures that the back end knows.
    pub(crate) fn stats(&self) -> Stats {
        let milliseconds = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        let bindings = self.all();
        let count =
            |wanted: &[State]| bindings.iter().filter(|(state, _)| wanted.contains(state)).count() as u64;
        let stats = Stats {
            defined: bindings.len() as u64,
            pending: count(&[State::Pending, State::Materializing]),
            materialized: count(&[State::Materialized]),
            ..Stats::default()
        };
        match self {
            Self::Native(instance) => {
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
            Self::Tape(interpreter) => Stats {
                expressions: interpreter.expressions(),
                run_ms: milliseconds(interpreter.run_nanoseconds()),
                ..stats
            },
        }
    }
}

/// A function has its tape once it has been called.
fn state(has_tape: bool) -> State {
    if has_tape { State::Materialized } else { State::Pending }
}
