//! A program on tapes, with compiled code for what is hot.
//!
//! Everything starts on its tape. Where code is made for hot functions and
//! loops, each context gets its side of the compiler, an [`Instance`], when
//! something is hot for the first time: before that, LLVM is not started. From
//! then on both sides know every definition, work on the same memory, and call
//! each other: what is compiled is called as code, everything else on its tape.

use super::is_too_large;
use crate::codegen::Round;
use crate::config::Mode;
use crate::engine::Engine;
use crate::error::Error;
use crate::failure::{Defined, Failure, RunFailure};
use crate::host::Output;
use crate::interp::inspect::CallSite;
use crate::interp::{self, Interpreter, Natives, Progress, Spot};
use crate::jit::state::State;
use crate::jit::{self, Continuation, Instance, TierUp};
use crate::name::Name;
use crate::runtime::{Arguments, ExecutionMemory, Left, Slot};
use crate::sema::checked::CheckedFunction;
use crate::tape::Callee;
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;

/// The tapes of one context and what is compiled of them.
pub(crate) struct Tapes {
    pub(super) interpreter: Interpreter,
    native: Native,
}

/// The compiled code beside the tapes of one context.
struct Native {
    engine: Engine,
    memory: Arc<ExecutionMemory>,
    /// Nothing before it is needed; `None` if it cannot be had.
    instance: OnceCell<Option<Instance>>,
    /// Code for the rest of functions whose loops are hot, by the address of
    /// the function and the node of the loop; kept during a run.
    continuations: RefCell<FxHashMap<(usize, u32), Arc<Continuation>>>,
}

/// A function without a name: on its tape until it has been run often.
pub(crate) struct Formula {
    function: Arc<CheckedFunction>,
    runs: Cell<u32>,
    code: OnceCell<Option<jit::Formula>>,
}

/// A program's functions on tapes, lent to compiled code.
struct Lent<'a> {
    interpreter: &'a mut Interpreter,
    native: &'a Native,
}

impl Tapes {
    pub(super) fn new(engine: &Engine) -> Result<Self, Error> {
        let memory = ExecutionMemory::new().map_err(|error| Error::Setup(error.to_string()))?;
        let memory = Arc::new(memory);
        let interpreter = interpreter(engine, &memory);
        let native = Native {
            engine: engine.clone(),
            memory,
            instance: OnceCell::new(),
            continuations: RefCell::default(),
        };
        Ok(Self { interpreter, native })
    }

    /// The tapes beside compiled code that does all the work that is not to be
    /// looked at.
    pub(super) fn beside(engine: &Engine, instance: Instance) -> Self {
        let native = Native {
            engine: engine.clone(),
            memory: instance.memory().clone(),
            instance: OnceCell::from(Some(instance)),
            continuations: RefCell::default(),
        };
        let mut interpreter = interpreter(engine, &native.memory);
        for (_, function) in native.instance().into_iter().flat_map(Instance::all) {
            interpreter.define(&function);
        }
        Self { interpreter, native }
    }

    /// The compiled side where that does the work, but for what is looked at.
    pub(super) fn compiled_first(&self) -> Option<&Instance> {
        self.native.compiled_first()
    }

    /// Whether a function has more operations than are compiled.
    pub(super) fn is_too_large(&self, function: &CheckedFunction) -> bool {
        is_too_large(&self.native.engine, function)
    }

    /// Whether a function is to stay on its tape.
    fn stays(&self, name: Name) -> bool {
        let is_too_large = |(_, function): (bool, &Arc<CheckedFunction>)| self.is_too_large(function);
        self.interpreter.holds(name) || self.interpreter.binding(name).is_some_and(is_too_large)
    }

    /// Has functions run on their tapes that somebody wants to stop.
    pub(super) fn recall(&mut self) {
        self.interpreter.place_breaks();
        self.native.recall_held(&self.interpreter);
    }

    /// Has code made for a function, or for all, unless it is to stay on its
    /// tape.
    pub(super) fn prepare(&self, name: Option<Name>) -> Result<(), Failure> {
        let Some(instance) = self.compiler() else { return Ok(()) };
        self.in_background(match name {
            Some(name) if self.stays(name) => Ok(()),
            Some(name) => instance.prepare(name),
            None => instance.prepare_all(),
        })
    }

    /// The same for a function, soon, where code is made first.
    pub(super) fn prepare_soon(&self, name: Name) -> Result<(), Failure> {
        match self.native.compiled_first() {
            Some(instance) if !self.stays(name) => self.in_background(instance.prepare_soon(name)),
            Some(_) | None => Ok(()),
        }
    }

    /// Has workers start on what is to be prepared soon.
    pub(super) fn submit(&self) -> Result<(), Failure> {
        self.native.compiled_first().map_or(Ok(()), |instance| self.in_background(instance.submit()))
    }

    /// Workers may have started on functions that are to stay on their tapes.
    fn in_background(&self, started: Result<(), Failure>) -> Result<(), Failure> {
        self.native.recall_held(&self.interpreter);
        started
    }

    pub(super) fn memory(&self) -> &Arc<ExecutionMemory> {
        &self.native.memory
    }

    /// The compiled side, if there is one by now.
    pub(super) fn compiled(&self) -> Option<&Instance> {
        self.native.instance()
    }

    /// The compiled side, made now if code is made in this mode.
    pub(super) fn compiler(&self) -> Option<&Instance> {
        self.native.attach(&self.interpreter)
    }

    pub(super) fn define(&mut self, function: &Arc<CheckedFunction>) -> Defined {
        let defined = self.interpreter.define(function);
        if let Some(instance) = self.native.instance() {
            instance.define(self.interpreter.present(function));
        }
        defined
    }

    /// Binds a name to an earlier definition of it, with its code.
    pub(super) fn rebind(&mut self, bound: &jit::Bound) -> Defined {
        let defined = self.interpreter.define(bound.function());
        if let Some(instance) = self.native.instance() {
            instance.rebind(bound);
        }
        self.native.recall_held(&self.interpreter);
        defined
    }

    pub(super) fn drop_binding(&mut self, name: Name) {
        self.interpreter.drop_binding(name);
        if let Some(instance) = self.native.instance() {
            instance.drop_binding(name);
        }
    }

    /// What a name is bound to, and how far its code is: compiled code where
    /// that is made, else its tape.
    pub(super) fn binding(&self, name: Name) -> Option<(State, Arc<CheckedFunction>)> {
        let (has_tape, function) = self.interpreter.binding(name)?;
        Some((self.state(name, has_tape), function.clone()))
    }

    pub(super) fn all(&self) -> Vec<(State, Arc<CheckedFunction>)> {
        let all = self.interpreter.all();
        all.map(|(has_tape, function)| (self.state(function.name, has_tape), function.clone())).collect()
    }

    fn state(&self, name: Name, has_tape: bool) -> State {
        match self.native.instance() {
            Some(instance) => instance.binding(name).map_or(State::Pending, |(state, _)| state),
            None if has_tape && !self.native.is_tiered() => State::Materialized,
            None => State::Pending,
        }
    }

    pub(super) fn run(
        &mut self,
        expression: &Arc<CheckedFunction>,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        let result = match self.native.compiled_first() {
            Some(_) if !self.interpreter.wants(expression) && !self.is_too_large(expression) => {
                let run = |instance: &Instance, tapes: &mut Lent<'_>| instance.run(expression, output, tapes);
                let result = self.in_code("an expression", run);
                if let Err(stopped) = &result {
                    let mut natives = &self.native;
                    self.interpreter.show_code(stopped, &mut natives, output);
                }
                result
            }
            Some(_) | None => {
                let mut natives = &self.native;
                self.interpreter.run(expression, &mut natives, output)
            }
        };
        self.native.forget_continuations();
        result
    }

    /// Calls what a slot of compiled code leads to.
    pub(super) fn call_slot(
        &mut self,
        slot: Slot,
        arguments: Arguments<'_>,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        self.in_code("a handle", |instance, tapes| instance.call(slot, arguments, output, tapes))
    }

    /// Runs compiled code without a name.
    pub(super) fn run_compiled(
        &mut self,
        code: &jit::Formula,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        self.in_code("a formula", |instance, tapes| instance.run_formula(code, arguments, output, tapes))
    }

    /// Runs something of the compiled side, which is lent the tapes. It must be
    /// there, unless `what` is from somewhere else.
    fn in_code(
        &mut self,
        what: &str,
        run: impl FnOnce(&Instance, &mut Lent<'_>) -> Result<f64, RunFailure>,
    ) -> Result<f64, RunFailure> {
        let Some(instance) = self.native.instance() else {
            return Err(Failure::System(format!("{what} of another engine")).into());
        };
        self.interpreter.begin_outermost();
        run(instance, &mut Lent { interpreter: &mut self.interpreter, native: &self.native })
    }

    /// Shows the run that has failed last, if its frames are still there.
    pub(super) fn examine(&mut self, output: &mut dyn Output) -> bool {
        let mut natives = &self.native;
        self.interpreter.examine(&mut natives, output)
    }

    pub(super) fn call(
        &mut self,
        name: Name,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        let mut natives = &self.native;
        let result = self.interpreter.call(name, arguments, &mut natives, output);
        self.native.forget_continuations();
        result
    }

    pub(super) fn run_formula(
        &mut self,
        formula: &Formula,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        let result = match formula.code(&self.native, &self.interpreter)? {
            Some(code) if self.native.instance().is_some() => self.run_compiled(code, arguments, output),
            Some(_) | None => {
                let mut natives = &self.native;
                self.interpreter.run_formula(&formula.function, arguments, &mut natives, output)
            }
        };
        self.native.forget_continuations();
        result
    }
}

fn interpreter(engine: &Engine, memory: &Arc<ExecutionMemory>) -> Interpreter {
    let limits = engine.config().limits;
    let options = interp::Options {
        stack: limits.stack,
        counts_fuel: limits.fuel.is_some(),
        hot_after: hot_after(engine),
    };
    let (names, hosts, variables) = (engine.names(), engine.hosts(), engine.variables());
    Interpreter::new(names, hosts, variables, memory.clone(), engine.room(), options)
}

/// After how many calls or rounds compiled code is made; never if `None`.
fn hot_after(engine: &Engine) -> Option<u32> {
    match (engine.mode(), engine.config().tier_up) {
        (Mode::Tiered, TierUp::After(calls)) => Some(calls),
        (Mode::Lazy | Mode::Eager | Mode::Interpret, _) | (Mode::Tiered, TierUp::Never) => None,
    }
}

impl Formula {
    pub(super) fn new(function: Arc<CheckedFunction>) -> Self {
        Self { function, runs: Cell::new(0), code: OnceCell::new() }
    }

    /// Returns its compiled code, once it has been run often.
    ///
    /// # Errors
    /// A request to stop that came while it was compiled, which is the run's.
    fn code(&self, native: &Native, interpreter: &Interpreter) -> Result<Option<&jit::Formula>, Failure> {
        self.runs.set(self.runs.get().saturating_add(1));
        if hot_after(&native.engine).is_none_or(|runs| self.runs.get() <= runs) {
            return Ok(None);
        }
        if let Some(known) = self.code.get() {
            return Ok(known.as_ref());
        }
        let compiled = native.attach(interpreter).map(|instance| instance.formula(&self.function));
        let code = match compiled.transpose() {
            Err(stop @ (Failure::Interrupted | Failure::DeadlineExceeded)) => return Err(stop),
            // What cannot be compiled stays on its tape.
            made => made.ok().flatten(),
        };
        Ok(self.code.get_or_init(|| code).as_ref())
    }
}

impl Native {
    fn compiled_first(&self) -> Option<&Instance> {
        self.instance().filter(|_| self.is_compiled_first())
    }

    /// Whether functions are compiled when they are first called, so that only
    /// those run on tapes that are looked at.
    fn is_compiled_first(&self) -> bool {
        match self.engine.mode() {
            Mode::Lazy | Mode::Eager => true,
            Mode::Interpret | Mode::Tiered => false,
        }
    }

    /// Has code call functions through the bindings that are to run on tapes.
    fn recall_held(&self, interpreter: &Interpreter) {
        if let Some(instance) = self.instance() {
            interpreter.held().into_iter().for_each(|name| instance.recall(name));
        }
    }

    fn is_tiered(&self) -> bool {
        self.engine.mode() == Mode::Tiered
    }

    fn waits(&self) -> bool {
        self.engine.config().waits_for_code
    }

    fn instance(&self) -> Option<&Instance> {
        self.instance.get().and_then(Option::as_ref)
    }

    /// Makes the compiled side, which then knows what the interpreter knows.
    fn attach(&self, interpreter: &Interpreter) -> Option<&Instance> {
        let make = || {
            let jit = self.is_tiered().then(|| self.engine.jit().ok())??;
            let stack = self.engine.config().limits.stack;
            let instance = Instance::new(jit, self.memory.clone(), stack);
            for (_, function) in interpreter.all() {
                instance.define(interpreter.present(function));
            }
            Some(instance)
        };
        self.instance.get_or_init(make).as_ref()
    }

    /// The continuations of a run that has ended.
    fn forget_continuations(&self) {
        let mut continuations = self.continuations.borrow_mut();
        if !continuations.is_empty() {
            continuations.clear();
        }
    }

    fn continuation(&self, spot: &Spot) -> Option<Arc<Continuation>> {
        let node = spot.counted.as_ref()?.node;
        self.continuations.borrow().get(&(Arc::as_ptr(&spot.function) as usize, node)).cloned()
    }

    /// Has code made for a spot.
    fn make(&self, interpreter: &Interpreter, spot: &Spot) -> Option<()> {
        let instance = self.attach(interpreter)?;
        let ran = |name: Name| interpreter.has_called(name) && !interpreter.holds(name);
        let Some(counted) = &spot.counted else {
            return instance.heat(spot.function.name, self.waits(), &ran).ok();
        };
        if self.continuation(spot).is_some() {
            return Some(());
        }
        let round = Round { node: counted.node, values: counted.values.len() as u32 };
        let function = interpreter.present(&spot.function);
        let made = instance.continuation(&function, round, self.waits(), &ran).ok()?;
        let key = (Arc::as_ptr(&spot.function) as usize, counted.node);
        self.continuations.borrow_mut().insert(key, made);
        Some(())
    }
}

impl Natives for &Native {
    fn takes(&mut self, callee: Callee) -> bool {
        let goes = |instance: &Instance| {
            instance.has_code(callee.name, callee.arity)
                || (self.is_compiled_first() && instance.is_bound(callee.name, callee.arity))
        };
        self.instance().is_some_and(goes)
    }

    fn callers(&mut self, site: CallSite) -> Vec<Arc<CheckedFunction>> {
        self.instance().map_or_else(Vec::new, |instance| instance.callers(site.address, site.frame))
    }

    fn define(&mut self, function: &Arc<CheckedFunction>) {
        if let Some(instance) = self.instance() {
            instance.define(function.clone());
        }
    }

    fn recall(&mut self, name: Name) {
        if let Some(instance) = self.instance() {
            instance.recall(name);
        }
    }

    fn call(
        &mut self,
        interpreter: &mut Interpreter,
        callee: Callee,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        let missing = Failure::Undefined { callee: callee.name, passed: callee.arity, caller: None };
        let instance = self.instance().ok_or(missing)?;
        let slot = instance.slot(callee.name, callee.arity)?;
        let mut room = [0.0; 8];
        let arguments = Arguments::new(arguments, &mut room);
        instance.call(slot, arguments, output, &mut Lent { interpreter, native: self })
    }

    fn heat(&mut self, interpreter: &Interpreter, spot: &Spot) -> Progress {
        match self.make(interpreter, spot) {
            Some(()) => self.progress(spot),
            None => Progress::Never,
        }
    }

    fn progress(&mut self, spot: &Spot) -> Progress {
        if spot.counted.is_some() {
            return match self.continuation(spot) {
                Some(made) if made.is_ready() => Progress::Ready,
                Some(made) if !made.has_failed() => Progress::Busy,
                Some(_) | None => Progress::Never,
            };
        }
        match self.instance().and_then(|instance| instance.binding(spot.function.name)) {
            Some((State::Materialized, _)) => Progress::Ready,
            Some((State::Materializing, _)) => Progress::Busy,
            Some((State::NotDefined | State::Pending | State::Inlined, _)) | None => Progress::Never,
        }
    }

    fn go_on(
        &mut self,
        interpreter: &mut Interpreter,
        spot: &Spot,
        arguments: &[f64],
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        let (Some(instance), Some(continuation)) = (self.instance(), self.continuation(spot)) else {
            return Err(Failure::System("the code is not there".into()).into());
        };
        instance.go_on(&continuation, arguments, output, &mut Lent { interpreter, native: self })
    }
}

impl jit::Tapes for Lent<'_> {
    fn takes(&mut self, name: Name, is_compiled: bool) -> bool {
        let is_too_large = || {
            let bound = self.interpreter.binding(name);
            bound.is_some_and(|(_, function)| is_too_large(&self.native.engine, function))
        };
        self.interpreter.holds(name) || !(is_compiled || self.native.is_compiled_first()) || is_too_large()
    }

    fn call(
        &mut self,
        name: Name,
        arguments: &[f64],
        from: Left,
        output: &mut dyn Output,
    ) -> Result<f64, RunFailure> {
        let mut natives = self.native;
        let site = CallSite { address: from.fault, frame: from.frame };
        self.interpreter.call_from(site, name, arguments, &mut natives, output)
    }
}
