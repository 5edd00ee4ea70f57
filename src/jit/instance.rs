//! The JIT's side of one context: its bindings, and running code in it.

use super::bindings::{Bindings, Call};
use super::code_map::Finder;
use super::definition::Definition;
use super::epoch::Activity;
use super::failure::{Failure, Stopped, Trace};
use super::slots::Target;
use super::state::{Event, State};
use super::{Jit, nanoseconds};
use crate::host::{self, Callable, Output};
use crate::name::Name;
use crate::runtime::{self, Execution, ExecutionMemory, Left, Slot, Stop, Stopper, Surroundings};
use crate::sema::checked::Function;
use rustc_hash::FxHashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// The bindings of one context and what its code runs on. Used by one thread
/// at a time.
pub struct Instance {
    jit: Arc<Jit>,
    bindings: Arc<Bindings>,
    activity: Arc<Activity>,
    execution: Execution,
    /// How many arguments the program says that foreign functions take.
    declared: FxHashMap<Name, u32>,
    run_nanoseconds: u64,
}

/// What became of a definition.
#[derive(Clone, Debug)]
pub struct Defined {
    /// What the name was bound to before.
    pub before: Option<Arc<Function>>,
    /// The definitions that call the name with another number of arguments
    /// than it takes now.
    pub stale: Vec<Arc<Function>>,
}

impl Instance {
    /// A context without bindings, whose code runs on a stack of `stack` bytes.
    ///
    /// # Errors
    /// When the system has no address space left.
    pub fn new(jit: &Arc<Jit>, stack: usize) -> std::io::Result<Self> {
        let memory = Arc::new(ExecutionMemory::new()?);
        jit.slots.join(&memory);
        Ok(Self {
            jit: jit.clone(),
            bindings: Arc::new(Bindings::new(memory.clone())),
            activity: jit.epochs.join(),
            execution: Execution::new(memory, stack),
            declared: FxHashMap::default(),
            run_nanoseconds: 0,
        })
    }

    /// The JIT of the engine.
    pub fn jit(&self) -> &Arc<Jit> {
        &self.jit
    }

    /// Sets how many function entries and loop rounds are left.
    pub fn set_fuel(&mut self, fuel: u64) {
        self.execution.set_fuel(i64::try_from(fuel).unwrap_or(i64::MAX));
    }

    /// How many function entries and loop rounds are left.
    pub fn fuel(&self) -> u64 {
        u64::try_from(self.execution.fuel()).unwrap_or(0)
    }

    /// What asks runs of this context to stop, from any thread.
    pub fn stopper(&self) -> Stopper {
        Stopper::new(self.bindings.memory())
    }

    /// Nanoseconds spent in compiled code, without waiting for compilers.
    pub fn run_nanoseconds(&self) -> u64 {
        self.run_nanoseconds
    }

    /// Binds a function's name to it. Nothing is compiled.
    pub fn define(&mut self, function: Arc<Function>) -> Defined {
        let jit = self.jit.clone();
        let definition = jit.define(function.clone());
        let before = self.bindings.bind(&jit.slots, Event::Define, definition);
        if before.is_none() {
            self.replace_intrinsic(function.name);
        }
        let stale = self.stale_callers(&function);
        Defined { before: before.map(|definition| definition.function().clone()), stale }
    }

    /// Binds a name to nothing; gives back what it was bound to.
    pub fn drop_binding(&mut self, name: Name) -> Option<Arc<Function>> {
        let definition = self.bindings.unbind(&self.jit.slots, name)?;
        Some(definition.function().clone())
    }

    /// The program says how many arguments a foreign function takes.
    pub fn declare(&mut self, name: Name, arity: u32) {
        if self.jit.hosts.foreign(name).is_some() {
            self.declared.insert(name, arity);
        }
    }

    /// How many arguments the program says that a foreign function takes.
    pub fn declared(&self, name: Name) -> Option<u32> {
        self.declared.get(&name).copied()
    }

    /// What a name is bound to, and how far its code is.
    pub fn binding(&self, name: Name) -> Option<(State, Arc<Function>)> {
        self.bindings.get(name).map(|(state, definition)| (state, definition.function().clone()))
    }

    /// All that is bound, in no particular order.
    pub fn all(&self) -> Vec<(State, Arc<Function>)> {
        let all = self.bindings.all();
        all.into_iter().map(|(state, definition)| (state, definition.function().clone())).collect()
    }

    /// How many names are bound.
    pub fn definitions(&self) -> usize {
        self.bindings.len()
    }

    /// How many bindings are in `state`.
    pub fn count(&self, state: State) -> usize {
        self.bindings.count(state)
    }

    /// Has the code of a function made ahead of its first call, without
    /// waiting for it. Does nothing if the name is not bound.
    ///
    /// # Errors
    /// When no worker can be started.
    pub fn prepare(&self, name: Name) -> Result<(), Failure> {
        let Some((_, definition)) = self.bindings.get(name) else { return Ok(()) };
        let target = Target { name, arity: definition.function().arity() };
        let Call::Wait(definition) = self.bindings.call(&self.jit.slots, target) else { return Ok(()) };
        let (jit, bindings) = (self.jit.clone(), self.bindings.clone());
        self.jit.later(move || {
            let body = definition.materialize(&jit).ok();
            bindings.finished(&jit.slots, &definition, body);
        })
    }

    /// Makes the code of every pending definition, on all workers, and waits.
    ///
    /// # Errors
    /// The first definition that cannot be compiled; all others are made.
    pub fn prepare_all(&self) -> Result<(), Failure> {
        let waiting = self.bindings.all();
        let waiting = || waiting.iter().filter(|(state, _)| *state != State::Materialized);
        for (_, definition) in waiting() {
            self.prepare(definition.function().name)?;
        }
        let mut result = Ok(());
        for (_, definition) in waiting() {
            result = result.and(self.materialize(definition).map(|_| ()));
        }
        result
    }

    /// The body of a definition, made if need be; the binding follows.
    fn materialize(&self, definition: &Arc<Definition>) -> Result<usize, Failure> {
        let body = self.jit.body(definition, &self.stopper());
        self.bindings.finished(&self.jit.slots, definition, body.as_ref().ok().copied());
        body
    }

    /// Compiles a top-level expression, runs it and removes its code.
    ///
    /// # Errors
    /// Why it could not be compiled or did not run to its end.
    pub fn run(&mut self, expression: &Arc<Function>, output: &mut dyn Output) -> Result<f64, Stopped> {
        let code = self.jit.expression(expression, &self.stopper())?;
        self.enter(|_| code.body, &[], output)
    }

    /// The slot for calls of a function from Rust.
    ///
    /// # Errors
    /// When there are too many functions.
    pub fn slot(&self, name: Name, arity: u32) -> Result<Slot, Failure> {
        self.jit.slots.slot(Target { name, arity })
    }

    /// Calls a function through its slot, as compiled code does. The number
    /// of arguments must be the one the slot is for.
    ///
    /// # Errors
    /// Why it did not run to its end.
    pub fn call(&mut self, slot: Slot, arguments: &[f64], output: &mut dyn Output) -> Result<f64, Stopped> {
        self.enter(|memory| memory.slot(slot), arguments, output)
    }

    /// The value of a variable.
    ///
    /// # Errors
    /// When there are too many variables.
    pub fn variable(&self, name: Name) -> Result<f64, Failure> {
        Ok(self.bindings.memory().variable(self.jit.slots.variable(name)?))
    }

    /// Sets the value of a variable.
    ///
    /// # Errors
    /// When there are too many variables.
    pub fn set_variable(&mut self, name: Name, value: f64) -> Result<(), Failure> {
        self.bindings.memory().set_variable(self.jit.slots.variable(name)?, value);
        Ok(())
    }

    #[allow(unsafe_code)]
    fn enter(
        &mut self,
        body: impl FnOnce(&ExecutionMemory) -> usize,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, Stopped> {
        let jit = self.jit.clone();
        let outermost = jit.epochs.begin(&self.activity);
        let body = body(self.bindings.memory());
        let start = Instant::now();
        let (bindings, declared) = (&self.bindings, &self.declared);
        let mut run = Run { jit: &jit, bindings, declared, output, failure: None, waited: 0 };
        // SAFETY: the body is that of an expression without parameters, which
        // its caller keeps, or what a slot for this number of arguments leads
        // to. Slots lead to trampolines of the JIT's pool, or to bodies of
        // that number of arguments, which the epoch begun above keeps.
        let result = unsafe { self.execution.call(body, arguments, &mut run) };
        let Run { failure, waited, .. } = run;
        self.run_nanoseconds += nanoseconds(start.elapsed()).saturating_sub(waited);
        if outermost {
            jit.epochs.end(&self.activity);
            jit.epochs.collect();
        }
        match result.map_err(|error| Failure::System(error.to_string()))? {
            Ok(value) => Ok(value),
            Err(left) => {
                let (caller, trace) = self.trace(left);
                let failure = failure.unwrap_or(Failure::Interrupted).called_by(caller);
                if outermost && matches!(failure, Failure::StackOverflow) {
                    self.execution.release_stack();
                }
                Err(Stopped { failure, trace })
            }
        }
    }

    /// Who was running where a run was left, and the calls in progress.
    fn trace(&self, left: Left) -> (Option<Arc<Function>>, Trace) {
        let mut finder = Finder::new(&self.jit.code);
        let innermost = (left.fault != 0 && !runtime::is_entry(left.fault)).then_some(left.fault);
        let mut trace = Trace::default();
        if let Some(fault) = innermost {
            let addresses = std::iter::once(fault).chain(self.execution.return_addresses(left.frame));
            addresses.for_each(|address| finder.find(address).iter().for_each(|owner| trace.push(owner)));
        }
        (innermost.and_then(|fault| finder.find(fault)), trace)
    }

    /// The definitions that call `function` with a number of arguments it does
    /// not take. Found by looking at all definitions, but only if there is
    /// code that makes such calls.
    fn stale_callers(&self, function: &Function) -> Vec<Arc<Function>> {
        let fits = |arity: &u32| *arity == function.arity();
        if self.jit.slots.arities(function.name).iter().all(fits) {
            return Vec::new();
        }
        let calls_it_wrongly = |caller: &Arc<Function>| {
            caller.callees.iter().any(|callee| callee.name == function.name && !fits(&callee.arity))
        };
        self.all().into_iter().map(|(_, caller)| caller).filter(calls_it_wrongly).collect()
    }

    /// When the program defines a name that code has used as an instruction,
    /// that code is made anew, with calls.
    fn replace_intrinsic(&mut self, name: Name) {
        let Some(intrinsic) = self.jit.hosts.get(name).and_then(|host| host.intrinsic) else { return };
        let uses_it = |function: &Arc<Function>| function.uses_intrinsic(intrinsic);
        for user in self.all().into_iter().map(|(_, function)| function).filter(uses_it) {
            let definition = self.jit.define(Arc::new(user.without_intrinsic(intrinsic, name)));
            self.bindings.bind(&self.jit.slots, Event::CalleeChanged, definition);
        }
    }
}

/// A run in progress: what it may ask for, and why it failed.
struct Run<'a> {
    jit: &'a Arc<Jit>,
    bindings: &'a Arc<Bindings>,
    declared: &'a FxHashMap<Name, u32>,
    output: &'a mut dyn Output,
    failure: Option<Failure>,
    waited: u64,
}

impl Run<'_> {
    fn stopper(&self) -> Stopper {
        Stopper::new(self.bindings.memory())
    }

    fn body_of(&mut self, trampoline: usize) -> Result<usize, Failure> {
        let Some((_, target)) = self.jit.slots.target(trampoline) else {
            return Err(Failure::System("a trampoline without a slot".into()));
        };
        match self.bindings.call(&self.jit.slots, target) {
            Call::Ready(body) => Ok(body),
            Call::Wait(definition) => {
                let body = self.jit.body(&definition, &self.stopper());
                self.bindings.finished(&self.jit.slots, &definition, body.as_ref().ok().copied());
                body
            }
            Call::Stale(definition) => Err(Failure::Stale {
                callee: definition.function().clone(),
                passed: target.arity,
                caller: None,
            }),
            Call::Undefined => self.host_body(target),
        }
    }

    fn host_body(&mut self, target: Target) -> Result<usize, Failure> {
        let Target { name, arity } = target;
        match self.jit.hosts.get(name) {
            Some(host) if host.arity == arity => {
                let body = self.jit.host_body(name, arity, &host.callable, &self.stopper())?;
                self.jit.slots.redirect(self.bindings.memory(), target, body);
                Ok(body)
            }
            Some(host) => {
                Err(Failure::HostArity { callee: name, wanted: host.arity, passed: arity, caller: None })
            }
            None => self.foreign_body(target),
        }
    }

    fn foreign_body(&mut self, target: Target) -> Result<usize, Failure> {
        let Target { name, arity } = target;
        let Some(foreign) = self.jit.hosts.foreign(name) else {
            return Err(Failure::Undefined { callee: name, passed: arity, caller: None });
        };
        match self.declared.get(&name) {
            Some(&declared) if declared == arity => {
                self.jit.slots.redirect(self.bindings.memory(), target, foreign.address);
                Ok(foreign.address)
            }
            Some(&wanted) => Err(Failure::HostArity { callee: name, wanted, passed: arity, caller: None }),
            None => Err(Failure::Undeclared { callee: name, passed: arity, caller: None }),
        }
    }

    fn closure(&mut self, name: Name, arguments: &[f64]) -> Result<f64, String> {
        let Some(Callable::Closure(closure)) = self.jit.hosts.get(name).map(|host| &host.callable) else {
            return Err("it is no closure".into());
        };
        let mut call = host::Call { arguments, output: &mut *self.output };
        // A panic must not cross compiled frames.
        match catch_unwind(AssertUnwindSafe(|| closure(&mut call))) {
            Ok(result) => result.map_err(|error| error.0),
            Err(panic) => Err(format!("it panicked: {}", message(&*panic))),
        }
    }
}

impl Surroundings for Run<'_> {
    fn first_call(&mut self, trampoline: usize) -> Option<usize> {
        let start = Instant::now();
        let body = self.body_of(trampoline);
        self.waited += nanoseconds(start.elapsed());
        body.map_err(|failure| self.failure = Some(failure)).ok()
    }

    fn host_call(&mut self, closure: u64, arguments: &[f64]) -> Option<f64> {
        let callee = Name::from_index(closure as usize)?;
        let result = self.closure(callee, arguments);
        result.map_err(|message| self.failure = Some(Failure::Host { callee, message })).ok()
    }

    fn stop(&mut self, stop: Stop) {
        self.failure = Some(match stop {
            Stop::Overflow => Failure::StackOverflow,
            Stop::Fuel => Failure::OutOfFuel,
            Stop::Requested(request) => request.into(),
        });
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".into())
}
