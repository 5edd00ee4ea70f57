//! The lazy JIT: definitions, bindings, and the machinery between them.
//!
//! A [`Jit`] belongs to an engine and is shared by its threads: the ORC
//! session, the compile workers, the dispatch slots. A [`JitContext`] belongs
//! to a context: which name is bound to which definition, and the memory and
//! stack its code runs on.
//!
//! A definition is registered with ORC and compiled at its first call, in one
//! object with what it is certain to call. The *stub* of a function is a
//! dispatch slot. It first holds a re-entry trampoline; a call through it makes
//! a worker materialize the definition, redirects the slot to the body and
//! continues there. What happens to a name that is defined, redefined or
//! dropped, in each state, is decided in [`state`], a pure module.
//!
//! A top-level expression runs once, so it shares its code with later ones that
//! differ from it only in their numbers.

mod answer;
mod batch;
mod bindings;
mod block;
mod block_layout;
mod body_request;
mod certain;
mod code;
mod code_map;
mod code_table;
mod columns;
mod osr;
mod place;
mod definition;
mod shapes;
mod shared;
mod epoch;
mod forks;
mod formula;
#[cfg_attr(not(feature = "compiler"), path = "jit/linker/absent.rs")]
mod linker;
mod links;
mod make;
mod context;
mod queued;
mod refusal;
mod reporter;
mod request;
mod run;
mod slot_table;
mod slots;
mod symbols;
pub mod state;
mod tier;
mod waiters;
mod weak_table;
mod worker;

pub use bindings::{SharedBindings, WeakBindings};
#[cfg(feature = "executable")]
pub use code::ContextFreeCode;
pub use columns::{ColumnCode, ColumnKind};
pub use context::{DefinitionHandle, JitContext};
pub use formula::CompiledFormula;
pub use osr::OsrCode;
pub use slots::HeldSlot;
pub use tier::Defined;

use crate::abi::{self, Variables};
use crate::budget::MemoryBudget;
pub use crate::codegen::Listing;
use crate::codegen::{self, Entry};
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::host::{self, Callable, HostFunctions, discard};
use crate::name::{Name, Names};
use crate::pack::{CodeStore, StoreCounts};
use crate::process::{self, Activity};
use crate::runtime;
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use crate::status::CompileObserver;
use crate::stop::StopHandle;
use answer::Answer;
use body_request::BodyRequest;
use code::{CodeBlock, RetiredCode};
use code_map::CodeMap;
use code_table::CodeTable;
use definition::Definition;
use epoch::Epochs;
use forks::WatchedProcess;
use kal_code::{Address, CodeError, PlacedCode, Slab, SlabOptions, TrampolinePool};
use linker::{LinkedObject, Linker};
use parking_lot::Mutex;
use refusal::LinkError;
use rustc_hash::FxHashMap;
use shapes::Shapes;
use shared::SharedDefinitions;
use slots::Slots;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use symbols::Symbols;
use tier::{CompilePlan, Tier, TierUp};
use weak_table::WeakTable;
use worker::{Announcement, Urgency, Workers};

/// A counter that many threads add to.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// Returns the current count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Totals of an engine since its start.
#[derive(Debug, Default)]
pub struct Counters {
    /// Functions compiled, each time; top-level expressions are not counted.
    pub ir_generated: Counter,
    /// Top-level expressions compiled.
    pub expressions: Counter,
    /// Object files linked, of any kind; what the baseline compiler makes at once counts as
    /// one.
    pub objects_linked: Counter,
    /// Nanoseconds that workers spent on compiling and linking.
    pub compile_nanoseconds: Counter,
}

/// The options of a [`Jit`].
#[derive(Clone)]
pub struct JitOptions {
    /// How code is generated.
    pub code: codegen::CompileOptions,
    /// When baseline code of definitions is recompiled at the optimising tier.
    pub tier_up: TierUp,
    /// When hot loops of top-level expressions leave baseline code.
    pub expression_tier_up: TierUp,
    /// Whether hot loops wait for their OSR code.
    pub waits_for_code: bool,
    /// The number of compile workers that may run at once; as many as there are processors if
    /// `None`.
    pub workers: Option<usize>,
    /// In how many parts all of a program is compiled, at least; as many as there are workers if
    /// `None`.
    pub shards: Option<usize>,
    /// Whether only functions are prepared that gain from the features of the processor.
    pub only_clones: bool,
    /// The stack of each worker, in bytes.
    pub stack: usize,
    /// Whether function names are written for `perf`.
    pub perf_map: bool,
    /// Whether functions are registered with debuggers.
    pub debug_objects: bool,
    /// What is told of functions that are compiled.
    pub compile_observer: Option<CompileObserver>,
    /// The largest number of nodes in a function, and in all functions of an
    /// object that holds more than one.
    pub most_operations: usize,
}

/// The JIT of one engine.
pub struct Jit {
    names: Arc<Names>,
    hosts: Arc<HostFunctions>,
    options: JitOptions,
    counters: Arc<Counters>,
    shared: Mutex<SharedDefinitions>,
    shapes: Shapes,
    bodies: CodeTable,
    /// Code of layers, by what it assumes.
    blocks: Mutex<WeakTable<Fingerprint, CodeBlock>>,
    store: Arc<CodeStore>,
    symbols: Symbols,
    removed_symbols: AtomicU64,
    thunks: Mutex<FxHashMap<Name, PlacedCode>>,
    code: Arc<CodeMap>,
    workers: Workers,
    epochs: Epochs<RetiredCode>,
    budget: Arc<MemoryBudget>,
    slots: Slots,
    linker: Linker,
    slab: Slab,
}

/// Dead symbol names are cleared after this many symbols have been removed.
const SYMBOLS_PER_CLEARING: u64 = 2048;

impl Jit {
    /// Creates a JIT whose programs may call `hosts`, and whose code is found in
    /// `store` and kept there.
    ///
    /// # Errors
    /// If there is no memory for code.
    pub fn new(
        names: Arc<Names>,
        hosts: Arc<HostFunctions>,
        variables: Arc<Variables>,
        budget: Arc<MemoryBudget>,
        store: Arc<CodeStore>,
        options: JitOptions,
    ) -> Result<Arc<Self>, CodeError> {
        let memory = SlabOptions { limit: budget.limit(), perf_map: options.perf_map, host: &WatchedProcess };
        let slab = Slab::new(&memory)?;
        let debug_objects = options.debug_objects;
        let refuse = Address::new(runtime::refuse() as u64);
        let enter =
            |trampoline: Address| Address::new(runtime::enter_trampoline(trampoline.get() as usize) as u64);
        let trampolines = TrampolinePool::new(enter, refuse)?;
        let workers = Workers::new(options.workers, options.stack, options.code);
        Ok(Arc::new_cyclic(|jit| Self {
            slots: Slots::new(names.clone(), trampolines, variables),
            names,
            hosts,
            options,
            counters: Arc::default(),
            symbols: Symbols::default(),
            shared: Mutex::default(),
            shapes: Shapes::default(),
            bodies: CodeTable::default(),
            blocks: Mutex::default(),
            store,
            removed_symbols: AtomicU64::new(0),
            thunks: Mutex::default(),
            code: Arc::default(),
            workers,
            epochs: Epochs::new(),
            budget,
            linker: Linker::new(jit, &slab, debug_objects),
            slab,
        }))
    }

    /// Registers this JIT's code size with the engine's memory budget.
    pub fn register_code_size(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        self.budget.set_code_counter(move || weak.upgrade().map_or(0, |jit| jit.code_bytes()));
    }

    /// Returns the number of slots, of pieces of code that wait to be freed, and of
    /// compiles that wait for a worker.
    pub fn usage(&self) -> (usize, usize, usize) {
        (self.slots.count(), self.epochs.waiting(), self.workers.queued())
    }

    /// Returns the totals since the engine started.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns how often code of earlier runs was looked for.
    pub fn stored(&self) -> StoreCounts {
        self.store.counts()
    }

    /// Returns the bytes of memory that linked code takes now.
    pub fn code_bytes(&self) -> u64 {
        self.slab.bytes()
    }

    /// Returns why no names are written for `perf`; `None` if they are, or need
    /// not be.
    pub fn perf_map_failure(&self) -> Option<&str> {
        self.slab.perf_map_failure()
    }

    /// Returns whether a function has too many nodes to be compiled.
    pub fn is_too_large(&self, function: &CheckedFunction) -> bool {
        function.nodes.len() > self.options.most_operations
    }

    /// Waits for the compile workers and ends them. The owner of the JIT calls
    /// this before dropping it: a job holds the JIT too, and a worker that held
    /// it last would still run LLVM code while the process exits.
    pub fn close(&self) {
        self.workers.close();
    }

    /// Waits until nothing is being compiled in the background.
    pub fn finish(&self) {
        self.workers.finish();
    }

    /// Returns the definition of a function that contexts share: the one that
    /// was created for the same value before, if a context or a handle still
    /// has it. Compiles nothing.
    fn define(&self, function: Arc<CheckedFunction>) -> Arc<Definition> {
        // No fork comes in between: contexts of other threads need these locks.
        process::within(Activity::Steady, || {
            let mut shared = self.shared.lock();
            shared.find(&function).unwrap_or_else(|| {
                let definition = self.define_anew(function);
                shared.add(&definition);
                definition
            })
        })
    }

    /// Creates a definition of a function that shares no code with others.
    /// Compiles nothing.
    fn define_anew(&self, function: Arc<CheckedFunction>) -> Arc<Definition> {
        Definition::new(function)
    }

    /// Returns the address that calls of a host function go to: its own or, for
    /// a closure, that of a thunk.
    fn host_body(&self, name: Name, arity: u32, callable: &Callable) -> Result<usize, Failure> {
        match callable {
            Callable::Native(function) => return Ok(function.address()),
            Callable::Closure(_) => {}
        }
        process::within(Activity::Steady, || self.thunk(name, arity))
    }

    /// Returns the address of the thunk for a closure, which is placed on first use.
    fn thunk(&self, name: Name, arity: u32) -> Result<usize, Failure> {
        let mut thunks = self.thunks.lock();
        if let Some(thunk) = thunks.get(&name) {
            return Ok(thunk.address().get() as usize);
        }
        self.slab.set_limit(self.budget.left_for_code());
        let code = runtime::thunk(name.index() as u32, arity);
        let placed = self.slab.place(code.len(), 1, |_, memory| {
            memory.copy_from_slice(&code);
            true
        });
        let placed = placed.map_err(|error| Failure::System(error.to_string()))?;
        let placed = placed.ok_or_else(|| Failure::internal("a thunk was not written"))?;
        placed.name(0, code.len() as u64, &format!("{}$host", self.names.text(name)));
        Ok(thunks.entry(name).or_insert(placed).address().get() as usize)
    }

    /// Limits code to what the memory budget has left, of which it may be given back
    /// some.
    fn make_room(&self) {
        if !self.budget.fits(self.budget.limit() / 2) {
            self.shapes.clear();
        }
        self.slab.set_limit(self.budget.left_for_code());
    }

    /// Adds an object to be linked.
    ///
    /// # Errors
    /// Why it cannot be linked.
    fn add_object(&self, object: &[u8]) -> Result<LinkedObject, LinkError> {
        self.make_room();
        self.linker.add(object)
    }

    /// Queues work for a worker and returns at once.
    fn later(
        self: &Arc<Self>,
        urgency: Urgency,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), Failure> {
        let counters = self.counters.clone();
        let job = Box::new(move || {
            timed(&counters, work);
            Box::new(|| ()) as Announcement
        });
        self.workers.submit(urgency, job).map_err(|error| Failure::System(error.to_string()))
    }

    /// Runs work on a worker and waits for it, or for a request to stop if
    /// there is a `stopper`; the worker then finishes unobserved.
    fn wait_for<T: Send + 'static>(
        &self,
        stopper: Option<&StopHandle>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        self.ask(work)?.wait(&self.workers, stopper)
    }

    /// Returns whether a function is an expression.
    fn is_expression(&self, function: &CheckedFunction) -> bool {
        self.names.text(function.name) == EXPRESSION
    }

    /// Returns when the first code of a function is compiled again.
    fn tier_up(&self, function: &CheckedFunction) -> TierUp {
        if self.is_expression(function) { self.options.expression_tier_up } else { self.options.tier_up }
    }

    /// Returns the tier of the first code of a function.
    fn first_tier(&self, function: &CheckedFunction) -> Tier {
        self.tier_up(function).first(self.options.code.level)
    }

    /// Returns whether the first code of a function is made by the baseline compiler.
    fn begins_with_baseline(&self, function: &CheckedFunction) -> bool {
        self.is_baseline(self.first_tier(function))
    }

    /// Returns whether code of a tier is made by the baseline compiler. A debugger wants objects,
    /// which only LLVM makes, where it is.
    fn is_baseline(&self, tier: Tier) -> bool {
        tier == Tier::Quick && !(self.options.debug_objects && codegen::HAS_COMPILER)
    }

    /// Does work of the compiler on this thread, which may be in a call by a program: it
    /// must need little stack.
    ///
    /// # Errors
    /// A panic.
    fn here<T>(&self, work: impl FnOnce() -> T) -> Result<T, Failure> {
        let work = || catch_unwind(AssertUnwindSafe(|| timed(&self.counters, work)));
        process::within(Activity::Steady, work).map_err(|panic| {
            discard(panic);
            Failure::internal("the baseline compiler panicked")
        })
    }

    /// Queues work for a worker; returns the place where its result will
    /// appear.
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Arc<Answer<T>>, Failure> {
        let counters = self.counters.clone();
        Answer::ask(&self.workers, move || timed(&counters, work))
    }

    /// Returns what functions are compiled to at the optimising tier, each under a symbol, in a
    /// program that has these definitions only.
    ///
    /// # Errors
    /// Why there is no code, or the request to stop that came first.
    pub fn listing(
        self: &Arc<Self>,
        listing: Listing,
        functions: Vec<(Arc<CheckedFunction>, String)>,
        defined: Defined<'_>,
        stopper: &StopHandle,
    ) -> Result<Vec<u8>, Failure> {
        let plan = |function| self.plan_alone(Tier::Full, function, defined);
        let plans: Vec<CompilePlan> = functions.iter().map(|(function, _)| plan(function)).collect();
        let jit = self.clone();
        self.wait_for(Some(stopper), move || {
            let bodies = functions.iter().zip(&plans).map(|((function, symbol), plan)| {
                let request = BodyRequest { function, plan, entry: Entry::Call };
                (request, symbol.as_str())
            });
            make::list(&jit, listing, &bodies.collect::<Vec<_>>())
        })?
    }

    /// Clears dead names from the session's string pool now and then, so that
    /// it does not grow without bound.
    fn note_removed_symbol(&self) {
        let removed = self.removed_symbols.fetch_add(1, Ordering::Relaxed) + 1;
        if removed.is_multiple_of(SYMBOLS_PER_CLEARING) {
            self.linker.clear_dead_symbols();
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

/// Returns the offset that a symbol stands for in the object that is being
/// linked: of a slot, a counter of calls or a variable.
fn offset(jit: &Weak<Jit>, symbol: &str) -> Option<Address> {
    let symbol = abi::Symbol::parse(symbol)?;
    let jit = jit.upgrade()?;
    jit.slots.offset(symbol, |name| jit.names.get(name))
}

/// Resolves the symbols of routines of the runtime and of the host.
fn resolve(symbol: &str) -> Option<Address> {
    let address = runtime::support(symbol).or_else(|| host::support(symbol))?;
    Some(Address::new(address as u64))
}

/// Starts LLVM on another thread, to be ready when it is first needed.
pub fn warm_up() {
    static IS_STARTED: AtomicBool = AtomicBool::new(false);
    if !IS_STARTED.swap(true, Ordering::Relaxed) {
        let _ = process::spawn(std::thread::Builder::new().name("kal start".into()), codegen::initialize);
    }
}
