//! Placing portable code in memory: what earlier runs have compiled, and what the
//! baseline compiler makes. Neither LLVM nor a linker is needed.

use super::Jit;
use super::body_request::{BodyRequest, MadeBody};
use super::code::{LinkedBody, Object};
use super::refusal::LinkError;
use super::slots::HeldOffsets;
use crate::abi::Symbol;
use crate::budget::{CodeCharge, ContextBudget};
use crate::fingerprint::Fingerprint;
use crate::pack::PackedBody;
use crate::pack::portable::{ALIGNMENT, Field, PortableCode};
use std::sync::Arc;

/// Places the code of a body of that identity that an earlier run has compiled, for
/// the context with that budget; `None` if there is none, or it cannot be placed.
pub(super) fn place_stored(
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
    let find = || jit.store.find(source, &identity, |packed| place_packed(jit, request, budget, packed));
    find().or_else(|| {
        // To compile an expression takes less than to read packs.
        let is_worth_it = !jit.is_expression(request.function) && jit.store.keeps(source);
        (is_worth_it && jit.store.read_rest()).then(find)?
    })
}

fn place_packed(
    jit: &Jit,
    request: &BodyRequest<'_>,
    budget: &Arc<ContextBudget>,
    packed: PackedBody<'_>,
) -> Option<MadeBody> {
    let mut held = jit.slots.hold_nothing();
    let fields = packed.fields(|symbol| value(jit, &mut held, symbol))?;
    let code = packed.code()?;
    let charge = budget.charge_code(code.len() as u64).ok()?;
    place(jit, request, (&code, packed.size), fields, (held, charge)).ok()?
}

/// Places the code of a body, at the expense of the context that it is for.
///
/// # Errors
/// If there is no room for it, or too many functions.
pub(super) fn place_made(
    jit: &Jit,
    request: &BodyRequest<'_>,
    code: &PortableCode,
    charge: CodeCharge,
) -> Result<MadeBody, LinkError> {
    let mut held = jit.slots.hold_nothing();
    let field = |field: &Field<Box<str>>| {
        let symbol = value(jit, &mut held, &field.symbol)?;
        Some(Field { at: field.at, kind: field.kind, addend: field.addend, symbol })
    };
    let fields: Option<Vec<_>> = code.fields.iter().map(field).collect();
    let fields = fields.ok_or_else(|| LinkError::Refused("there are too many functions".to_owned()))?;
    let placed = place(jit, request, (&code.bytes, code.size), fields, (held, charge))?;
    placed.ok_or_else(|| LinkError::Internal("code has an offset that no instruction takes".to_owned()))
}

/// Returns the value of a symbol, and holds what it stands for.
fn value(jit: &Jit, held: &mut HeldOffsets, symbol: &str) -> Option<u64> {
    let address = match Symbol::parse(symbol) {
        Some(symbol) => held.hold(&jit.slots, symbol, |name| jit.names.get(name)),
        None => super::resolve(symbol),
    };
    address.map(kal_code::Address::get)
}

/// Places code, given with the size of its body; `None` if a field has no such value.
fn place(
    jit: &Jit,
    request: &BodyRequest<'_>,
    (code, size): (&[u8], u32),
    fields: Vec<Field<u64>>,
    (held, charge): (HeldOffsets, CodeCharge),
) -> Result<Option<MadeBody>, LinkError> {
    jit.make_room();
    let placed = jit.slab.place(code.len(), ALIGNMENT, |address, memory| {
        memory.copy_from_slice(code);
        PortableCode::fill(fields, address.get(), memory)
    });
    let Some(code) = placed.map_err(|error| LinkError::Refused(error.to_string()))? else { return Ok(None) };
    let size = u64::from(size);
    if jit.options.perf_map {
        code.name(0, size, request.symbol(jit).text());
    }
    let body = code.address().get() as usize;
    let object = Object::placed(code, held, charge);
    Ok(Some((LinkedBody::new(&jit.code, &object, body, request.owner()), size)))
}
