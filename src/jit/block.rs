//! Blocks: the code of many definitions of a layer, placed together.
//!
//! When a definition of a layer is first called, the code of all definitions that earlier
//! runs have linked with the text is copied to one range of the code memory, and their
//! slots are filled: no call of them comes by a trampoline, nothing of them is decoded,
//! and no name is bound. What a name means is bound with its code when something asks for
//! it, and before anything changes that the code assumes.

use super::Jit;
use super::block_layout::{BlockLayout, LinkedCode, LinkedPack};
use super::code::{CodeBlock, CompiledCode, LinkedBlock, Object, SharedBody};
use super::code_map::BlockOwners;
use super::slots::{HeldCalls, HeldOffsets};
use crate::abi::Symbol;
use crate::budget::ContextBudget;
use crate::codegen::Entry;
use crate::fingerprint::Fingerprint;
use crate::name::Name;
use crate::pack::PackedBody;
use crate::pack::links::{LinkedSymbol, PackedLinks};
use crate::pack::portable::{ALIGNMENT, Field, PortableCode};
use crate::process::{self, Activity};
use crate::runtime::{ExecutionMemory, Slot};
use crate::sema::checked::CheckedFunction;
use crate::world::Layer;
use kal_code::Address;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The packs with code of the definitions of a layer.
pub(super) struct LayerPacks {
    assumed: Fingerprint,
    packs: Vec<LinkedPack>,
    /// How many are packs of the text. Others are those of an earlier one, with the code of what
    /// is planned as it was.
    own: usize,
}

impl LayerPacks {
    /// Returns the packs of a layer; `None` if it cannot have any.
    fn of(jit: &Jit, layer: &Layer) -> Option<Self> {
        // Tools are told of each body.
        if jit.options.debug_objects || jit.options.perf_map {
            return None;
        }
        let assumed = jit.assumed(layer.text())?;
        let under = |assumed: Fingerprint| {
            jit.store.linked(&assumed).into_iter().map(move |pack| LinkedPack { pack, assumed })
        };
        let mut packs: Vec<LinkedPack> = under(assumed).collect();
        let full =
            layer.text().identity().map(|text| jit.assumed_of_full(text)).filter(|full| *full != assumed);
        packs.extend(full.into_iter().flat_map(under));
        let own = packs.len();
        let stored = layer.text().stored_identity().filter(|_| layer.text().is_edited());
        packs.extend(stored.map(|stored| jit.assumed_of(stored)).into_iter().flat_map(under));
        Some(Self { assumed, packs, own })
    }
}

impl Jit {
    /// Holds the slots of the calls in the packs of a layer that is about to lie below the
    /// bindings. Where the engine has no slots yet, the code of the first pack is as it will be
    /// placed.
    pub(super) fn hold_calls_of(&self, layer: &Layer) -> Arc<[HeldCalls]> {
        let packs = LayerPacks::of(self, layer).map_or(Vec::new(), |packs| packs.packs);
        packs.into_iter().filter_map(|pack| self.slots.hold_long(pack).ok()?).collect()
    }
}

impl CodeBlock {
    /// Returns the code of the definitions of a layer that earlier runs have linked with
    /// its text, placed for the context with that budget unless the engine has it; `None`
    /// if there is none, or it cannot be placed as a whole. Needs no compiler.
    pub(super) fn of(jit: &Arc<Jit>, layer: &Arc<Layer>, budget: &Arc<ContextBudget>) -> Option<Arc<Self>> {
        let packs = LayerPacks::of(jit, layer)?;
        let assumed = packs.assumed;
        let known = process::within(Activity::Steady, || jit.blocks.lock().find(&assumed));
        known.or_else(|| {
            let block = Self::place(jit, layer, packs, budget)?;
            process::within(Activity::Steady, || jit.blocks.lock().add(assumed, &block));
            Some(block)
        })
    }

    fn place(
        jit: &Arc<Jit>,
        layer: &Arc<Layer>,
        packs: LayerPacks,
        budget: &Arc<ContextBudget>,
    ) -> Option<Arc<Self>> {
        let layout = BlockLayout::of(packs.packs, packs.own, layer)?;
        let first = layout.linked.first().and_then(|first| layer.function_at(first.position as usize))?;
        let charge =
            u32::try_from(layout.size).ok().and_then(|size| budget.charge_code_ahead(size.into()))?;
        jit.slab.set_limit(jit.budget.left_for_code());
        let (links, mut held) = (layout.links()?, jit.slots.hold_nothing());
        let referred = links.iter().zip(&layout.packs).map(|(links, pack)| {
            held.add(jit.slots.hold_calls(pack.clone()).ok()?);
            others(jit, &mut held, *links)
        });
        let referred: Vec<_> = referred.collect::<Option<_>>()?;
        let write = |address: Address, memory: &mut [u8]| {
            layout.copy(&links, memory)
                && layout.linked.iter().all(|code| {
                    let (start, pack) = (code.offset as usize, code.pack as usize);
                    let (calls, others) = (&held.calls()[pack], &referred[pack]);
                    let Some(link) = links[pack].link(code.link) else { return false };
                    if calls.have_their_numbers() && !link.has_others {
                        return true;
                    }
                    let Some((_, body)) = links[pack].body(link.body) else { return false };
                    let memory = &mut memory[start..start + link.len as usize];
                    fill(links[pack], body, (calls, others), address.get() + start as u64, memory).is_some()
                })
        };
        let code = match layout.mapped(&links) {
            Some(part) => jit.slab.place_part(part, layout.size, write),
            None => jit.slab.place(layout.size, ALIGNMENT, write),
        };
        let code = code.ok()??;
        let start = code.address().get() as usize;
        drop(links);
        let layout = Arc::new(layout);
        let owners = BlockOwners::new(layer, &layout);
        jit.store.found(first.source.name(), layout.clone());
        let object = Object::placed(code, held, charge);
        let block = LinkedBlock::new(&jit.code, &object, start, owners);
        Some(Self::new(jit, block, layout))
    }

    /// Makes the slots of its bodies lead there in the memory of a context, except for some.
    pub(super) fn lead(&self, jit: &Jit, memory: &ExecutionMemory, except: &FxHashSet<Slot>) {
        let Some((links, held)) = self.layout.links().zip(self.held()) else { return };
        let entries = self.layout.linked.iter().filter_map(|code| self.entry(&links, code));
        jit.slots.lead(memory, entries.filter(|(slot, _)| !except.contains(slot)));
        jit.slots.fill_all(memory, held.slots());
    }

    fn entry(&self, links: &[PackedLinks<'_>], code: &LinkedCode) -> Option<(Slot, usize)> {
        let target = links[code.pack as usize].link(code.link)?.target;
        let slot = self.held()?.calls()[code.pack as usize].slot(target)?;
        Some((slot, self.start() + code.offset as usize))
    }

    /// Returns the slot that leads to the body of a name that a layer defines, and its address;
    /// `None` if it has none.
    pub(super) fn entry_of(&self, layer: &Layer, name: Name) -> Option<(Slot, usize)> {
        self.entry(&self.layout.links()?, self.layout.find(layer, name)?)
    }

    /// Returns the code of a definition of a layer, with its slot; `None` if it has none.
    /// Should it not be what the definition would be compiled to, nothing leads to it any
    /// more.
    pub(super) fn code(
        self: &Arc<Self>,
        layer: &Layer,
        function: &Arc<CheckedFunction>,
    ) -> Option<(Arc<CompiledCode>, Slot)> {
        let jit = self.jit.upgrade()?;
        let code = self.layout.find(layer, function.name)?;
        let links = self.layout.links()?;
        let (slot, address) = self.entry(&links, code)?;
        let (link, identity, body) = code.read(&links)?;
        let defined = |name: Name| layer.definition(name).map(|bound| bound.function.clone());
        let plan = jit.plan_alone(link.tier, function, &defined);
        if plan.identity(function, Entry::Call, &jit.names) != identity {
            jit.slots.retract(slot, address);
            return None;
        }
        let body = SharedBody::in_block(self, address, body.size.into());
        Some((CompiledCode::new(body, plan, function), slot))
    }

    /// Returns whether it has the code of a definition of a layer.
    pub(super) fn has(&self, layer: &Layer, name: Name) -> bool {
        self.layout.find(layer, name).is_some()
    }

    /// Returns the names of the definitions of a layer whose code it has, which are decoded.
    pub(super) fn names(&self, layer: &Layer) -> impl Iterator<Item = Name> {
        let functions = self.layout.linked.iter().map(|code| layer.function_at(code.position as usize));
        functions.flatten().map(|function| function.name)
    }

    /// Makes the slots that lead to code of definitions of a layer for which `is_left` lead
    /// nowhere.
    pub(super) fn retract(&self, layer: &Layer, is_left: impl Fn(Name) -> bool) {
        let (Some(jit), Some(links)) = (self.jit.upgrade(), self.layout.links()) else { return };
        for code in &self.layout.linked {
            // What cannot be decoded cannot be bound.
            let is_bound = |function: &Arc<CheckedFunction>| !is_left(function.name);
            if layer.function_at(code.position as usize).is_some_and(is_bound) {
                continue;
            }
            let entry = self.entry(&links, code);
            entry.into_iter().for_each(|(slot, address)| jit.slots.retract(slot, address));
        }
    }
}

/// Returns what the symbols of a pack stand for that are of no slot, by number, and holds that;
/// `None` if it cannot be found.
fn others(jit: &Jit, held: &mut HeldOffsets, links: PackedLinks<'_>) -> Option<FxHashMap<u32, u64>> {
    let mut values = FxHashMap::default();
    for number in 0..links.symbol_count() as u32 {
        let Some(LinkedSymbol::Other(symbol)) = links.symbol(number) else { continue };
        let address = match Symbol::parse(symbol) {
            Some(symbol) => held.hold(&jit.slots, symbol, |name| jit.names.get(name))?,
            None => super::resolve(symbol)?,
        };
        values.insert(number, address.get());
    }
    Some(values)
}

/// Fills the fields of code of a pack in memory that will run at an address, by the slots of its
/// calls and what its other symbols stand for; `None` if it cannot run there.
fn fill(
    links: PackedLinks<'_>,
    body: PackedBody<'_>,
    (calls, others): (&HeldCalls, &FxHashMap<u32, u64>),
    address: u64,
    memory: &mut [u8],
) -> Option<()> {
    let slot = |target| calls.slot(target);
    let value = |symbol| {
        Some(match links.symbol(symbol)? {
            LinkedSymbol::Slot(target) => slot(target)?.offset() as u64,
            LinkedSymbol::Counter(target) => slot(target)?.counter_offset() as u64,
            LinkedSymbol::Numbers(target) => slot(target)?.numbers_offset() as u64,
            LinkedSymbol::Other(_) => *others.get(&symbol)?,
        })
    };
    let mut fields = body.numbered_fields(calls.have_their_numbers())?.map(|field| {
        let field: Field<u32> = field?;
        Some(field.with(value(field.symbol)?))
    });
    fields.try_for_each(|field| PortableCode::fill([field?], address, memory).then_some(()))
}
