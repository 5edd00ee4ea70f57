//! Batches: definitions that are compiled together.
//!
//! The fixed cost of a module for LLVM and the linker exceeds the cost of a small
//! function, so compiling many functions into one object takes much less time.
//! The memory of an object is freed when none of its functions is used any more.

use super::Jit;
use super::bindings::Bindings;
use super::code::CompiledCode;
use super::definition::{Claim, Definition, find, link};
use super::tier::{CompilePlan, Tier};
use crate::codegen::{cost, is_large, may_loop};
use crate::failure::Failure;
use crate::process::SteadyCell;
use crate::sema::checked::CheckedFunction;
use std::sync::Arc;

/// The largest number of definitions in a batch. A caller that waits for one of
/// them waits for all.
pub(super) const SIZE: usize = 64;

/// Compiles definitions, on a worker, and binds their names to the code. Waits
/// for those that another thread compiles.
///
/// # Errors
/// The first definition that cannot be compiled; all others are compiled.
pub(super) fn make(
    jit: &Arc<Jit>,
    bindings: &Bindings,
    definitions: &[Arc<Definition>],
) -> Result<(), Failure> {
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for definition in definitions {
        match definition.claim() {
            Some(claim) => ours.push((definition, claim)),
            None => others.push(definition),
        }
    }
    let ours = ours.into_iter().map(|(definition, claim)| planned(jit, bindings, definition, claim));
    let mut result = make_claimed(jit, bindings, ours);
    for definition in others {
        result = result.and(awaited(jit, bindings, definition, false).map(|_| ()));
    }
    result
}

/// Compiles a definition together with those that it is [certain to
/// call](super::certain), on a worker. Returns the address of its body.
///
/// # Errors
/// What the compiler says of the definition. What it says of the others is
/// reported when they are called.
pub(super) fn body(
    jit: &Arc<Jit>,
    bindings: &Bindings,
    definition: &Arc<Definition>,
    certain: &[Arc<Definition>],
) -> Result<usize, Failure> {
    body_here(jit, bindings, definition, certain).unwrap_or_else(|| awaited(jit, bindings, definition, false))
}

/// Does the same on any thread, for code that needs no compiler but the baseline compiler;
/// `None` if another thread compiles the definition.
///
/// # Errors
/// As [`body`].
pub(super) fn body_here(
    jit: &Arc<Jit>,
    bindings: &Bindings,
    definition: &Arc<Definition>,
    certain: &[Arc<Definition>],
) -> Option<Result<usize, Failure>> {
    let claim = definition.claim()?;
    let claimed = certain.iter().filter_map(|definition| Some((definition, definition.claim()?)));
    let all = std::iter::once((definition, claim)).chain(claimed);
    let parts = all.map(|(definition, claim)| planned(jit, bindings, definition, claim));
    let _ = make_claimed(jit, bindings, parts);
    Some(awaited(jit, bindings, definition, true))
}

/// Compiles a definition according to a given plan, on a worker. Returns the
/// address of its body.
///
/// # Errors
/// The compiler's message.
pub(super) fn body_as(
    jit: &Arc<Jit>,
    bindings: &Bindings,
    definition: &Arc<Definition>,
    plan: CompilePlan,
) -> Result<usize, Failure> {
    let claim = definition.claim();
    let is_ours = claim.is_some();
    if let Some(claim) = claim {
        let part = BatchItem { definition: definition.clone(), claim, plan };
        let _ = make_claimed(jit, bindings, std::iter::once(part));
    }
    awaited(jit, bindings, definition, is_ours)
}

/// Waits for the body of a definition, which this call compiles if `is_ours`,
/// else another thread, perhaps for another context.
fn awaited(
    jit: &Jit,
    bindings: &Bindings,
    definition: &Arc<Definition>,
    is_ours: bool,
) -> Result<usize, Failure> {
    let body = definition.wait();
    if !is_ours {
        bindings.finished(jit, definition, body.is_ok().then(|| definition.present()).flatten());
    }
    body
}

/// A definition that this thread compiles, and how.
struct BatchItem {
    definition: Arc<Definition>,
    claim: Claim,
    plan: CompilePlan,
}

impl BatchItem {
    fn function(&self) -> &CheckedFunction {
        self.definition.function()
    }

    fn may_loop(&self) -> bool {
        may_loop(self.function(), &self.plan.assumptions.inlined)
    }
}

fn planned(jit: &Jit, bindings: &Bindings, definition: &Arc<Definition>, claim: Claim) -> BatchItem {
    let plan = plan(jit, bindings, definition);
    BatchItem { definition: definition.clone(), claim, plan }
}

/// Plans the first code of a definition, or returns the plan with which it was requested.
pub(super) fn plan(jit: &Jit, bindings: &Bindings, definition: &Arc<Definition>) -> CompilePlan {
    let requested = bindings.queued().plan(definition);
    if let Some(plan) = requested.filter(|plan| bindings.holds(jit, &plan.assumptions)) {
        return plan;
    }
    let plan = bindings.plan(jit, definition.function(), None);
    let loads_numbers = plan.tier == Tier::Quick && definition.loads_numbers();
    CompilePlan { loads_numbers, identity: SteadyCell::new(), ..plan }
}

/// Binds the name of a definition to code that needs no compiler, on any thread:
/// that of an earlier run, or that of the definition before if only its numbers are
/// new. Returns the address of its body; `None` if it has to be compiled.
pub(super) fn body_found(jit: &Arc<Jit>, bindings: &Bindings, definition: &Arc<Definition>) -> Option<usize> {
    if !definition.loads_numbers() && !jit.store.has_packs() {
        return None;
    }
    let code = found(jit, bindings, definition, &plan(jit, bindings, definition))?;
    let claim = definition.claim()?;
    bindings.finished(jit, definition, Some(code.clone()));
    claim.made(Ok(code)).ok()
}

/// Compiles definitions that this thread has claimed, and binds their names to
/// the code.
fn make_claimed(
    jit: &Arc<Jit>,
    bindings: &Bindings,
    parts: impl Iterator<Item = BatchItem>,
) -> Result<(), Failure> {
    let mut result = Ok(());
    let mut missing = Vec::new();
    for part in parts {
        match found(jit, bindings, &part.definition, &part.plan) {
            Some(code) => {
                bindings.finished(jit, &part.definition, Some(code.clone()));
                result = result.and(part.claim.made(Ok(code)).map(|_| ()));
            }
            None => missing.push(part),
        }
    }
    for group in groups(missing.into_iter(), jit.options.most_operations) {
        let expressions = group.iter().filter(|part| jit.is_expression(part.function())).count();
        jit.counters.expressions.add(expressions as u64);
        jit.counters.ir_generated.add((group.len() - expressions) as u64);
        let parts = group.iter().map(|part| (&*part.definition, part.plan.clone())).collect();
        let budget = bindings.budget();
        let code = match link(jit, parts, budget) {
            Ok(code) => code.into_iter().map(Ok).collect(),
            // One at a time, so that only the bad ones fail.
            Err(_) if group.len() > 1 => {
                group.iter().map(|part| part.definition.link(jit, part.plan.clone(), budget)).collect()
            }
            Err(failure) => vec![Err(failure)],
        };
        for (BatchItem { definition, claim, .. }, code) in group.into_iter().zip(code) {
            // The name is bound to the code before a waiting caller sees the
            // result.
            bindings.finished(jit, &definition, code.as_ref().ok().cloned());
            result = result.and(claim.made(code).map(|_| ()));
        }
    }
    result
}

/// Returns code that the engine has for a definition: optimised, or else as
/// planned.
fn found(
    jit: &Arc<Jit>,
    bindings: &Bindings,
    definition: &Definition,
    plan: &CompilePlan,
) -> Option<Arc<CompiledCode>> {
    let function = definition.function();
    let budget = bindings.budget();
    let full = || find(jit, function, &bindings.plan(jit, function, Some(Tier::Full)), budget);
    let planned = || find(jit, function, plan, budget);
    if plan.tier != Tier::Quick {
        return planned();
    }
    let may_be_better = jit.bodies.may_have_optimised(function.name) || jit.store.has_packs();
    let better = || may_be_better.then(full).flatten();
    // To plan optimised code means to look at all that is called: what runs once is not worth it.
    if jit.is_expression(function) { planned().or_else(better) } else { better().or_else(planned) }
}

/// Groups what can share an object: definitions with the same options that
/// together cost no more than one large function. A large function is alone, and
/// functions that may have loops share no object with those that have none, which
/// are compiled with fewer passes.
fn groups(parts: impl Iterator<Item = BatchItem>, most: usize) -> Vec<Vec<BatchItem>> {
    // The cost of each group; `None` for a large function, which nothing joins.
    let mut groups: Vec<(Option<usize>, Vec<BatchItem>)> = Vec::new();
    for part in parts {
        let size = (!is_large(part.function())).then(|| cost(part.function()));
        let fits = |(total, group): &&mut (Option<usize>, Vec<BatchItem>)| {
            let is_small = total.zip(size).is_some_and(|(total, size)| total + size <= most);
            is_small && group[0].plan.options == part.plan.options && group[0].may_loop() == part.may_loop()
        };
        match groups.iter_mut().find(fits) {
            Some((total, group)) => {
                *total = total.zip(size).map(|(total, size)| total + size);
                group.push(part);
            }
            None => groups.push((size, vec![part])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
