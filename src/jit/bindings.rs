//! The bindings of one context: the shell around the state machine.
//!
//! Everything that happens to a name arrives as an [`Event`], under one lock;
//! this module carries out the [`BindingAction`]s. Workers that finish ahead of
//! a first call use the same path as the context's own thread.

use super::certain;
use super::code::CompiledCode;
use super::definition::Definition;
use super::queued::Queued;
use super::reporter::{ChangeReporter, Observer};
use super::slots::{CallTarget, Slots};
use super::state::{BindingAction, Event, State, transition};
use super::tier::{Callees, CompilePlan, Tier};
use super::{Jit, JitOptions, TierUp};
use crate::codegen::Level;
use crate::name::Name;
use crate::runtime::ExecutionMemory;
use crate::sema::Calls;
use crate::sema::checked::{Callee, CheckedFunction};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Names, what they are bound to, and the memory whose slots are kept up to
/// date.
pub(super) struct Bindings {
    memory: Arc<ExecutionMemory>,
    table: Mutex<BindingTable>,
    reporter: ChangeReporter,
    queued: Queued,
}

#[derive(Default)]
struct BindingTable {
    bindings: FxHashMap<Name, JitBinding>,
    /// For each name, the functions whose code depends on its definition: it
    /// was inlined there, or is called by an inlined function.
    inliners: FxHashMap<Name, Vec<Name>>,
    /// Counts how the bound definitions call each other.
    calls: Calls,
}

impl BindingTable {
    /// Binds a name. Returns its earlier binding.
    fn bind(&mut self, name: Name, state: State, definition: Arc<Definition>) -> Option<JitBinding> {
        self.calls.add(definition.function());
        let binding = JitBinding { state, definition, installed: None, requested_at: None };
        let old = self.bindings.insert(name, binding);
        self.released(old)
    }

    /// Unbinds a name. Returns its binding.
    fn unbind(&mut self, name: Name) -> Option<JitBinding> {
        let old = self.bindings.remove(&name);
        self.released(old)
    }

    fn released(&mut self, binding: Option<JitBinding>) -> Option<JitBinding> {
        binding.inspect(|binding| self.calls.remove(binding.definition.function()))
    }

    /// Resolves a call.
    fn found(&self, jit: &Jit, callee: &Callee) -> Resolution {
        match self.bindings.get(&callee.name) {
            Some(JitBinding { state, definition, .. }) if definition.function().arity() == callee.arity => {
                Resolution::Definition(*state, definition.clone())
            }
            Some(_) => Resolution::Nothing,
            None if jit.hosts.get(callee.name).is_some() => Resolution::Host,
            None if jit.hosts.foreign(callee.name).is_some() => Resolution::Foreign,
            None => Resolution::Nothing,
        }
    }

    /// Returns whether the assumptions of code hold here: each inlined function
    /// is what its name is bound to, and its own calls find a function of their
    /// arity.
    fn holds(&self, jit: &Jit, inlined: &[Arc<CheckedFunction>]) -> bool {
        inlined.iter().all(|function| {
            let binding = self.bindings.get(&function.name);
            binding.is_some_and(|binding| Arc::ptr_eq(binding.definition.function(), function))
                && function.callees.iter().all(|callee| self.fits(jit, callee))
        })
    }

    /// Returns whether a call finds a function of its arity.
    fn fits(&self, jit: &Jit, callee: &Callee) -> bool {
        !matches!(self.found(jit, callee), Resolution::Nothing)
    }

    /// Records what the code of `inliner` depends on.
    fn depends(&mut self, inliner: Name, inlined: &[Arc<CheckedFunction>]) {
        for function in inlined {
            let callees = function.callees.iter().map(|callee| callee.name);
            for name in callees.chain([function.name]).filter(|name| *name != inliner) {
                let inliners = self.inliners.entry(name).or_default();
                if !inliners.contains(&inliner) {
                    inliners.push(inliner);
                }
            }
        }
    }
}

/// What a name is bound to.
struct JitBinding {
    state: State,
    definition: Arc<Definition>,
    /// The code that the slots of the name lead to.
    installed: Option<Arc<CompiledCode>>,
    /// When its code was first requested.
    requested_at: Option<Instant>,
}

/// What a call resolves to.
pub(super) enum Resolution {
    /// A definition of the same arity.
    Definition(State, Arc<Definition>),
    /// A host function.
    Host,
    /// A foreign function, callable if the program has declared it.
    Foreign,
    /// Nothing of this arity.
    Nothing,
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
    pub(super) fn new(memory: Arc<ExecutionMemory>) -> Self {
        Self { memory, table: Mutex::default(), reporter: ChangeReporter::default(), queued: Queued::new() }
    }

    /// Returns what is going to be compiled for these bindings.
    pub(super) fn queued(&self) -> &Queued {
        &self.queued
    }

    pub(super) fn memory(&self) -> &Arc<ExecutionMemory> {
        &self.memory
    }

    /// Sets the observer of later changes; `None` removes it.
    pub(super) fn observe(&self, observer: Option<Observer>) {
        self.reporter.set(observer);
    }

    /// Queues a change for the observer. Called under the lock of the table.
    fn note(&self, name: Name, event: Event, states: (State, State), took: Option<Duration>) {
        self.reporter.note(name, event, states, took);
    }

    /// Reports queued changes to the observer. Called without that lock.
    fn report(&self) {
        self.reporter.report();
    }

    /// Binds a name to a definition. Returns the definition it was bound to.
    pub(super) fn bind(
        &self,
        slots: &Slots,
        event: Event,
        definition: Arc<Definition>,
    ) -> Option<Arc<Definition>> {
        let old = self.bind_in(&mut self.table.lock(), slots, event, definition);
        self.report();
        old.map(|binding| binding.definition)
    }

    fn bind_in(
        &self,
        table: &mut BindingTable,
        slots: &Slots,
        event: Event,
        definition: Arc<Definition>,
    ) -> Option<JitBinding> {
        let name = definition.function().name;
        let state = table.bindings.get(&name).map_or(State::NotDefined, |binding| binding.state);
        let (next, actions) = transition(state, event);
        let mut new = Some(definition);
        let mut old = None;
        for action in actions {
            match action {
                BindingAction::Bind => {
                    old = new.take().and_then(|definition| table.bind(name, next, definition));
                }
                BindingAction::Reset => slots.reset(&self.memory, name),
                BindingAction::Unbind
                | BindingAction::Redirect
                | BindingAction::Materialize
                | BindingAction::Wait
                | BindingAction::Refuse
                | BindingAction::Report => {}
            }
        }
        self.note(name, event, (state, next), None);
        old
    }

    /// Unbinds a name. Returns the definition it was bound to.
    pub(super) fn unbind(&self, slots: &Slots, name: Name) -> Option<Arc<Definition>> {
        let mut table = self.table.lock();
        let state = table.bindings.get(&name)?.state;
        let (next, actions) = transition(state, Event::Drop);
        if actions.contains(&BindingAction::Reset) {
            slots.reset(&self.memory, name);
        }
        self.note(name, Event::Drop, (state, next), None);
        let old = table.unbind(name);
        drop(table);
        self.report();
        old.map(|binding| binding.definition)
    }

    /// Handles a call through a trampoline, or a request for code ahead of the
    /// first call.
    pub(super) fn call(&self, slots: &Slots, target: CallTarget) -> CallAction {
        let call = self.call_in(slots, target);
        self.report();
        call
    }

    fn call_in(&self, slots: &Slots, target: CallTarget) -> CallAction {
        let mut table = self.table.lock();
        let Some(binding) = table.bindings.get_mut(&target.name) else { return CallAction::Undefined };
        if binding.definition.function().arity() != target.arity {
            return CallAction::Stale(binding.definition.clone());
        }
        let (next, actions) = transition(binding.state, Event::Call);
        self.note(target.name, Event::Call, (binding.state, next), None);
        binding.state = next;
        if actions.contains(&BindingAction::Materialize) {
            binding.requested_at = Some(Instant::now());
        }
        if actions.contains(&BindingAction::Wait) {
            return CallAction::Wait(binding.definition.clone());
        }
        match binding.installed.as_ref().map(|code| code.body()) {
            Some(body) => {
                slots.redirect(&self.memory, target, body);
                CallAction::Ready(body)
            }
            None => CallAction::Wait(binding.definition.clone()),
        }
    }

    /// Handles the end of a compile, in this context or another: installs the
    /// code, or records the failure if `made` is `None`. Code whose assumptions
    /// do not hold is not installed: the name is bound to a new definition of
    /// the same function.
    pub(super) fn finished(&self, jit: &Jit, definition: &Arc<Definition>, made: Option<Arc<CompiledCode>>) {
        let function = definition.function();
        let inlined = made.as_ref().map_or(&[][..], |code| code.inlined());
        let mut table = self.table.lock();
        let is_current = table.holds(jit, inlined);
        let is_in_use =
            table.bindings.get(&function.name).is_none_or(|bound| Arc::ptr_eq(&bound.definition, definition));
        if is_in_use && is_current {
            self.note_inlined(&mut table, inlined);
        }
        let Some(binding) = table.bindings.get_mut(&function.name) else {
            drop(table);
            return self.report();
        };
        let is_bound = Arc::ptr_eq(&binding.definition, definition);
        if is_bound && made.is_some() && !is_current {
            // It was compiled against another definition of a callee.
            let again = jit.define_anew(function.clone());
            let old = self.bind_in(&mut table, &jit.slots, Event::CalleeChanged, again);
            drop(table);
            // Dropping code takes other locks.
            drop(old);
            self.memory.signal_code_ready();
            self.report();
            return;
        }
        let event = match &made {
            _ if !is_bound => Event::Outdated,
            Some(_) => Event::Materialized,
            None => Event::Failed,
        };
        let (next, actions) = transition(binding.state, event);
        let took = (event == Event::Materialized).then(|| binding.requested_at.take()).flatten();
        let took = took.map(|requested_at| requested_at.elapsed());
        self.note(function.name, event, (binding.state, next), took);
        binding.state = next;
        let mut replaced = None;
        if let (true, Some(code)) = (actions.contains(&BindingAction::Redirect), &made) {
            replaced = binding.installed.replace(code.clone());
            let target = CallTarget { name: function.name, arity: function.arity() };
            jit.slots.redirect(&self.memory, target, code.body());
            table.depends(function.name, inlined);
        }
        drop(table);
        // Dropping code takes other locks.
        drop(replaced);
        self.memory.signal_code_ready();
        self.report();
    }

    /// Marks bound definitions as inlined into code that is in use.
    fn note_inlined(&self, table: &mut BindingTable, inlined: &[Arc<CheckedFunction>]) {
        for function in inlined {
            let Some(binding) = table.bindings.get_mut(&function.name) else { continue };
            let (next, _) = transition(binding.state, Event::Inlined);
            self.note(function.name, Event::Inlined, (binding.state, next), None);
            binding.state = next;
        }
    }

    /// Installs the optimised code of a definition, if the binding is unchanged
    /// and the assumptions of the code hold. Returns whether it did.
    pub(super) fn improved(&self, jit: &Jit, definition: &Arc<Definition>, code: Arc<CompiledCode>) -> bool {
        let name = definition.function().name;
        let mut table = self.table.lock();
        let holds = table.holds(jit, code.inlined());
        let binding = table.bindings.get_mut(&name).filter(|binding| {
            binding.state == State::Materialized && Arc::ptr_eq(&binding.definition, definition)
        });
        let Some(binding) = binding.filter(|_| holds) else { return false };
        // The binding owns the code before any slot points to it.
        let replaced = binding.installed.replace(code.clone());
        table.depends(name, code.inlined());
        self.note_inlined(&mut table, code.inlined());
        let target = CallTarget { name, arity: definition.function().arity() };
        jit.slots.redirect(&self.memory, target, code.body());
        drop(table);
        // Dropping code takes other locks.
        drop((replaced, definition.replace(code)));
        self.report();
        true
    }

    /// Removes and returns the functions whose code depends on `name`.
    pub(super) fn take_inliners(&self, name: Name) -> Vec<Arc<CheckedFunction>> {
        let mut table = self.table.lock();
        let inliners = table.inliners.remove(&name).unwrap_or_default();
        let function = |name: &Name| Some(table.bindings.get(name)?.definition.function().clone());
        inliners.iter().filter_map(function).collect()
    }

    /// Plans the code of a function at a `tier`; at the tier of its first code
    /// if `None`.
    pub(super) fn plan(&self, jit: &Jit, function: &Arc<CheckedFunction>, tier: Option<Tier>) -> CompilePlan {
        let tier = tier.unwrap_or_else(|| jit.options.tier_up.first(function, jit.options.code.level));
        self.plan_among(jit, function, tier, &|_| false)
    }

    /// Plans the code of a function at a tier, where `ran` tells which
    /// functions the interpreter has called.
    pub(super) fn plan_among(
        &self,
        jit: &Jit,
        function: &Arc<CheckedFunction>,
        tier: Tier,
        ran: &dyn Fn(Name) -> bool,
    ) -> CompilePlan {
        let JitOptions { code, tier_up, .. } = jit.options;
        let table = self.table.lock();
        let called = |name: Name| {
            let binding = table.bindings.get(&name)?;
            let is_called = binding.state == State::Materialized || ran(name);
            is_called.then(|| binding.definition.function().clone())
        };
        let fits = |callee: &Callee| table.fits(jit, callee);
        tier_up.plan(tier, function, code, &Callees { called: &called, fits: &fits })
    }

    /// Returns the pending definitions that a function is certain to call and
    /// that are worth inlining, or compiling together with it.
    pub(super) fn certain(&self, jit: &Jit, function: &CheckedFunction) -> Vec<Arc<Definition>> {
        let JitOptions { code, tier_up, .. } = jit.options;
        let inlines = tier_up != TierUp::Never && code.level >= Level::O2;
        if function.callees.is_empty() || (function.has_loop() && !inlines) {
            return Vec::new();
        }
        let table = self.table.lock();
        certain::callees(function, &|callee| table.found(jit, callee))
    }

    /// Returns whether a bound definition calls `name` with an arity other than
    /// `arity`.
    pub(super) fn is_called_without(&self, name: Name, arity: u32) -> bool {
        self.table.lock().calls.misfit(name, arity)
    }

    /// Returns what a name is bound to, and the state of the binding.
    pub(super) fn get(&self, name: Name) -> Option<(State, Arc<Definition>)> {
        self.table.lock().bindings.get(&name).map(|binding| (binding.state, binding.definition.clone()))
    }

    /// Returns all bindings, in no particular order.
    pub(super) fn all(&self) -> Vec<(State, Arc<Definition>)> {
        let table = self.table.lock();
        table.bindings.values().map(|binding| (binding.state, binding.definition.clone())).collect()
    }

    /// Returns the number of bound names.
    pub(super) fn len(&self) -> usize {
        self.table.lock().bindings.len()
    }
}
