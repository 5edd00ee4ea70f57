//! The lazy JIT: definitions, bindings, and the machinery between them.
//!
//! A [`Jit`] belongs to an engine and is shared by its threads: the ORC
//! session, the compile workers, the dispatch slots. An [`JitContext`] belongs
//! to a context: which name is bound to which definition, and the memory and
//! stack its code runs on.
//!
//! A definition is registered with ORC and compiled when it is first called,
//! in one object with what it is certain to call.
//! The *stub* of a function is a dispatch slot. It leads to a
//! re-entry trampoline at first; a call through it has the definition
//! materialized by a worker, redirects the slot to the body and goes on there.
//! What happens to a name when it is defined, redefined or dropped in whatever
//! state is decided in [`state`], a pure module.

mod answer;
mod batch;
mod bindings;
mod certain;
mod code;
mod code_map;
mod osr;
mod definition;
mod epoch;
mod formula;
mod context;
mod request;
mod run;
mod slots;
pub mod state;
mod tier;
mod worker;

pub use bindings::{Observer, StateChange};
pub use context::{DefinitionHandle, InterpretedCalls, JitContext, NoInterpreter};
pub use formula::CompiledFormula;
pub use osr::OsrCode;
pub use tier::{Tier, TierUp};

use crate::abi::{self, Variables};
use crate::budget::MemoryBudget;
use crate::codegen::{self, Thunk};
use crate::failure::Failure;
use crate::host::{self, Callable, HostFunctions};
use crate::name::{Name, Names};
use crate::orc::{Address, Dylib, OrcError, Session, SessionOptions, Tracker, TrampolinePool};
use crate::runtime;
use crate::sema::checked::CheckedFunction;
use crate::stop::Stopper;
use answer::Answer;
use code::{LinkedBody, Object};
use code_map::CodeMap;
use definition::Definition;
use epoch::Epochs;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use slots::Slots;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use worker::{Announcement, Urgency, Workers};

/// A number that many threads add to.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// Its value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What an engine has done so far.
#[derive(Debug, Default)]
pub struct Counters {
    /// Functions whose IR was built; top-level expressions are not counted.
    pub ir_generated: Counter,
    /// Top-level expressions compiled.
    pub expressions: Counter,
    /// Object files linked, for whatever.
    pub objects_linked: Counter,
    /// Nanoseconds that workers spent on compiling and linking.
    pub compile_nanoseconds: Counter,
}

/// What a [`Jit`] is made with.
#[derive(Clone, Copy, Debug)]
pub struct JitOptions {
    /// How code is made.
    pub code: codegen::CompileOptions,
    /// When quick code is compiled again.
    pub tier_up: TierUp,
    /// How many threads may compile at once.
    pub workers: usize,
    /// How much stack each of them has, in bytes.
    pub stack: usize,
    /// Whether `perf` is told the names of functions.
    pub perf_map: bool,
    /// Whether debuggers are told of functions.
    pub debug_objects: bool,
    /// How many operations a function may have, and all functions of an object
    /// together that has more than one.
    pub most_operations: usize,
}

/// A form in which compiled functions can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Optimised LLVM IR.
    Ir,
    /// Assembly.
    Assembly,
}

/// The JIT of one engine.
pub struct Jit {
    names: Arc<Names>,
    hosts: Arc<HostFunctions>,
    options: JitOptions,
    counters: Arc<Counters>,
    generations: Mutex<FxHashMap<Name, u32>>,
    osr_count: AtomicU64,
    removed_symbols: AtomicU64,
    thunks: Mutex<FxHashMap<Name, usize>>,
    code: Arc<CodeMap>,
    workers: Workers,
    epochs: Epochs<LinkedBody>,
    budget: Arc<MemoryBudget>,
    slots: Slots,
    dylib: Dylib,
    session: Session,
}

/// After so many symbols have gone, their names are cleared away.
const SYMBOLS_PER_CLEARING: u64 = 2048;

impl Jit {
    /// A JIT whose programs may call `hosts`.
    ///
    /// # Errors
    /// When ORC cannot be set up in this process.
    pub fn new(
        names: Arc<Names>,
        hosts: Arc<HostFunctions>,
        variables: Arc<Variables>,
        budget: Arc<MemoryBudget>,
        options: JitOptions,
    ) -> Result<Arc<Self>, OrcError> {
        let session = Session::new(&SessionOptions {
            code_limit: budget.limit(),
            perf_map: options.perf_map,
            debug_objects: options.debug_objects,
        })?;
        let dylib = session.create_dylib("program")?;
        let refuse = Address::new(runtime::refuse() as u64);
        let enter =
            |trampoline: Address| Address::new(runtime::enter_trampoline(trampoline.get() as usize) as u64);
        let trampolines = TrampolinePool::new(enter, refuse)?;
        let jit = Arc::new(Self {
            names,
            hosts,
            options,
            counters: Arc::default(),
            generations: Mutex::default(),
            osr_count: AtomicU64::new(0),
            removed_symbols: AtomicU64::new(0),
            thunks: Mutex::default(),
            code: Arc::default(),
            workers: Workers::new(options.workers, options.stack),
            epochs: Epochs::new(),
            budget,
            slots: Slots::new(trampolines, variables),
            dylib,
            session,
        });
        let weak = Arc::downgrade(&jit);
        jit.dylib.add_generator(move |symbol| resolve(&weak, symbol));
        Ok(jit)
    }

    /// Has the room count the code of this compiler, the one that is used.
    pub fn register_code_size(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        self.budget.set_code_counter(move || weak.upgrade().map_or(0, |jit| jit.code_bytes()));
    }

    /// What has been done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes of memory that linked code takes at present.
    pub fn code_bytes(&self) -> u64 {
        self.session.code_bytes()
    }

    /// Why perf is not told the names of functions, if it should be.
    pub fn perf_map_failure(&self) -> Option<&str> {
        self.session.perf_map_failure()
    }

    /// Whether a function has more operations than are compiled.
    pub fn is_too_large(&self, function: &CheckedFunction) -> bool {
        function.nodes.len() > self.options.most_operations
    }

    /// Waits for the compile workers and ends them. Whoever owns the JIT does
    /// this before letting go of it: a job holds the JIT too, and a worker that
    /// held it last would still be at work in LLVM when the process exits.
    pub fn close(&self) {
        self.workers.close();
    }

    /// The definition that a function is; nothing is compiled.
    fn define(&self, function: Arc<CheckedFunction>) -> Arc<Definition> {
        let mut generations = self.generations.lock();
        let next = generations.entry(function.name).or_insert(0);
        let generation = *next;
        *next = next.wrapping_add(1);
        drop(generations);
        Definition::new(function, generation)
    }

    /// The address that calls of a host function go to: its own, or for a
    /// closure that of a thunk, which is compiled at the first use.
    fn host_body(
        self: &Arc<Self>,
        name: Name,
        arity: u32,
        callable: &Callable,
        stopper: &Stopper,
    ) -> Result<usize, Failure> {
        match callable {
            Callable::Native(function) => return Ok(function.address()),
            Callable::Closure(_) => {}
        }
        if let Some(body) = self.thunks.lock().get(&name) {
            return Ok(*body);
        }
        let jit = self.clone();
        self.wait_for(Some(stopper), move || jit.thunk(name, arity))?
    }

    fn thunk(&self, name: Name, arity: u32) -> Result<usize, Failure> {
        let symbol = format!("{}$host", self.names.text(name));
        let thunk = Thunk { closure: name.index() as u64, arity };
        let object = worker::with_compiler(|compiler| compiler.thunk(thunk, &symbol))
            .map_err(|error| Failure::System(error.to_string()))?;
        // Another worker may have made it meanwhile.
        let mut thunks = self.thunks.lock();
        if let Some(body) = thunks.get(&name) {
            return Ok(*body);
        }
        let body = self.link(&object, &symbol, None).map_err(Failure::System)?.keep();
        thunks.insert(name, body);
        Ok(body)
    }

    /// A tracker for code that is about to be linked, in the room that there is.
    fn tracker(&self) -> Tracker {
        self.session.set_code_limit(self.budget.left_for_code());
        self.dylib.create_tracker()
    }

    /// Links an object and finds `symbol` in it. Called on workers.
    fn link(
        &self,
        object: &[u8],
        symbol: &str,
        owner: Option<&Arc<CheckedFunction>>,
    ) -> Result<LinkedBody, String> {
        let tracker = self.tracker();
        let added = tracker.add_object(object);
        let linked = Object::new(tracker);
        added.map_err(|error| error.to_string())?;
        self.counters.objects_linked.add(1);
        let address = self.session.lookup(&self.dylib, symbol).map_err(|error| error.to_string())?;
        Ok(LinkedBody::new(&self.code, &linked, address.get() as usize, owner))
    }

    /// Has a worker do something, without waiting for it.
    fn later(self: &Arc<Self>, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
        let counters = self.counters.clone();
        let job = Box::new(move || {
            timed(&counters, work);
            Box::new(|| ()) as Announcement
        });
        self.workers.submit(Urgency::Later, job).map_err(|error| Failure::System(error.to_string()))
    }

    /// Has a worker do something and waits for it, or, with a stopper, for a
    /// request to stop; then the worker finishes for nobody.
    fn wait_for<T: Send + 'static>(
        &self,
        stopper: Option<&Stopper>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        self.ask(work)?.wait(&self.workers, stopper)
    }

    /// Has a worker do something; returns where the answer will be.
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Arc<Answer<T>>, Failure> {
        let counters = self.counters.clone();
        Answer::ask(&self.workers, move || timed(&counters, work))
    }

    /// What the compiler makes of functions, each under its symbol, as text.
    ///
    /// # Errors
    /// What the compiler said.
    pub fn listing(
        self: &Arc<Self>,
        listing: Listing,
        functions: Vec<(Arc<CheckedFunction>, String)>,
        stopper: &Stopper,
    ) -> Result<String, Failure> {
        let (names, options) = (self.names.clone(), self.options.code);
        let text = self.wait_for(Some(stopper), move || {
            let functions: Vec<(&CheckedFunction, String)> =
                functions.iter().map(|(function, symbol)| (&**function, symbol.clone())).collect();
            worker::with_compiler(|compiler| match listing {
                Listing::Ir => compiler.ir(&functions, &names, options),
                Listing::Assembly => compiler.assembly(&functions, &names, options),
            })
        })?;
        text.map_err(|error| Failure::System(error.to_string()))
    }

    /// Keeps the session's table of names from growing for ever.
    fn note_removed_symbol(&self) {
        let removed = self.removed_symbols.fetch_add(1, Ordering::Relaxed) + 1;
        if removed.is_multiple_of(SYMBOLS_PER_CLEARING) {
            self.session.clear_dead_symbols();
        }
    }
}

fn timed<T>(counters: &Counters, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = work();
    counters.compile_nanoseconds.add(nanoseconds(start.elapsed()));
    value
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What symbols that no object defines stand for.
fn resolve(jit: &Weak<Jit>, symbol: &str) -> Option<Address> {
    let jit = jit.upgrade()?;
    if let Some(offset) = abi::Symbol::parse(symbol) {
        return jit.slots.offset(offset, |name| jit.names.intern(name));
    }
    let address = runtime::support(symbol).or_else(|| host::support(symbol))?;
    Some(Address::new(address as u64))
}

/// Starts LLVM on another thread, so that it is ready when it is needed.
pub fn warm_up() {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| {
        let _ = std::thread::Builder::new().name("kal start".into()).spawn(codegen::initialize);
    });
}
