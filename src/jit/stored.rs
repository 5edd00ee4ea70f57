//! The code of earlier runs: placed in memory instead of compiled and linked.

use super::Jit;
use super::code::{LinkedBody, Object};
use super::make::{BodyRequest, MadeBody};
use crate::abi::Symbol;
use crate::budget::ContextBudget;
use crate::fingerprint::Fingerprint;
use crate::pack::PackedBody;
use crate::pack::portable::{ALIGNMENT, PortableCode};
use std::sync::Arc;

/// Places the code of a body of that identity that an earlier run has compiled, for
/// the context with that budget; `None` if there is none, or it cannot be placed.
/// Needs no compiler.
pub(super) fn place(
    jit: &Jit,
    request: &BodyRequest<'_>,
    identity: Fingerprint,
    budget: &Arc<ContextBudget>,
) -> Option<MadeBody> {
    // A debugger would not hear of it.
    if !jit.store.has_packs() || jit.options.debug_objects {
        return None;
    }
    let source = request.function.source.name();
    jit.store.find(source, &identity, |packed| place_packed(jit, request, budget, packed))
}

fn place_packed(
    jit: &Jit,
    request: &BodyRequest<'_>,
    budget: &Arc<ContextBudget>,
    packed: PackedBody<'_>,
) -> Option<MadeBody> {
    let mut held = jit.slots.hold_nothing();
    let fields = packed.fields(|symbol| {
        let address = match Symbol::parse(symbol) {
            Some(symbol) => held.hold(&jit.slots, symbol, |name| jit.names.get(name)),
            None => super::resolve(symbol),
        };
        address.map(kal_code::Address::get)
    })?;
    let charge = budget.charge_code(packed.code.len() as u64).ok()?;
    jit.slab.set_limit(jit.budget.left_for_code());
    let code = jit.slab.place(packed.code.len(), ALIGNMENT, |address, memory| {
        memory.copy_from_slice(packed.code);
        PortableCode::fill(fields, address.get(), memory)
    });
    let (code, size) = (code.ok()??, u64::from(packed.size));
    if jit.options.perf_map {
        code.name(0, size, request.symbol(jit).text());
    }
    let body = code.address().get() as usize;
    let object = Object::placed(code, held, charge);
    Some((LinkedBody::new(&jit.code, &object, body, request.owner()), size))
}
