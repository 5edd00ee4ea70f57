//! Batches: definitions that are compiled together.
//!
//! The fixed cost of a module for LLVM and the linker exceeds the cost of a small
//! function, so compiling many functions into one object takes much less time.
//! The memory of an object is freed when none of its functions is used any more.

use super::Jit;
use super::bindings::Bindings;
use super::definition::{Definition, link};
use super::tier::CompilePlan;
use crate::codegen::{cost, is_large};
use crate::failure::Failure;
use crate::sema::checked::EXPRESSION;
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
    let (ours, others): (Vec<_>, Vec<_>) = definitions.iter().partition(|definition| definition.claim());
    let ours = ours.into_iter().map(|definition| planned(jit, bindings, definition));
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
    let is_ours = definition.claim();
    if is_ours {
        let claimed = certain.iter().filter(|definition| definition.claim());
        let all = std::iter::once(definition).chain(claimed);
        let _ = make_claimed(jit, bindings, all.map(|definition| planned(jit, bindings, definition)));
    }
    awaited(jit, bindings, definition, is_ours)
}

/// Compiles a definition according to a given plan, on a worker. Returns the
/// address of its body.
///
/// # Errors
/// The compiler's message.
pub(super) fn body_as(
    jit: &Arc<Jit>,
    bindings: &Bindings,
    (definition, plan): BatchItem,
) -> Result<usize, Failure> {
    let is_ours = definition.claim();
    if is_ours {
        let _ = make_claimed(jit, bindings, std::iter::once((definition.clone(), plan)));
    }
    awaited(jit, bindings, &definition, is_ours)
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

/// A definition to compile, and how.
pub(super) type BatchItem = (Arc<Definition>, CompilePlan);

fn planned(jit: &Jit, bindings: &Bindings, definition: &Arc<Definition>) -> BatchItem {
    (definition.clone(), bindings.plan(jit, definition.function(), None))
}

/// Compiles definitions that this thread has claimed, and binds their names to
/// the code.
fn make_claimed(
    jit: &Arc<Jit>,
    bindings: &Bindings,
    parts: impl Iterator<Item = BatchItem>,
) -> Result<(), Failure> {
    let mut result = Ok(());
    for group in groups(parts, jit.options.most_operations) {
        let is_expression = |part: &&BatchItem| jit.names.text(part.0.function().name) == EXPRESSION;
        let expressions = group.iter().filter(is_expression).count();
        jit.counters.expressions.add(expressions as u64);
        jit.counters.ir_generated.add((group.len() - expressions) as u64);
        let parts = group.iter().map(|(definition, plan)| (&**definition, plan.clone())).collect();
        let code = match link(jit, parts, "") {
            Ok(code) => code.into_iter().map(Ok).collect(),
            // One at a time, so that only the bad ones fail.
            Err(_) if group.len() > 1 => {
                group.iter().map(|(definition, plan)| definition.link(jit, plan.clone(), "")).collect()
            }
            Err(failure) => vec![Err(failure)],
        };
        for ((definition, _), code) in group.iter().zip(code) {
            // The name is bound to the code before a waiting caller sees the
            // result.
            bindings.finished(jit, definition, code.as_ref().ok().cloned());
            result = result.and(definition.made(code).map(|_| ()));
        }
    }
    result
}

/// Groups what can share an object: definitions with the same options that
/// together cost no more than one large function. A large function is alone.
fn groups(parts: impl Iterator<Item = BatchItem>, most: usize) -> Vec<Vec<BatchItem>> {
    // The cost of each group; `None` for a large function, which nothing joins.
    let mut groups: Vec<(Option<usize>, Vec<BatchItem>)> = Vec::new();
    for part in parts {
        let size = (!is_large(part.0.function())).then(|| cost(part.0.function()));
        let fits = |(total, group): &&mut (Option<usize>, Vec<BatchItem>)| {
            let is_small = total.zip(size).is_some_and(|(total, size)| total + size <= most);
            is_small && group[0].1.options == part.1.options
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
