//! Requests to compile: blocking, or in the background.
//!
//! What is compiled together is decided in [`batch`].

use super::bindings::{Bindings, CallAction};
use super::definition::Definition;
use super::slots::CallTarget;
use super::tier::CompilePlan;
use super::worker::Urgency;
use super::{Jit, batch};
use crate::codegen::may_loop;
use crate::failure::Failure;
use crate::process::Generation;
use crate::stop::StopHandle;
use std::sync::Arc;

/// A request for code, which a job fulfils; dropping it ends it, done or not.
pub(super) struct Request {
    bindings: Arc<Bindings>,
    definitions: Vec<Arc<Definition>>,
    generation: Generation,
}

impl Request {
    pub(super) fn new(bindings: &Arc<Bindings>, definitions: Vec<Arc<Definition>>) -> Self {
        let generation = bindings.queued().add(&definitions);
        Self { bindings: bindings.clone(), definitions, generation }
    }

    pub(super) fn bindings(&self) -> &Arc<Bindings> {
        &self.bindings
    }

    pub(super) fn definitions(&self) -> &[Arc<Definition>] {
        &self.definitions
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.generation.is_current() {
            self.bindings.queued().remove(&self.definitions);
            // The interpreter may wait for what was not compiled.
            self.bindings.memory().signal_code_ready();
        }
    }
}

/// Returns those of the definitions that are bound and have no code, after
/// marking them as requested. Code that another context has made is installed.
pub(super) fn claim_pending(
    jit: &Jit,
    bindings: &Bindings,
    mut definitions: Vec<Arc<Definition>>,
) -> Vec<Arc<Definition>> {
    definitions.retain(|definition| {
        let function = definition.function();
        let target = CallTarget { name: function.name, arity: function.arity() };
        match bindings.call(jit, target) {
            CallAction::Wait(bound) => {
                Arc::ptr_eq(&bound, definition) && install_present(jit, bindings, definition).is_none()
            }
            CallAction::Ready(_) | CallAction::Undefined | CallAction::Stale(_) => false,
        }
    });
    definitions
}

/// Compiles definitions in the background, as names mean them now, whenever a worker comes
/// to it: so the same program gets the same code in every run. What may loop has a pipeline of its
/// own, so it goes to another worker than the rest; and before it, as it takes longer.
pub(super) fn make_later(
    jit: &Arc<Jit>,
    bindings: &Arc<Bindings>,
    definitions: &[Arc<Definition>],
) -> Result<(), Failure> {
    let plan = |definition: &Arc<Definition>| {
        let plan = batch::plan(jit, bindings, definition);
        (may_loop(definition.function(), &plan.assumptions.inlined), definition.clone(), plan)
    };
    let (loops, others): (Vec<_>, Vec<_>) =
        definitions.iter().map(plan).partition(|(may_loop, ..)| *may_loop);
    for batch in loops.chunks(batch::SIZE).chain(others.chunks(batch::SIZE)) {
        let definitions = batch.iter().map(|(_, definition, _)| definition.clone()).collect();
        let (jit_of_worker, request) = (jit.clone(), Request::new(bindings, definitions));
        for (_, definition, plan) in batch {
            bindings.queued().keep_plan(definition, plan.clone());
        }
        jit.later(Urgency::Later, move || {
            _ = batch::make(&jit_of_worker, request.bindings(), request.definitions());
        })?;
    }
    Ok(())
}

/// Returns the body of a definition, compiled according to `plan` if needed.
pub(super) fn make_as(
    jit: &Arc<Jit>,
    bindings: &Arc<Bindings>,
    definition: &Arc<Definition>,
    plan: CompilePlan,
    stopper: Option<&StopHandle>,
) -> Result<usize, Failure> {
    let (jit_of_worker, bindings, definition) = (jit.clone(), bindings.clone(), definition.clone());
    jit.wait_for(stopper, move || batch::body_as(&jit_of_worker, &bindings, &definition, plan))?
}

/// Installs the code of a definition, if there is some. Returns its body.
pub(super) fn install_present(jit: &Jit, bindings: &Bindings, definition: &Arc<Definition>) -> Option<usize> {
    let present = definition.present()?;
    let body = present.body();
    bindings.finished(jit, definition, Some(present));
    Some(body)
}

/// Returns the body that a call of a bound definition goes to. If needed,
/// compiles it, together with what it is certain to call unless the interpreter
/// may run that, and updates the bindings.
pub(super) fn materialize(
    jit: &Arc<Jit>,
    bindings: &Arc<Bindings>,
    definition: &Arc<Definition>,
    may_interpret: bool,
) -> Result<usize, Failure> {
    let mut definition = definition.clone();
    loop {
        let body = body(jit, bindings, &definition, may_interpret)?;
        // Code that was made for another context may assume what does not hold
        // in this one; the name is then bound to a definition of its own.
        let function = definition.function();
        let target = CallTarget { name: function.name, arity: function.arity() };
        match bindings.call(jit, target) {
            CallAction::Ready(body) => return Ok(body),
            CallAction::Wait(again) if !Arc::ptr_eq(&again, &definition) => definition = again,
            // What is run is bound to no name.
            CallAction::Wait(_) | CallAction::Undefined | CallAction::Stale(_) => {
                let code = definition.present();
                code.iter().for_each(|code| code.admit(jit, bindings.memory(), bindings.run_epoch()));
                return Ok(body);
            }
        }
    }
}

/// Returns the body of a definition, compiled if needed.
fn body(
    jit: &Arc<Jit>,
    bindings: &Arc<Bindings>,
    definition: &Arc<Definition>,
    may_interpret: bool,
) -> Result<usize, Failure> {
    if let Some(body) = install_present(jit, bindings, definition) {
        return Ok(body);
    }
    if let Some(body) = batch::body_found(jit, bindings, definition) {
        return Ok(body);
    }
    let function = definition.function();
    let stopper = StopHandle::new(bindings.memory().clone());
    let certain = if may_interpret { Vec::new() } else { bindings.certain(jit, function) };
    let mut first = claim_pending(jit, bindings, certain);
    let rest = first.split_off(first.len().min(batch::SIZE - 1));
    make_later(jit, bindings, &rest)?;
    if jit.begins_with_baseline(function)
        && let Some(body) = jit.here(|| batch::body_here(jit, bindings, definition, &first))?
    {
        return body;
    }
    let (jit_of_worker, bindings, definition) = (jit.clone(), bindings.clone(), definition.clone());
    jit.wait_for(Some(&stopper), move || batch::body(&jit_of_worker, &bindings, &definition, &first))?
}
