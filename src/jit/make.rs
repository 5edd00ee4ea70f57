//! The way from checked functions to linked code: all code of definitions,
//! expressions, formulas and loops is made here, on a worker unless it is baseline code.

use super::body_request::{BodyRequest, MadeBody};
use super::code::{LinkedBody, Object};
use super::code_map::CodeOwner;
use super::refusal::LinkError;
use super::symbols::BodySymbol;
use super::worker::with_compiler;
use super::{Jit, nanoseconds, place, refusal};
use crate::baseline;
use crate::budget::{CodeCharge, ContextBudget};
use crate::codegen::{Body, Listing, ObjectSymbols};
use crate::failure::Failure;
use crate::pack::portable::PortableCode;
use crate::process::{self, Activity};
use std::sync::Arc;
use std::time::Instant;

/// Compiles bodies into one object and links it, for the context with that
/// budget. All plans must have the same options.
///
/// # Errors
/// Why there is no code, attributed to the first function.
pub(super) fn make(
    jit: &Jit,
    requests: &[BodyRequest<'_>],
    budget: &Arc<ContextBudget>,
) -> Result<Vec<MadeBody>, Failure> {
    let Some(first) = requests.first() else { return Ok(Vec::new()) };
    let over = |limit| Failure::OverLimit { function: first.function.clone(), limit };
    budget.check_compile().map_err(over)?;
    let started = Instant::now();
    let made = make_within(jit, requests, first, budget);
    let took = started.elapsed();
    budget.spend(nanoseconds(took));
    if let (Some(observer), Ok(_)) = (&jit.options.compile_observer, &made) {
        let each = took / requests.len() as u32;
        process::within(Activity::Elsewhere, || {
            requests.iter().for_each(|request| request.tell(jit, observer, each));
        });
    }
    made
}

fn make_within(
    jit: &Jit,
    requests: &[BodyRequest<'_>],
    first: &BodyRequest<'_>,
    budget: &Arc<ContextBudget>,
) -> Result<Vec<MadeBody>, Failure> {
    if requests.iter().all(|request| request.is_baseline(jit)) {
        jit.counters.objects_linked.add(1);
        return requests.iter().map(|request| make_baseline(jit, request, budget)).collect();
    }
    let options = first.plan.options;
    let symbols: Vec<BodySymbol> = requests.iter().map(|request| request.symbol(jit)).collect();
    let all = || requests.iter().zip(&symbols);
    let bodies: Vec<Body<'_>> = all().map(|(request, symbol)| request.body(symbol.text())).collect();
    let object = with_compiler(|compiler| compiler.object(&bodies, &jit.names, options));
    let object = object.map_err(|error| refusal::ungenerated(&error, first.function))?;
    let owners: Vec<_> = requests.iter().map(BodyRequest::owner).collect();
    let over = |limit| Failure::OverLimit { function: first.function.clone(), limit };
    let charge = budget.charge_code(ObjectSymbols::memory(&object)).map_err(over)?;
    keep(jit, &object, requests.iter().zip(&symbols));
    let linked = link(jit, &object, symbols.into_iter().zip(owners), Some(charge));
    linked.map_err(|error| refusal::unlinked(error, first.function))
}

/// Compiles a body without LLVM, and places it.
fn make_baseline(
    jit: &Jit,
    request: &BodyRequest<'_>,
    budget: &Arc<ContextBudget>,
) -> Result<MadeBody, Failure> {
    let code = baseline::compile(request.body(""), &jit.names, request.plan.options);
    let mut code = code.map_err(|error| refusal::ungenerated(&error, request.function))?;
    let over = |limit| Failure::OverLimit { function: request.function.clone(), limit };
    let charge = budget.charge_code(code.bytes.len() as u64).map_err(over)?;
    let placed = place::place_made(jit, request, &code, charge);
    let source = request.function.source.name();
    if jit.store.keeps(source) && !jit.store.made_again(source, code.bytes.len(), || request.recipe(jit)) {
        // What is kept until the end takes no more memory than it needs. A copy leaves the memory
        // to the next body, where one that shrinks leaves the rest, in which there is no room.
        code.bytes = code.bytes.as_slice().into();
        code.fields.shrink_to_fit();
        request.keep(jit, code);
    }
    placed.map_err(|error| refusal::unlinked(error, request.function))
}

/// Compiles bodies, each under its symbol, and returns what they are compiled to.
///
/// # Errors
/// Why there is no code, attributed to the first function.
pub(super) fn list(
    jit: &Jit,
    listing: Listing,
    requests: &[(BodyRequest<'_>, &str)],
) -> Result<Vec<u8>, Failure> {
    let Some((first, _)) = requests.first() else { return Ok(Vec::new()) };
    let bodies: Vec<Body<'_>> = requests.iter().map(|(request, symbol)| request.body(symbol)).collect();
    let listed = with_compiler(|compiler| compiler.listing(listing, &bodies, &jit.names, jit.options.code));
    listed.map_err(|error| refusal::ungenerated(&error, first.function))
}

/// Links an object and looks its bodies up, each with the function that it
/// belongs to. The object keeps their symbols in use, and its charge.
///
/// # Errors
/// If the linker refuses.
pub(super) fn link(
    jit: &Jit,
    object: &[u8],
    bodies: impl Iterator<Item = (BodySymbol, CodeOwner)>,
    charge: Option<CodeCharge>,
) -> Result<Vec<MadeBody>, LinkError> {
    let ObjectSymbols { defined, undefined } = ObjectSymbols::of(object);
    let (symbols, owners): (Vec<_>, Vec<_>) = bodies.unzip();
    let added = jit.add_object(object)?;
    let held = jit.slots.hold_all(undefined, |name| jit.names.get(name));
    let linked = Object::new(added, symbols, held, charge);
    jit.counters.objects_linked.add(1);
    let body = |(symbol, owner): (&BodySymbol, _)| {
        let address = jit.linker.lookup(symbol.text())?;
        let body = LinkedBody::new(&jit.code, &linked, address.get() as usize, owner);
        Ok((body, defined.get(symbol.text()).copied().unwrap_or(0)))
    };
    linked.symbols().iter().zip(owners).map(body).collect()
}

/// Keeps the code of bodies for later runs, of an object that defines their symbols.
fn keep<'a>(jit: &Jit, object: &[u8], bodies: impl Iterator<Item = (&'a BodyRequest<'a>, &'a BodySymbol)>) {
    for (request, symbol) in bodies {
        // What is for a debugger is never placed.
        if jit.options.debug_objects || !jit.store.keeps(request.function.source.name()) {
            continue;
        }
        let code = PortableCode::of(object, symbol.text());
        // Otherwise every run compiles it.
        debug_assert!(code.is_some(), "only a linker can place {}", symbol.text());
        code.into_iter().for_each(|code| request.keep(jit, code));
    }
}
