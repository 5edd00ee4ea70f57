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

mod code;
mod execute;
mod links;

use crate::failure::{Defined, Failure};
use crate::host::{Call, Callable, HostFunctions, Intrinsic, Output};
use crate::name::{Name, Names};
use crate::sema::checked::Function;
use crate::tape::op::Op;
use crate::tape::{self, Callee, Tape};
use code::{Code, Entry, LEAVE};
use execute::{Pause, Program, State, execute, link, unlink};
use links::Links;
use rustc_hash::FxHashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// How many slots the stack has at first.
const FIRST_STACK: usize = 1 << 12;

/// Bytes of stack for each slot.
const SLOT: usize = 8;

/// The bindings and variables of one context, and what runs them.
pub struct Interpreter {
    names: Arc<Names>,
    hosts: Arc<HostFunctions>,
    bindings: FxHashMap<Name, Binding>,
    code: Code,
    links: Links,
    variables: Vec<f64>,
    stack: Vec<f64>,
    max_stack: usize,
    stop: Arc<Stop>,
    expressions: u64,
    run_nanoseconds: u64,
}

/// What a name is bound to.
struct Binding {
    function: Arc<Function>,
    /// Where it has been linked.
    code: Option<u32>,
}

/// The word that ends a run from another thread.
#[derive(Debug, Default)]
pub struct Stop {
    requested: AtomicBool,
    limit: AtomicUsize,
}

impl Stop {
    /// Ends the run in progress at its next call or loop iteration, or else
    /// the next run.
    pub fn request(&self) {
        self.requested.store(true, Ordering::SeqCst);
        self.limit.store(0, Ordering::SeqCst);
    }

    /// Lets calls use so many slots. Fails if a stop has been requested.
    fn allow(&self, slots: usize) -> Result<(), Failure> {
        self.limit.store(slots, Ordering::SeqCst);
        if self.requested.swap(false, Ordering::SeqCst) {
            return Err(Failure::Interrupted);
        }
        Ok(())
    }
}

impl Interpreter {
    /// An interpreter without bindings, whose stack may take `stack` bytes.
    pub fn new(names: &Arc<Names>, hosts: &Arc<HostFunctions>, stack: usize) -> Self {
        Self {
            names: names.clone(),
            hosts: hosts.clone(),
            bindings: FxHashMap::default(),
            code: Code::new(),
            links: Links::default(),
            variables: Vec::new(),
            stack: vec![0.0; FIRST_STACK],
            max_stack: (stack / SLOT).clamp(FIRST_STACK, u32::MAX as usize),
            stop: Arc::default(),
            expressions: 0,
            run_nanoseconds: 0,
        }
    }

    /// What ends a run from another thread.
    pub fn stop(&self) -> &Arc<Stop> {
        &self.stop
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
    pub fn define(&mut self, function: &Arc<Function>) -> Defined {
        let name = function.name;
        let binding = Binding { function: function.clone(), code: None };
        let before = self.bindings.insert(name, binding);
        match &before {
            Some(Binding { code, .. }) => {
                code.iter().for_each(|code| self.code.remove(*code));
                self.links.reset(name);
            }
            None => self.meaning_changed(name),
        }
        let stale = self.stale_callers(function);
        Defined { before: before.map(|binding| binding.function), stale }
    }

    /// Binds a name to nothing; gives back what it was bound to.
    pub fn drop_binding(&mut self, name: Name) -> Option<Arc<Function>> {
        let Binding { function, code } = self.bindings.remove(&name)?;
        code.iter().for_each(|code| self.code.remove(*code));
        self.links.reset(name);
        self.meaning_changed(name);
        Some(function)
    }

    /// What a name is bound to, and whether it has been lowered.
    pub fn binding(&self, name: Name) -> Option<(bool, &Arc<Function>)> {
        self.bindings.get(&name).map(|binding| (binding.code.is_some(), &binding.function))
    }

    /// All that is bound, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = (bool, &Arc<Function>)> {
        self.bindings.values().map(|binding| (binding.code.is_some(), &binding.function))
    }

    /// Runs a top-level expression.
    ///
    /// # Errors
    /// Why it did not run to its end.
    pub fn run(&mut self, expression: &Arc<Function>, output: &mut dyn Output) -> Result<f64, Failure> {
        let entry = self.link(expression)?;
        self.expressions += 1;
        let result = self.enter(entry, &[], output);
        self.code.remove(entry.code);
        result
    }

    /// Calls a function.
    ///
    /// # Errors
    /// Why it did not run to its end.
    pub fn call(&mut self, name: Name, arguments: &[f64], output: &mut dyn Output) -> Result<f64, Failure> {
        let callee = Callee { name, arity: arguments.len() as u32 };
        let number = self.links.callee(&mut self.code, callee)?;
        self.enter(self.links.entry(number), arguments, output)
    }

    /// The value of a variable.
    pub fn variable(&self, name: Name) -> f64 {
        let place = self.links.known_variable(name).and_then(|number| self.variables.get(number as usize));
        place.copied().unwrap_or(0.0)
    }

    /// Sets the value of a variable.
    ///
    /// # Errors
    /// When there are too many variables.
    pub fn set_variable(&mut self, name: Name, value: f64) -> Result<(), Failure> {
        let number = self.links.variable(name)?;
        self.variables.resize(self.links.variables(), 0.0);
        self.variables[number as usize] = value;
        Ok(())
    }

    // --- linking ------------------------------------------------------------

    fn link(&mut self, function: &Arc<Function>) -> Result<Entry, Failure> {
        let tape = self.tape(function)?;
        tape.validate().map_err(|fault| Failure::Compile {
            function: function.clone(),
            message: fault.to_string(),
        })?;
        let words = self.links.relocate(&tape, &mut self.code, &self.hosts)?;
        self.variables.resize(self.links.variables(), 0.0);
        let code = self.code.add(&words, function);
        Ok(Entry { code, link: tape.locals, frame: tape.frame })
    }

    /// The tape of a function, as long as no name changes between being bound
    /// and being the host's.
    fn tape(&self, function: &Arc<Function>) -> Result<Tape, Failure> {
        let mut plain = function.clone();
        for intrinsic in Intrinsic::ALL {
            let name = self.names.get(intrinsic.text()).filter(|name| self.bindings.contains_key(name));
            if let Some(name) = name.filter(|_| plain.uses_intrinsic(intrinsic)) {
                plain = Arc::new(plain.without_intrinsic(intrinsic, name));
            }
        }
        let is_host = |callee: Callee| {
            let host = self.hosts.get(callee.name);
            host.is_some_and(|host| host.arity == callee.arity) && !self.bindings.contains_key(&callee.name)
        };
        Tape::lower(&plain, &is_host).map_err(|tape::TooMany(what)| Failure::TooMany(what))
    }

    /// Links what a callee stands for.
    fn link_callee(&mut self, number: u32) -> Result<Entry, Failure> {
        let Callee { name, arity } = self.links.target(number);
        let Some(Binding { function, code: _ }) = self.bindings.get(&name) else {
            return Err(match self.hosts.get(name) {
                Some(host) if host.arity != arity => {
                    Failure::HostArity { callee: name, wanted: host.arity, passed: arity, caller: None }
                }
                Some(_) | None => Failure::Undefined { callee: name, passed: arity, caller: None },
            });
        };
        let function = function.clone();
        if function.arity() != arity {
            return Err(Failure::Stale { callee: function, passed: arity, caller: None });
        }
        let entry = self.link(&function)?;
        if let Some(binding) = self.bindings.get_mut(&name) {
            binding.code = Some(entry.code);
        }
        self.links.lead(number, entry);
        Ok(entry)
    }

    /// A name was bound that was not, or is not any more: code that calls it,
    /// or that uses an instruction for it, is lowered anew.
    fn meaning_changed(&mut self, name: Name) {
        let Some(host) = self.hosts.get(name) else { return };
        let uses = |function: &Function| {
            function.callees.iter().any(|callee| callee.name == name)
                || host.intrinsic.is_some_and(|intrinsic| function.uses_intrinsic(intrinsic))
        };
        for (user, binding) in &mut self.bindings {
            if binding.code.is_some() && uses(&binding.function) {
                binding.code.take().iter().for_each(|code| self.code.remove(*code));
                self.links.reset(*user);
            }
        }
    }

    /// The definitions that call `function` with a number of arguments it does
    /// not take, if there is code that makes such calls.
    fn stale_callers(&self, function: &Function) -> Vec<Arc<Function>> {
        let fits = |arity: u32| arity == function.arity();
        if self.links.arities(function.name).all(fits) {
            return Vec::new();
        }
        let calls_it_wrongly = |caller: &&Arc<Function>| {
            caller.callees.iter().any(|callee| callee.name == function.name && !fits(callee.arity))
        };
        self.all().map(|(_, caller)| caller).filter(calls_it_wrongly).cloned().collect()
    }

    // --- running ------------------------------------------------------------

    fn enter(&mut self, entry: Entry, arguments: &[f64], output: &mut dyn Output) -> Result<f64, Failure> {
        let start = Instant::now();
        let mut state = State { at: entry.code as usize, base: 0, accumulator: 0.0 };
        let result = self.begin(entry, arguments).and_then(|()| self.resume(&mut state, output));
        self.run_nanoseconds += u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        result
    }

    /// Makes the outermost frame.
    fn begin(&mut self, entry: Entry, arguments: &[f64]) -> Result<(), Failure> {
        self.reserve(entry.frame as usize)?;
        self.stack[..arguments.len()].copy_from_slice(arguments);
        self.stack[entry.link as usize] = link(LEAVE as usize, 0);
        Ok(())
    }

    /// Executes until the outermost frame returns.
    fn resume(&mut self, state: &mut State, output: &mut dyn Output) -> Result<f64, Failure> {
        loop {
            let program = Program {
                words: self.code.words(),
                callees: self.links.entries(),
                hosts: self.links.natives(),
                variables: &mut self.variables,
                stack: &mut self.stack,
                limit: &self.stop.limit,
            };
            match execute(state, program) {
                Pause::Left => return Ok(state.accumulator),
                Pause::FirstCall => self.first_call(state)?,
                Pause::Limit(slots) => self.reserve(slots)?,
                Pause::Stop => self.reserve(0)?,
                Pause::Closure => self.closure(state, output)?,
            }
        }
    }

    /// Gives the stack at least so many slots.
    fn reserve(&mut self, slots: usize) -> Result<(), Failure> {
        if slots > self.max_stack {
            return Err(Failure::StackOverflow);
        }
        if slots > self.stack.len() {
            let size = slots.max(self.stack.len() * 2).min(self.max_stack);
            let more = size - self.stack.len();
            if self.stack.try_reserve_exact(more).is_err() {
                return Err(Failure::StackOverflow);
            }
            self.stack.resize(size, 0.0);
        }
        self.stop.allow(self.stack.len())
    }

    /// The frame of a call has begun whose callee has to be linked: goes on
    /// in the callee.
    fn first_call(&mut self, state: &mut State) -> Result<(), Failure> {
        let number = self.code.words()[state.at] >> 8;
        let stub = self.links.target(number);
        let saved = self.stack[state.base + stub.arity as usize];
        let (back, _) = unlink(saved);
        let entry = self.link_callee(number).map_err(|failure| {
            let caller = self.code.function(back.saturating_sub(1) as u32);
            failure.called_by(caller.cloned())
        })?;
        self.reserve(state.base + entry.frame as usize)?;
        self.stack[state.base + entry.link as usize] = saved;
        state.at = entry.code as usize;
        Ok(())
    }

    /// The next instruction calls a closure of the host.
    fn closure(&mut self, state: &mut State, output: &mut dyn Output) -> Result<(), Failure> {
        let words = self.code.words()[state.at..].iter().take(2).copied().collect::<Vec<_>>();
        let is_accumulator = Op::of(words[0]) == Some(Op::HostA);
        let number = if is_accumulator { words[0] >> 8 } else { words[1] };
        let Callee { name, arity } = self.links.host_target(number);
        let arguments = if is_accumulator {
            std::slice::from_ref(&state.accumulator)
        } else {
            let first = state.base + (words[0] >> 8) as usize;
            &self.stack[first..first + arity as usize]
        };
        let result = self.closure_result(name, arguments, output);
        state.accumulator = result.map_err(|message| Failure::Host { callee: name, message })?;
        state.at += if is_accumulator { Op::HostA.length() } else { Op::Host.length() };
        Ok(())
    }

    fn closure_result(
        &self,
        name: Name,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, String> {
        let Some(Callable::Closure(closure)) = self.hosts.get(name).map(|host| &host.callable) else {
            return Err("it is no closure".into());
        };
        let mut call = Call { arguments, output };
        match catch_unwind(AssertUnwindSafe(|| closure(&mut call))) {
            Ok(result) => result.map_err(|error| error.0),
            Err(panic) => Err(format!("it panicked: {}", message(&*panic))),
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".into())
}
