//! Batches: definitions that are compiled together, ahead of their calls.
//!
//! What LLVM and the linker do once for a module costs more than a small
//! function, so many functions in one object take much less time. Their memory
//! is given back when none of them is in use any more.

use super::Jit;
use super::bindings::Bindings;
use super::definition::{Definition, link};
use super::tier::Plan;
use crate::codegen::is_large;
use crate::failure::Failure;
use std::sync::Arc;

/// So many definitions go into one batch. Whoever waits for one of them waits
/// for all.
pub(super) const SIZE: usize = 64;

/// Compiles definitions, on a worker, and binds their names to the code;
/// passes over those that somebody else compiles.
///
/// # Errors
/// The first that cannot be compiled; all others are.
pub(super) fn make(
    jit: &Arc<Jit>,
    bindings: &Bindings,
    definitions: &[Arc<Definition>],
) -> Result<(), Failure> {
    let mut result = Ok(());
    let claimed = definitions.iter().filter(|definition| definition.claim());
    let plan =
        |definition: &Arc<Definition>| (definition.clone(), bindings.plan(jit, definition.function(), None));
    for group in groups(claimed.map(plan).collect()) {
        jit.counters.ir_generated.add(group.len() as u64);
        let parts = group.iter().map(|(definition, plan)| (&**definition, plan.clone())).collect();
        let code = match link(jit, parts, "") {
            Ok(code) => code.into_iter().map(Ok).collect(),
            // One by one, so that only what is wrong fails.
            Err(_) if group.len() > 1 => {
                group.iter().map(|(definition, plan)| definition.link(jit, plan.clone(), "")).collect()
            }
            Err(failure) => vec![Err(failure)],
        };
        for ((definition, _), code) in group.iter().zip(code) {
            let body = definition.made(code);
            bindings.finished(jit, definition, body.as_ref().ok().copied());
            result = result.and(body.map(|_| ()));
        }
    }
    result
}

type Part = (Arc<Definition>, Plan);

/// Puts together what can be in one object: what is made in the same way. A
/// large function is alone.
fn groups(parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut groups: Vec<Vec<Part>> = Vec::new();
    for part in parts {
        let is_alone = |part: &Part| is_large(part.0.function());
        let fits = |group: &&mut Vec<Part>| {
            let other = &group[0];
            other.1.options == part.1.options && !is_alone(other) && !is_alone(&part)
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    groups
}
