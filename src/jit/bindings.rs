//! The bindings of one context: the shell around the state machine.
//!
//! Everything that happens to a name arrives as an [`Event`], under one lock;
//! [`Bindings::apply`] carries out the [`BindingAction`]s. Workers that finish ahead of
//! a first call use the same path as the context's own thread.
//!
//! Contexts in which all names mean the same can share one table: what one of
//! them has compiled, the others find in place. A context in which a name gets
//! another meaning continues with a copy of its own, which is a clone of two
//! persistent maps.

mod layer_block;
mod layered;

use super::certain::{self, Resolution};
use super::code::{CompiledCode, RetiredCode};
use super::definition::Definition;
use super::epoch::RunEpoch;
use super::queued::Queued;
use super::reporter::{ChangeReporter, Observer};
use super::slots::{CallTarget, HeldOffsets};
use super::state::{BindingAction, Event, State, transition};
use super::tier::{Assumptions, Callees, CompilePlan, Tier};
use super::worker::locked_steadily;
use super::{Jit, JitOptions};
use crate::budget::ContextBudget;
use crate::host::{Callable, HostFunction};
use crate::name::{Name, NameMap};
use crate::runtime::{ExecutionMemory, Slot};
use crate::sema::checked::{Callee, CheckedFunction};
use crate::world::{Layer, Layers};
use layer_block::LayerBlock;
use rustc_hash::FxHashSet;
use std::mem;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// Names, what they are bound to, and the memory whose slots are kept up to
/// date.
pub(super) struct Bindings {
    memory: Arc<ExecutionMemory>,
    run_epoch: Arc<RunEpoch<RetiredCode>>,
    budget: Arc<ContextBudget>,
    /// Locked steadily: an exit waits for workers, which wait for it.
    table: Mutex<TableOwner>,
    reporter: ChangeReporter,
    queued: Queued,
}

/// Where the table of a context is.
enum TableOwner {
    Context(BindingTable),
    Shared(SharedBindings),
}

/// Bindings that several contexts use.
#[derive(Clone)]
pub struct SharedBindings(Arc<Mutex<BindingTable>>);

/// [`SharedBindings`] that belong to their contexts.
pub struct WeakBindings(Weak<Mutex<BindingTable>>);

impl SharedBindings {
    /// Returns a reference that does not keep the bindings.
    pub fn downgrade(&self) -> WeakBindings {
        WeakBindings(Arc::downgrade(&self.0))
    }
}

impl WeakBindings {
    /// Returns the bindings, if a context or another owner still has them.
    pub fn upgrade(&self) -> Option<SharedBindings> {
        self.0.upgrade().map(SharedBindings)
    }
}

#[derive(Default)]
struct BindingTable {
    bindings: NameMap<JitBinding>,
    /// Names that are not bound are bound to what they define when they are needed.
    layers: Layers,
    /// The code of layers.
    blocks: Vec<LayerBlock>,
    /// For each name, the functions whose code depends on its meaning: it was
    /// inlined there, is called by an inlined function, or is a builtin.
    dependents: NameMap<Arc<FxHashSet<Name>>>,
    /// The arity that the program has declared for each foreign function.
    declared: NameMap<u32>,
    /// Whether a debugger may stop in every function, so that nothing is inlined.
    is_inspected: bool,
    /// What other contexts need that use the table or adopt it; `None` if it
    /// belongs to one context.
    sharing: Option<Sharing>,
}

/// What the contexts need that share a table.
#[derive(Default)]
struct Sharing {
    /// Whether there is more than one, or going to be.
    are_several: bool,
    /// Code that other code has replaced: slots of a context may still lead to
    /// it.
    replaced: Vec<Arc<CompiledCode>>,
}

impl TableOwner {
    /// Calls `work` with the table.
    fn with<T>(&mut self, work: impl FnOnce(&mut BindingTable) -> T) -> T {
        match self {
            Self::Context(table) => work(table),
            Self::Shared(shared) => {
                let mut table = locked_steadily(&shared.0);
                let are_several = Arc::strong_count(&shared.0) > 1;
                table.sharing.iter_mut().for_each(|sharing| sharing.are_several = are_several);
                work(&mut table)
            }
        }
    }
}

impl BindingTable {
    /// Binds a name. Returns its earlier binding.
    fn bind(&mut self, name: Name, definition: Arc<Definition>) -> Option<JitBinding> {
        let binding = JitBinding {
            state: State::Pending,
            definition,
            installed: None,
            entry: None,
            requested_at: None,
        };
        self.bindings.insert(name, binding)
    }

    /// Binds a name to what a layer defines, if it is not bound.
    fn bind_from_layer(&mut self, name: Name) {
        if self.layers.is_empty() || self.bindings.contains(name) {
            return;
        }
        if let Some(function) = self.layers.function(name) {
            let definition = Definition::new(function.clone());
            self.bind(name, definition);
            self.bind_code(name);
        }
    }

    /// Returns what a name is bound to.
    fn get(&mut self, name: Name) -> Option<&JitBinding> {
        self.bind_from_layer(name);
        self.bindings.get(name)
    }

    /// Returns the function that a name is bound to, or would be.
    fn function(&self, name: Name) -> Option<&Arc<CheckedFunction>> {
        let bound = self.bindings.get(name).map(|binding| binding.definition.function());
        bound.or_else(|| self.layers.function(name))
    }

    /// Returns the number of nodes of that function.
    fn node_count(&self, name: Name) -> Option<usize> {
        let bound = self.bindings.get(name).map(|binding| binding.definition.function().nodes.len());
        bound.or_else(|| self.layers.node_count(name))
    }

    /// Returns whether a name is bound, or would be.
    fn is_bound(&self, name: Name) -> bool {
        self.bindings.contains(name) || self.layers.defines(name)
    }

    /// Returns a table of one context with the same bindings. Takes constant time.
    fn separated(&self) -> Self {
        Self {
            bindings: self.bindings.clone(),
            layers: self.layers.clone(),
            blocks: self.blocks.clone(),
            dependents: self.dependents.clone(),
            declared: self.declared.clone(),
            is_inspected: self.is_inspected,
            sharing: None,
        }
    }

    /// Keeps code that other code replaces, if other contexts may still call it.
    fn keep_replaced(&mut self, code: Option<Arc<CompiledCode>>) -> Option<Arc<CompiledCode>> {
        match self.sharing.as_mut().filter(|sharing| sharing.are_several) {
            Some(sharing) => {
                sharing.replaced.extend(code);
                None
            }
            None => code,
        }
    }

    /// Resolves a call.
    fn found(&mut self, jit: &Jit, callee: &Callee) -> Resolution {
        self.bind_from_layer(callee.name);
        match self.bindings.get(callee.name) {
            Some(JitBinding { state, definition, .. }) if definition.function().fits(callee.arity) => {
                Resolution::Definition(*state, definition.clone())
            }
            Some(_) => Resolution::Nothing,
            None if self.is_of_host(jit, callee) => Resolution::Host,
            None => Resolution::Nothing,
        }
    }

    /// Returns whether a call of a name that is not bound finds a function of the host,
    /// or one that is declared.
    fn is_of_host(&self, jit: &Jit, callee: &Callee) -> bool {
        jit.hosts.get(callee.name).is_some_and(|host| host.arity == callee.arity)
            || self.declared.get(callee.name) == Some(&callee.arity)
    }

    /// Returns whether the assumptions of code hold here: each inlined function
    /// is what its name is bound to, its own calls find a function of their
    /// arity, and what became a builtin is the host's.
    fn holds(&self, jit: &Jit, assumptions: &Assumptions) -> bool {
        let Assumptions { inlined, builtins } = assumptions;
        builtins.iter().all(|(name, _)| !self.is_bound(*name))
            && (inlined.is_empty() || !self.is_inspected)
            && inlined.iter().all(|function| {
                self.function(function.name).is_some_and(|bound| Arc::ptr_eq(bound, function))
                    && function.callees.iter().all(|callee| self.fits(jit, callee))
            })
    }

    /// Returns whether a call finds a function of its arity.
    fn fits(&self, jit: &Jit, callee: &Callee) -> bool {
        match self.function(callee.name) {
            Some(function) => function.fits(callee.arity),
            None => self.is_of_host(jit, callee),
        }
    }

    /// Returns whether a call finds a function of its arity that does not fail by
    /// itself, as a closure of the host may.
    fn succeeds(&self, jit: &Jit, callee: &Callee) -> bool {
        let host = jit.hosts.get(callee.name).filter(|_| !self.is_bound(callee.name));
        let may_fail = matches!(host, Some(HostFunction { callable: Callable::Closure(_), .. }));
        self.fits(jit, callee) && !may_fail
    }

    /// Records what the code of a function depends on.
    fn depends(&mut self, dependent: Name, assumptions: &Assumptions) {
        let Assumptions { inlined, builtins } = assumptions;
        let called = inlined.iter().flat_map(|function| &function.callees).map(|callee| callee.name);
        let names = inlined.iter().map(|function| function.name).chain(called);
        for name in names.chain(builtins.iter().map(|(name, _)| *name)) {
            if name != dependent {
                let known = self.dependents.entry(name);
                if !known.contains(&dependent) {
                    Arc::make_mut(known).insert(dependent);
                }
            }
        }
    }
}

/// What a name is bound to.
#[derive(Clone)]
struct JitBinding {
    state: State,
    definition: Arc<Definition>,
    /// The code that the slots of the name lead to.
    installed: Option<Arc<CompiledCode>>,
    /// The slot that was redirected to it, and its body. The slot may be for
    /// another function by now.
    entry: Option<(Slot, usize)>,
    /// When its code was first requested.
    requested_at: Option<Instant>,
}

impl JitBinding {
    /// Returns the calls that lead to the definition.
    fn call_target(&self) -> CallTarget {
        let function = self.definition.function();
        CallTarget { name: function.name, arity: function.arity() }
    }

    /// Returns the calls that lead to the code, and the code.
    fn target(&self) -> Option<(CallTarget, &Arc<CompiledCode>)> {
        self.installed.as_ref().map(|code| (self.call_target(), code))
    }
}

/// What comes with an event.
#[derive(Default)]
struct Incoming {
    definition: Option<Arc<Definition>>,
    code: Option<Arc<CompiledCode>>,
}

impl Incoming {
    fn definition(definition: Arc<Definition>) -> Self {
        Self { definition: Some(definition), code: None }
    }
}

/// What the actions of a transition have brought about. It is dropped without
/// the lock of the table: dropping code takes other locks.
#[derive(Default)]
struct Applied {
    /// What the name was bound to.
    old: Option<JitBinding>,
    /// The code that other code has replaced.
    replaced: Option<Arc<CompiledCode>>,
    /// From the first request for the code to the code.
    took: Option<Duration>,
    /// What a call does next.
    answer: Option<CallAction>,
}

/// What a call has to do next.
pub(super) enum CallAction {
    /// Compile the definition, or wait for the thread that does.
    Wait(Arc<Definition>),
    /// Continue at the body.
    Ready(usize),
    /// Nothing is defined.
    Undefined,
    /// The name is bound to a definition of another arity.
    Stale(Arc<Definition>),
}

impl Bindings {
    pub(super) fn new(
        memory: Arc<ExecutionMemory>,
        run_epoch: Arc<RunEpoch<RetiredCode>>,
        budget: Arc<ContextBudget>,
    ) -> Self {
        Self {
            memory,
            run_epoch,
            budget,
            table: Mutex::new(TableOwner::Context(BindingTable::default())),
            reporter: ChangeReporter::default(),
            queued: Queued::new(),
        }
    }

    /// Returns what is going to be compiled for these bindings.
    pub(super) fn queued(&self) -> &Queued {
        &self.queued
    }

    /// Returns the epoch of the context's run.
    pub(super) fn run_epoch(&self) -> &Arc<RunEpoch<RetiredCode>> {
        &self.run_epoch
    }

    /// Returns what the context has been given of the engine.
    pub(super) fn budget(&self) -> &Arc<ContextBudget> {
        &self.budget
    }

    pub(super) fn memory(&self) -> &Arc<ExecutionMemory> {
        &self.memory
    }

    /// Sets the observer of later changes; `None` removes it.
    pub(super) fn observe(&self, jit: &Jit, observer: Option<Observer>) {
        // What other contexts compile is not to be reported.
        self.own_table(jit, |_| ());
        self.reporter.set(observer);
    }

    /// Returns whether there is an observer.
    pub(super) fn is_observed(&self) -> bool {
        self.reporter.is_observed()
    }

    /// Queues a change for the observer. Called under the lock of the table.
    fn note(&self, name: Name, event: Event, states: (State, State), took: Option<Duration>) {
        self.reporter.note(name, event, states, took);
    }

    /// Reports queued changes to the observer. Called without that lock.
    fn report(&self) {
        self.reporter.report();
    }

    /// Calls `work` with the table, to look at it, or to record what is
    /// compiled: that is the same in all contexts that share the table.
    fn table<T>(&self, work: impl FnOnce(&mut BindingTable) -> T) -> T {
        locked_steadily(&self.table).with(work)
    }

    /// Calls `work` with the table, to change what a name means: in this
    /// context only.
    fn own_table<T>(&self, jit: &Jit, work: impl FnOnce(&mut BindingTable) -> T) -> T {
        let mut owner = locked_steadily(&self.table);
        let mut before = None;
        if let TableOwner::Shared(shared) = &*owner {
            let shared = locked_steadily(&shared.0);
            if shared.sharing.as_ref().is_some_and(|sharing| !sharing.replaced.is_empty()) {
                self.lead_all(jit, &shared);
            }
            let own = shared.separated();
            drop(shared);
            before = Some(mem::replace(&mut *owner, TableOwner::Context(own)));
        }
        let result = owner.with(work);
        drop(owner);
        // Dropping code takes other locks.
        drop(before);
        result
    }

    /// Makes the slots of all compiled functions lead to their code.
    fn lead_to_code(&self, jit: &Jit, table: &BindingTable) {
        let entry = |binding: &JitBinding| {
            let (slot, body) = binding.entry?;
            let numbers = binding.installed.as_ref().and_then(|code| code.numbers());
            Some((slot, binding.call_target(), body, numbers))
        };
        jit.slots.redirect_all(&self.memory, table.bindings.values().filter_map(entry));
        let installed = table.bindings.values().filter_map(|binding| binding.installed.as_ref());
        let replaced = table.sharing.iter().flat_map(|sharing| &sharing.replaced);
        // The bodies of one object have the same slots.
        let mut seen = FxHashSet::default();
        let held = installed.chain(replaced).filter_map(|code| code.held());
        let held = held.filter(|held| seen.insert(std::ptr::from_ref(*held)));
        jit.slots.fill_all(&self.memory, held.flat_map(HeldOffsets::slots));
    }

    /// Makes the slots of all names lead to what they are bound to now.
    fn lead_all(&self, jit: &Jit, table: &BindingTable) {
        table.bindings.names().for_each(|name| jit.slots.reset(&self.memory, name));
        self.lead_to_code(jit, table);
    }

    /// Shares the table, as it is now and becomes as long as no name gets
    /// another meaning, with other contexts.
    pub(super) fn share(&self) -> SharedBindings {
        let mut owner = locked_steadily(&self.table);
        let shared = match &mut *owner {
            TableOwner::Context(table) => {
                let installed = table.bindings.values().filter_map(|binding| binding.installed.as_ref());
                installed.for_each(|code| code.admit_several());
                table.placed().for_each(|block| block.admit_several());
                let table = BindingTable { sharing: Some(Sharing::default()), ..mem::take(table) };
                SharedBindings(Arc::new(Mutex::new(table)))
            }
            TableOwner::Shared(shared) => return shared.clone(),
        };
        *owner = TableOwner::Shared(shared.clone());
        shared
    }

    /// Uses a shared table from now on, in which the names mean what they are to
    /// mean here. Nothing may be bound yet. Returns the names of the host that
    /// are bound now.
    pub(super) fn adopt(&self, jit: &Jit, shared: &SharedBindings) -> Vec<Name> {
        let mut owner = locked_steadily(&self.table);
        let table = locked_steadily(&shared.0);
        let hidden: Vec<Name> = jit.hosts.names().filter(|name| table.is_bound(*name)).collect();
        // Their slots may lead to the host's functions.
        hidden.iter().for_each(|name| jit.slots.reset(&self.memory, *name));
        self.lead_to_code(jit, &table);
        drop(table);
        *owner = TableOwner::Shared(shared.clone());
        hidden
    }

    /// Puts a layer below the bindings, none of which may be of a name that it defines.
    /// Returns the names of the host that are bound now.
    pub(super) fn put_below(&self, jit: &Jit, layer: &Arc<Layer>) -> Vec<Name> {
        let hidden: Vec<Name> = jit.hosts.names().filter(|name| layer.defines(*name)).collect();
        let block = LayerBlock::unplaced(jit, layer);
        self.own_table(jit, |table| {
            table.layers.add(layer);
            table.blocks.push(block);
        });
        // Their slots may lead to the host's functions.
        hidden.iter().for_each(|name| jit.slots.reset(&self.memory, *name));
        hidden
    }

    /// Unbinds all names, and clears the memory.
    pub(super) fn reset(&self, jit: &Jit) {
        let mut owner = locked_steadily(&self.table);
        let before = mem::replace(&mut *owner, TableOwner::Context(BindingTable::default()));
        jit.slots.clear(&self.memory);
        drop(owner);
        // Dropping code takes other locks.
        drop(before);
    }

    /// Binds a name to a definition without code.
    pub(super) fn bind(&self, jit: &Jit, event: Event, definition: Arc<Definition>) {
        let name = definition.function().name;
        let incoming = Incoming::definition(definition);
        let done = self.own_table(jit, |table| {
            table.prepare_change(name);
            self.apply(table, jit, name, event, incoming)
        });
        drop(done);
        self.report();
    }

    /// Binds a name to an earlier definition, and to its code if that is still
    /// there and fits.
    pub(super) fn restore(&self, jit: &Jit, definition: Arc<Definition>) {
        let name = definition.function().name;
        let done = self.own_table(jit, |table| {
            table.prepare_change(name);
            let code = definition.present().filter(|code| table.holds(jit, code.assumptions()));
            let event = if code.is_some() { Event::Restore } else { Event::Define };
            let incoming = Incoming { code, ..Incoming::definition(definition) };
            self.apply(table, jit, name, event, incoming)
        });
        drop(done);
        self.report();
    }

    /// Sets the declared arity of a foreign function; `None` removes the
    /// declaration. Returns whether it was another.
    pub(super) fn declare(&self, jit: &Jit, name: Name, arity: Option<u32>) -> bool {
        if self.declared(name) == arity {
            return false;
        }
        self.own_table(jit, |table| {
            table.prepare_change(name);
            match arity {
                Some(arity) => table.declared.insert(name, arity),
                None => table.declared.remove(name),
            };
            jit.slots.reset(&self.memory, name);
        });
        true
    }

    /// Returns the declared arity of a foreign function.
    pub(super) fn declared(&self, name: Name) -> Option<u32> {
        self.table(|table| table.declared.get(name).copied())
    }

    /// Unbinds a name.
    pub(super) fn unbind(&self, jit: &Jit, name: Name) {
        let incoming = Incoming::default();
        let done = self.own_table(jit, |table| {
            // The layer would still define the name.
            table.bind_layers(|layer| layer.defines(name));
            self.apply(table, jit, name, Event::Drop, incoming)
        });
        drop(done);
        self.report();
    }

    /// Handles a call through a trampoline, or a request for code ahead of the
    /// first call.
    pub(super) fn call(&self, jit: &Jit, target: CallTarget) -> CallAction {
        let called = self.table(|table| {
            let bound = table.get(target.name).map(|binding| &binding.definition);
            if let Some(stale) = bound.filter(|definition| !definition.function().fits(target.arity)) {
                return Err(CallAction::Stale(stale.clone()));
            }
            Ok(self.apply(table, jit, target.name, Event::Call, Incoming::default()))
        });
        match called {
            Ok(done) => {
                self.report();
                done.answer.unwrap_or(CallAction::Undefined)
            }
            Err(stale) => stale,
        }
    }

    /// Handles the end of a compile, in this context or another: installs the
    /// code, or records the failure if `made` is `None`. Code whose assumptions
    /// do not hold is not installed: the name is bound to a new definition of
    /// the same function.
    pub(super) fn finished(&self, jit: &Jit, definition: &Arc<Definition>, made: Option<Arc<CompiledCode>>) {
        let function = definition.function();
        let done = self.table(|table| {
            let is_current = made.as_ref().is_none_or(|code| table.holds(jit, code.assumptions()));
            let bound = table.bindings.get(function.name);
            let bound = bound.map(|bound| Arc::ptr_eq(&bound.definition, definition));
            if let Some(code) = made.as_ref().filter(|_| bound != Some(false) && is_current) {
                self.note_inlined(table, jit, code.assumptions());
            }
            // Code of expressions and formulas belongs to no name.
            let is_bound = bound?;
            let (event, incoming) = match made {
                _ if !is_bound => (Event::Outdated, Incoming::default()),
                // It was compiled against another definition of a callee.
                Some(_) if !is_current => {
                    (Event::CalleeChanged, Incoming::definition(jit.define_anew(function.clone())))
                }
                Some(code) => (Event::Materialized, Incoming { code: Some(code), definition: None }),
                None => (Event::Failed, Incoming::default()),
            };
            Some(self.apply(table, jit, function.name, event, incoming))
        });
        if done.is_some() {
            // Dropping code takes other locks.
            drop(done);
            self.memory.signal_code_ready();
        }
        self.report();
    }

    /// Marks bound definitions as inlined into code that is in use.
    fn note_inlined(&self, table: &mut BindingTable, jit: &Jit, assumptions: &Assumptions) {
        for function in &assumptions.inlined {
            self.apply(table, jit, function.name, Event::Inlined, Incoming::default());
        }
    }

    /// Installs the optimised code of a definition, if the binding is unchanged
    /// and the assumptions of the code hold. Returns whether it did.
    pub(super) fn improved(&self, jit: &Jit, definition: &Arc<Definition>, code: Arc<CompiledCode>) -> bool {
        let name = definition.function().name;
        let done = self.table(|table| {
            let binding = table.bindings.get(name).filter(|binding| {
                binding.state == State::Materialized && Arc::ptr_eq(&binding.definition, definition)
            });
            if binding.is_none() || !table.holds(jit, code.assumptions()) {
                return None;
            }
            self.note_inlined(table, jit, code.assumptions());
            let incoming = Incoming { code: Some(code.clone()), definition: None };
            Some(self.apply(table, jit, name, Event::Improved, incoming))
        });
        let Some(done) = done else { return false };
        // Dropping code takes other locks.
        drop((done, definition.replace(code)));
        self.report();
        true
    }

    /// Moves the binding of a name to its next state, and carries out all
    /// actions of the transition.
    fn apply(
        &self,
        table: &mut BindingTable,
        jit: &Jit,
        name: Name,
        event: Event,
        mut incoming: Incoming,
    ) -> Applied {
        table.bind_from_layer(name);
        let state = table.bindings.get(name).map_or(State::NotDefined, |binding| binding.state);
        let (next, actions) = transition(state, event);
        let mut done = Applied::default();
        for action in actions {
            match action {
                BindingAction::Bind => {
                    let Some(definition) = incoming.definition.take() else { continue };
                    if let Some(before) = table.bindings.get(name) {
                        definition.follow(&before.definition, before.installed.as_ref());
                    }
                    done.old = table.bind(name, definition);
                    let code = done.old.as_mut().and_then(|old| old.installed.take());
                    done.replaced = table.keep_replaced(code);
                }
                BindingAction::Unbind => done.old = table.bindings.remove(name),
                BindingAction::Reset => jit.slots.reset(&self.memory, name),
                BindingAction::Install => {
                    let binding = table.bindings.get_mut(name);
                    let Some((binding, code)) = binding.zip(incoming.code.take()) else { continue };
                    let requested_at = binding.requested_at.take();
                    done.took = requested_at.map(|requested_at| requested_at.elapsed());
                    let before = binding.installed.replace(code.clone());
                    let before = before.filter(|before| !Arc::ptr_eq(before, &code));
                    table.depends(name, code.assumptions());
                    done.replaced = table.keep_replaced(before);
                }
                BindingAction::Redirect => {
                    let Some(binding) = table.bindings.get_mut(name) else { continue };
                    let Some((target, code)) = binding.target() else { continue };
                    let code = code.clone();
                    code.admit(jit, &self.memory, &self.run_epoch);
                    let body = code.body();
                    let slot = jit.slots.redirect(&self.memory, target, body, code.numbers());
                    binding.entry = slot.map(|slot| (slot, body));
                    if table.sharing.is_some() {
                        code.admit_several();
                    }
                    done.answer = Some(CallAction::Ready(body));
                }
                BindingAction::Request => {
                    let binding = table.bindings.get_mut(name);
                    binding.into_iter().for_each(|binding| binding.requested_at = Some(Instant::now()));
                }
                BindingAction::Wait => {
                    let binding = table.bindings.get(name);
                    done.answer = binding.map(|binding| CallAction::Wait(binding.definition.clone()));
                }
                BindingAction::Refuse => done.answer = Some(CallAction::Undefined),
            }
        }
        if table.bindings.get(name).is_some_and(|binding| binding.state != next) {
            table.bindings.get_mut(name).into_iter().for_each(|binding| binding.state = next);
        }
        self.note(name, event, (state, next), done.took);
        done
    }

    /// Prepares for a debugger: nothing is inlined from now on. Returns the
    /// functions with code into which something was inlined.
    pub(super) fn inspect(&self, jit: &Jit) -> Vec<Arc<CheckedFunction>> {
        self.own_table(jit, |table| {
            table.settle_blocks(|_| true);
            table.is_inspected = true;
            let inlines = |binding: &&JitBinding| {
                binding.installed.as_ref().is_some_and(|code| !code.assumptions().inlined.is_empty())
            };
            let inliners = table.bindings.values().filter(inlines);
            inliners.map(|binding| binding.definition.function().clone()).collect()
        })
    }

    /// Removes and returns the functions whose code depends on `name`.
    pub(super) fn take_dependents(&self, jit: &Jit, name: Name) -> Vec<Arc<CheckedFunction>> {
        if self.table(|table| !table.dependents.contains(name)) {
            return Vec::new();
        }
        self.own_table(jit, |table| {
            let dependents = table.dependents.remove(name).unwrap_or_default();
            let function = |name: &Name| Some(table.bindings.get(*name)?.definition.function().clone());
            dependents.iter().filter_map(function).collect()
        })
    }

    /// Returns whether code with these assumptions may run here.
    pub(super) fn holds(&self, jit: &Jit, assumptions: &Assumptions) -> bool {
        self.table(|table| table.holds(jit, assumptions))
    }

    /// Plans the code of a function at a `tier`; at the tier of its first code
    /// if `None`.
    pub(super) fn plan(&self, jit: &Jit, function: &Arc<CheckedFunction>, tier: Option<Tier>) -> CompilePlan {
        let (code, tier_up) = (jit.options.code, jit.tier_up(function));
        let tier = tier.unwrap_or_else(|| tier_up.first(code.level));
        self.table(|table| {
            let bound = |name: Name| table.function(name).filter(|_| !table.is_inspected).cloned();
            let succeeds = |callee: &Callee| table.succeeds(jit, callee);
            let builtin = |callee: &Callee| {
                jit.hosts.builtin(callee.name, callee.arity).filter(|_| !table.is_bound(callee.name))
            };
            let node_count = |name: Name| table.node_count(name);
            let known =
                Callees { bound: &bound, node_count: &node_count, succeeds: &succeeds, builtin: &builtin };
            tier_up.plan(tier, function, code, &known)
        })
    }

    /// Returns the pending definitions that a function is certain to call and
    /// that are worth compiling together with it, at the same tier.
    pub(super) fn certain(&self, jit: &Jit, function: &CheckedFunction) -> Vec<Arc<Definition>> {
        let JitOptions { code, tier_up, only_clones, .. } = jit.options;
        let first = tier_up.first(code.level);
        // Clones are compiled before what calls them, and nothing else is.
        if function.callees.is_empty() || only_clones || first != jit.first_tier(function) {
            return Vec::new();
        }
        let with_loops = first == Tier::Quick;
        self.table(|table| certain::callees(function, with_loops, &mut |callee| table.found(jit, callee)))
    }

    /// Returns what a name is bound to, and the state of the binding.
    pub(super) fn get(&self, name: Name) -> Option<(State, Arc<Definition>)> {
        self.table(|table| {
            let binding = table.get(name);
            binding.map(|binding| (binding.state, binding.definition.clone()))
        })
    }

    /// Returns all bindings, in no particular order.
    pub(super) fn all(&self) -> Vec<(State, Arc<Definition>)> {
        self.table(|table| {
            table.bind_layers(|_| true);
            let bindings = table.bindings.values();
            bindings.map(|binding| (binding.state, binding.definition.clone())).collect()
        })
    }
}
