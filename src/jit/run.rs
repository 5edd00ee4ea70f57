//! A run of compiled code in progress: the calls that code makes into the
//! runtime, and why the run failed.
//!
//! Decides where a call through a trampoline goes; code is entered by the
//! [`JitContext`](super::JitContext).

use super::bindings::{Bindings, CallAction};
use super::code_map::CodeOwner;
use super::osr::HotLoops;
use super::request::materialize;
use super::slots::CallTarget;
use super::state::State;
use super::tier::{self, Tier};
use super::{Jit, nanoseconds};
use crate::codegen::LoopEntry;
use crate::failure::{Failure, RunFailure};
use crate::host::Outside;
use crate::interp::{CallSite, InterpretedTier};
use crate::name::Name;
use crate::runtime::{Destination, HotLoopAnswer, RuntimeCallbacks, StopReason};
use crate::stop::StopHandle;
use crate::tier::TierUp;
use std::sync::Arc;
use std::time::Instant;

/// A run in progress: what serves its calls, and why it failed.
pub(super) struct JitRun<'a> {
    pub(super) jit: &'a Arc<Jit>,
    pub(super) bindings: &'a Arc<Bindings>,
    pub(super) outside: &'a mut Outside,
    pub(super) interpreted: Option<InterpretedTier<'a>>,
    /// The callee of a call that is on its way to the interpreter.
    pub(super) tape: Option<Name>,
    pub(super) failure: Option<Box<RunFailure>>,
    pub(super) waited: u64,
    /// Those of baseline code; `None` before one is reported.
    pub(super) hot_loops: Option<Box<HotLoops>>,
}

impl JitRun<'_> {
    fn fail(&mut self, failure: Failure) {
        self.failure = Some(Box::new(failure.into()));
    }

    fn stopper(&self) -> StopHandle {
        StopHandle::new(self.bindings.memory().clone())
    }

    fn destination(&mut self, trampoline: usize) -> Result<Destination, Failure> {
        let Some((slot, target)) = self.jit.slots.target(trampoline) else {
            return Err(Failure::internal("a trampoline has no slot"));
        };
        if self.is_interpreted(target) {
            self.tape = Some(target.name);
            return Ok(Destination::Interpreter(target.arity));
        }
        if self.interpreted.is_none() && self.bindings.place_layer_of(self.jit, target.name) {
            // The slots of the layer lead to its code now, and as with all others that are called
            // through these, nothing need be bound.
            let body = self.bindings.memory().slot(slot);
            if ![0, trampoline].contains(&body) {
                return Ok(Destination::Body(body));
            }
        }
        self.body_of(target).map(Destination::Body)
    }

    /// Returns whether a call goes to the interpreter.
    fn is_interpreted(&self, target: CallTarget) -> bool {
        let Some(interpreted) = &self.interpreted else { return false };
        self.bindings.get(target.name).is_some_and(|(state, definition)| {
            let function = definition.function();
            let has_code = state == State::Materialized;
            let is_code = has_code || !self.jit.is_too_large(function);
            function.fits(target.arity) && (interpreted.takes(target.name, has_code) || !is_code)
        })
    }

    fn body_of(&mut self, target: CallTarget) -> Result<usize, Failure> {
        match self.bindings.call(self.jit, target) {
            CallAction::Ready(body) => Ok(body),
            CallAction::Wait(definition) => {
                materialize(self.jit, self.bindings, &definition, self.interpreted.is_some())
            }
            CallAction::Stale(definition) => Err(Failure::Stale {
                callee: definition.function().clone(),
                passed: target.arity,
                caller: None,
            }),
            CallAction::Undefined => self.host_body(target),
        }
    }

    fn host_body(&mut self, target: CallTarget) -> Result<usize, Failure> {
        let CallTarget { name, arity } = target;
        match self.jit.hosts.get(name) {
            Some(host) if host.arity == arity => {
                let body = self.jit.host_body(name, arity, &host.callable)?;
                self.jit.slots.redirect(self.bindings.memory(), target, body, None);
                Ok(body)
            }
            Some(host) => {
                Err(Failure::HostArity { callee: name, wanted: host.arity, passed: arity, caller: None })
            }
            None => self.foreign_body(target),
        }
    }

    fn foreign_body(&mut self, target: CallTarget) -> Result<usize, Failure> {
        let CallTarget { name, arity } = target;
        let Some(foreign) = self.jit.hosts.foreign(name) else {
            return Err(Failure::Undefined { callee: name, passed: arity, caller: None });
        };
        match self.bindings.declared(name) {
            Some(declared) if declared == arity => {
                self.jit.slots.redirect(self.bindings.memory(), target, foreign.address, None);
                Ok(foreign.address)
            }
            Some(wanted) => Err(Failure::HostArity { callee: name, wanted, passed: arity, caller: None }),
            None => Err(Failure::Undeclared { callee: name, passed: arity, caller: None }),
        }
    }

    /// Installs optimised code of a hot function: what another context has made,
    /// or else new code, compiled in the background. The job holds the
    /// definition weakly, so that queued work keeps no code alive.
    fn improve(&self, owner: &CodeOwner) -> Option<()> {
        let (_, definition) = self.bindings.get(owner.function.name)?;
        if !owner.is_code_of(definition.function(), &self.jit.names) {
            return None;
        }
        let full = definition.present().filter(|code| code.tier() == Tier::Full);
        if full.is_some_and(|code| self.bindings.improved(self.jit, &definition, code)) {
            return Some(());
        }
        // The code asks again after as many calls.
        let claim = definition.claim_improvement()?;
        let plan = self.bindings.plan(self.jit, definition.function(), Some(Tier::Full));
        let (jit, bindings) = (self.jit.clone(), Arc::downgrade(self.bindings));
        let work = move || {
            let (Some(bindings), Some(definition)) = (bindings.upgrade(), claim.definition()) else {
                return;
            };
            if let Some(code) = definition.optimise(&jit, plan, bindings.budget()) {
                bindings.improved(&jit, &definition, code);
            }
        };
        if self.jit.options.waits_for_code {
            self.jit.wait_for(None, work).ok()
        } else {
            self.jit.later(tier::urgency(&owner.function), work).ok()
        }
    }
}

impl RuntimeCallbacks for JitRun<'_> {
    fn first_call(&mut self, trampoline: usize) -> Option<Destination> {
        let start = Instant::now();
        let destination = self.destination(trampoline);
        self.waited += nanoseconds(start.elapsed());
        destination.map_err(|failure| self.fail(failure)).ok()
    }

    fn interpreter_call(&mut self, arguments: &[f64]) -> Option<f64> {
        let name = self.tape.take()?;
        let from = self.bindings.memory().called_from();
        let site = CallSite { address: from.fault, frame: from.frame };
        // A call goes there only if there is one.
        let result = self.interpreted.as_mut()?.call(site, name, arguments, self.outside);
        result.map_err(|stopped| self.failure = Some(stopped.into())).ok()
    }

    fn host_call(&mut self, closure: u32, arguments: &[f64]) -> Option<f64> {
        let callee = Name::from_index(closure as usize)?;
        if let Some(number) = self.jit.hosts.random(callee, self.outside) {
            return Some(number);
        }
        let stopper = self.stopper();
        let result = self.jit.hosts.call_closure(callee, arguments, self.outside, &stopper);
        // A request that came meanwhile is for this run, not for the next.
        if let Some(request) = stopper.take() {
            self.fail(Failure::from(request));
            return None;
        }
        result.map_err(|error| self.fail(Failure::of_host(callee, arguments, error))).ok()
    }

    fn hot(&mut self, address: usize) {
        if let Some((_, Some(owner))) = self.jit.code.find(address) {
            let _ = self.improve(&owner);
        }
    }

    fn hot_loop(&mut self, address: usize, node: u32, values: u32) -> HotLoopAnswer {
        let mut left = match self.jit.options.tier_up {
            TierUp::After(iterations) => iterations,
            TierUp::Never => u32::MAX,
        };
        let code = self.osr_code(address, LoopEntry { node, values }, &mut left);
        HotLoopAnswer { code: code.unwrap_or(0), left: left.into() }
    }

    fn stop(&mut self, stop: StopReason) {
        let failure = match stop {
            StopReason::Overflow => Failure::StackOverflow,
            StopReason::Fuel => Failure::OutOfFuel,
            StopReason::Requested(request) => request.into(),
        };
        self.fail(failure);
    }
}

impl JitRun<'_> {
    /// Returns OSR code for a loop that is hot in the function which contains `address`, if it is
    /// ready. Sets after how many iterations the loop reports again.
    fn osr_code(&mut self, address: usize, entry: LoopEntry, left: &mut u32) -> Option<usize> {
        let (_, owner) = self.jit.code.find(address)?;
        let owner = owner?;
        let bound = self.bindings.get(owner.function.name).map(|(_, definition)| definition);
        let bound = bound.filter(|bound| owner.is_code_of(bound.function(), &self.jit.names));
        let function = match &bound {
            Some(bound) => bound.function(),
            // Its numbers are not known.
            None if owner.is_shared_by_shape => return None,
            None => &owner.function,
        };
        let hot_loops = self.hot_loops.get_or_insert_default();
        let hot_loop = hot_loops.reported(self.jit, function, bound.as_ref(), entry, left);
        let code = hot_loop.code(self.jit, self.bindings);
        if bound.is_some() && hot_loop.is_worth_code(self.jit) {
            let _ = self.improve(&owner);
        }
        code
    }
}
