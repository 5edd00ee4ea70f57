//! Blocks: the code of many definitions of a layer, placed together.
//!
//! When a definition of a layer is first called, the code of all definitions that earlier
//! runs have linked with the text is copied to one range of the code memory, and their
//! slots are filled: no call of them comes by a trampoline, nothing of them is decoded,
//! and no name is bound. What a name means is bound with its code when something asks for
//! it, and before anything changes that the code assumes.

use super::Jit;
use super::code::{BlockEntry, CodeBlock, CompiledCode, LinkedBlock, Object, SharedBody};
use super::code_map::BlockOwners;
use super::slots::{CallTarget, HeldOffsets};
use super::tier::Tier;
use crate::abi::Symbol;
use crate::budget::ContextBudget;
use crate::codegen::Entry;
use crate::fingerprint::Fingerprint;
use crate::name::{HeldName, Name};
use crate::pack::links::{LinkedSymbol, PackedLink, PackedLinks};
use crate::pack::portable::{ALIGNMENT, Field, PortableCode};
use crate::pack::{Pack, PackedBody};
use crate::process::{self, Activity, Beside};
use crate::runtime::Slot;
use crate::sema::checked::CheckedFunction;
use crate::world::Layer;
use std::sync::Arc;

/// What is to be placed for a definition.
struct LinkedCode {
    position: u32,
    /// The number of its pack.
    pack: u32,
    /// What the pack says of it.
    link: PackedLink,
    /// Where it is in the code of the pack.
    place: (u32, u32),
    /// Where it is placed.
    offset: usize,
}

impl LinkedCode {
    /// Returns its identity and its code.
    fn body<'p>(&self, packs: &[PackedLinks<'p>]) -> Option<(Fingerprint, PackedBody<'p>)> {
        packs[self.pack as usize].body(self.link.body)
    }

    fn len(&self) -> usize {
        (self.place.1 - self.place.0) as usize
    }
}

impl CodeBlock {
    /// Returns the code of the definitions of a layer that earlier runs have linked with
    /// its text, placed for the context with that budget unless the engine has it; `None`
    /// if there is none, or it cannot be placed as a whole. Needs no compiler.
    pub(super) fn of(jit: &Arc<Jit>, layer: &Arc<Layer>, budget: &Arc<ContextBudget>) -> Option<Arc<Self>> {
        // Tools are told of each body.
        if jit.options.debug_objects || jit.options.perf_map {
            return None;
        }
        let assumed = jit.assumed(layer.text())?;
        let known = process::within(Activity::Steady, || jit.blocks.lock().find(&assumed));
        known.or_else(|| {
            let block = Self::place(jit, layer, &assumed, budget)?;
            process::within(Activity::Steady, || jit.blocks.lock().add(assumed, &block));
            Some(block)
        })
    }

    fn place(
        jit: &Arc<Jit>,
        layer: &Arc<Layer>,
        assumed: &Fingerprint,
        budget: &Arc<ContextBudget>,
    ) -> Option<Arc<Self>> {
        let under = |assumed: Fingerprint| {
            jit.store.linked(&assumed).into_iter().map(move |pack| LinkedPack { pack, assumed })
        };
        let mut linked_packs: Vec<LinkedPack> = under(*assumed).collect();
        let full =
            layer.text().identity().map(|text| jit.assumed_of_full(text)).filter(|full| full != assumed);
        linked_packs.extend(full.into_iter().flat_map(under));
        let own = linked_packs.len();
        // Of an earlier text, what is planned as it was has the same code.
        let stored = layer.text().stored_identity().filter(|_| layer.text().is_edited());
        linked_packs.extend(stored.map(|stored| jit.assumed_of(stored)).into_iter().flat_map(under));
        let packs = LinkedPack::all_links(&linked_packs)?;
        let mut referring = Referring::start(jit, &linked_packs, &packs);
        let layout = BlockLayout::of(&packs, own, layer);
        let linked = &layout.linked;
        let first = linked.first().and_then(|first| layer.function_at(first.position as usize));
        let charge = u32::try_from(layout.size).ok().and_then(|size| budget.charge_code_ahead(size.into()));
        let (first, charge) = first.zip(charge)?;
        jit.slab.set_limit(jit.budget.left_for_code());
        let mut entries = Vec::with_capacity(linked.len());
        let (mut identities, mut referred) = (Arc::default(), None);
        let code = jit.slab.place(layout.size, ALIGNMENT, |address, memory| {
            let is_whole = layout.copy(&packs, memory);
            let bodies: Option<Vec<_>> = linked.iter().map(|code| code.body(&packs)).collect();
            let Some(bodies) = bodies else { return false };
            identities = bodies.iter().map(|(identity, _)| *identity).collect();
            referred = referring.wait(jit, &packs);
            let Some(referred) = &referred else { return false };
            let mut fill = |(code, (_, body)): (&LinkedCode, &(_, PackedBody<'_>))| {
                let (target, slot) = referred.calls(code)?;
                let (position, offset) = (code.position, code.offset as u32);
                let (size, tier) = (body.size, code.link.tier);
                entries.push(BlockEntry { position, offset, size, tier, target, slot });
                let memory = &mut memory[code.offset..code.offset + code.len()];
                referred.fill(code.pack, *body, address.get() + code.offset as u64, memory).then_some(())
            };
            is_whole && linked.iter().zip(&bodies).all(|linked| fill(linked).is_some())
        });
        let code = code.ok()??;
        let start = code.address().get() as usize;
        let mut bodies: Vec<_> = linked.iter().map(|code| (code.offset as u32, code.position)).collect();
        bodies.sort_unstable();
        let owners = BlockOwners { layer: layer.clone(), bodies };
        let Referred { names, held, .. } = referred?;
        jit.store.found(first.source.name(), identities.clone());
        let object = Object::placed(code, held, charge);
        let block = LinkedBlock::new(&jit.code, &object, start, owners, names);
        Some(Self::new(jit, block, entries, identities))
    }

    /// Returns the calls that lead to each of its bodies, with their slot and the address
    /// of the body.
    pub(super) fn entries(&self) -> impl Iterator<Item = (CallTarget, Slot, usize)> {
        self.entries.iter().map(|entry| (entry.target, entry.slot, self.start() + entry.offset as usize))
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
        let position = layer.position(function.name)? as u32;
        let at = self.entries.binary_search_by_key(&position, |entry| entry.position).ok()?;
        let entry = &self.entries[at];
        let defined = |name: Name| layer.definition(name).map(|bound| bound.function.clone());
        let plan = jit.plan_alone(entry.tier, function, &defined);
        let address = self.start() + entry.offset as usize;
        if plan.identity(function, Entry::Call, &jit.names) != self.identities[at] {
            jit.slots.retract(entry.slot, address);
            return None;
        }
        let body = SharedBody::in_block(self, address, entry.size.into());
        Some((CompiledCode::new(body, plan, function), entry.slot))
    }

    /// Returns whether it has the code of a definition of a layer.
    pub(super) fn has(&self, layer: &Layer, name: Name) -> bool {
        let position = layer.position(name).map(|position| position as u32);
        let at = |position| self.entries.binary_search_by_key(&position, |entry| entry.position).ok();
        position.and_then(at).is_some()
    }

    /// Makes the slots that lead to code of definitions for which `is_left` lead nowhere.
    pub(super) fn retract(&self, is_left: impl Fn(Name) -> bool) {
        let Some(jit) = self.jit.upgrade() else { return };
        let left = self.entries().filter(|(target, ..)| is_left(target.name));
        left.for_each(|(_, slot, address)| jit.slots.retract(slot, address));
    }
}

/// Where what is to be placed comes to be.
struct BlockLayout {
    /// In the order of the definitions.
    linked: Vec<LinkedCode>,
    /// For each pack of which all code is placed, as most of it is linked: where.
    wholes: Vec<Option<usize>>,
    /// How much memory it takes, in bytes.
    size: usize,
}

impl BlockLayout {
    /// Returns the layout of the code of each definition of a layer that has links in packs,
    /// of the better if there are several. The first packs are those of the text, and others of
    /// an earlier one.
    fn of(packs: &[PackedLinks<'_>], own: usize, layer: &Layer) -> Self {
        let start = layer.text().opening().start;
        let mut linked: Vec<_> = Vec::with_capacity(packs.iter().map(|links| links.len()).sum());
        for (pack, links) in packs.iter().enumerate() {
            let is_changed = |item| pack >= own && layer.text().is_changed(item as usize);
            linked.extend(links.links(is_changed).filter_map(|link| {
                let place = links.body(link.body)?.1.place();
                let place = (place.start as u32, place.end as u32);
                let position = (link.item as usize)
                    .checked_sub(start)
                    .filter(|position| *position < layer.text().opening().len())?;
                Some(LinkedCode { position: position as u32, pack: pack as u32, link, place, offset: 0 })
            }));
        }
        linked.sort_unstable_by_key(|code| (code.position, code.link.tier == Tier::Quick, code.pack));
        linked.dedup_by_key(|code| code.position);
        let mut used = vec![(0, true); packs.len()];
        for code in &linked {
            let (bytes, is_aligned) = &mut used[code.pack as usize];
            *bytes += code.len();
            *is_aligned &= code.place.0.is_multiple_of(ALIGNMENT as u32);
        }
        let mut size = 0;
        let mut take = |bytes: usize| {
            let offset = size;
            size = (offset + bytes).next_multiple_of(ALIGNMENT);
            offset
        };
        let whole = |(links, (bytes, is_aligned)): (&PackedLinks<'_>, (usize, bool))| {
            let all = links.pack().code_len();
            (is_aligned && bytes > 0 && bytes >= all / 2).then(|| take(all))
        };
        let wholes: Vec<_> = packs.iter().zip(used).map(whole).collect();
        for code in &mut linked {
            code.offset = match wholes[code.pack as usize] {
                Some(whole) => whole + code.place.0 as usize,
                None => take(code.len()),
            };
        }
        Self { linked, wholes, size }
    }

    /// Copies the code to the memory of the block. Returns whether it is not damaged.
    fn copy(&self, packs: &[PackedLinks<'_>], memory: &mut [u8]) -> bool {
        let whole = |(links, whole): (&PackedLinks<'_>, &Option<usize>)| {
            let Some(start) = *whole else { return true };
            let pack = links.pack();
            pack.copy_code(&mut memory[start..start + pack.code_len()])
        };
        packs.iter().zip(&self.wholes).all(whole)
            && self.linked.iter().filter(|code| self.wholes[code.pack as usize].is_none()).all(|code| {
                let body = code.body(packs).and_then(|(_, body)| body.code());
                let Some(body) = body else { return false };
                memory[code.offset..code.offset + body.len()].copy_from_slice(&body);
                true
            })
    }
}

/// A pack whose links hold under what is assumed.
#[derive(Clone)]
struct LinkedPack {
    pack: Arc<Pack>,
    assumed: Fingerprint,
}

impl LinkedPack {
    /// Returns the links of packs.
    fn all_links(packs: &[Self]) -> Option<Vec<PackedLinks<'_>>> {
        packs.iter().map(|Self { pack, assumed }| pack.links(assumed)).collect()
    }
}

/// What the linked code of packs refers to, which another thread finds out while much code is
/// copied.
struct Referring(Option<Beside<Option<Referred>>>);

/// From this many links on, another thread is worth it.
const MANY_LINKS: usize = 2000;

impl Referring {
    /// Begins to hold what the linked code of packs refers to, if there is much.
    fn start(jit: &Arc<Jit>, packs: &[LinkedPack], links: &[PackedLinks<'_>]) -> Self {
        if links.iter().map(|links| links.len()).sum::<usize>() < MANY_LINKS {
            return Self(None);
        }
        let (jit, packs) = (jit.clone(), packs.to_vec());
        let refer = move || Referred::of(&jit, &LinkedPack::all_links(&packs)?);
        Self(Beside::start("kal names", refer).ok())
    }

    /// Returns what these packs refer to.
    fn wait(&mut self, jit: &Jit, packs: &[PackedLinks<'_>]) -> Option<Referred> {
        let found = self.0.take().and_then(Beside::wait);
        found.unwrap_or_else(|| Referred::of(jit, packs))
    }
}

impl Drop for Referring {
    /// Waits until the other thread has let go of the compiler, which it must not end.
    fn drop(&mut self) {
        let _ = self.0.take().and_then(Beside::wait);
    }
}

/// What the linked code of packs refers to.
struct Referred {
    names: Vec<HeldName>,
    targets: Vec<CallTarget>,
    /// The slots of the targets.
    slots: Vec<Slot>,
    /// For each pack, its first target.
    starts: Vec<usize>,
    /// For each pack, what its symbols stand for; 0 if no linked code has them.
    values: Vec<Vec<u64>>,
    held: HeldOffsets,
}

impl Referred {
    /// Holds what the linked code of packs refers to.
    fn of(jit: &Jit, packs: &[PackedLinks<'_>]) -> Option<Self> {
        let all: Vec<_> = packs.iter().flat_map(|links| links.targets()).collect::<Option<_>>()?;
        let names = jit.names.try_hold_all(all.iter().map(|(name, _)| *name)).ok()?;
        let target =
            |(name, (_, arity)): (&HeldName, &(&str, u32))| CallTarget { name: name.name(), arity: *arity };
        let targets: Vec<_> = names.iter().zip(&all).map(target).collect();
        let mut held = jit.slots.hold_nothing();
        let slots = jit.slots.hold_targets(&mut held, &targets).ok()?;
        let (mut starts, mut next) = (Vec::new(), 0);
        for links in packs {
            starts.push(next);
            next += links.targets().len();
        }
        let mut value = |links: &PackedLinks<'_>, start: usize, number| -> Option<u64> {
            let slot = |target: u32| slots.get(start + target as usize).copied();
            Some(match links.symbol(number) {
                Some(LinkedSymbol::Slot(target)) => slot(target)?.offset() as u64,
                Some(LinkedSymbol::Counter(target)) => slot(target)?.counter_offset() as u64,
                Some(LinkedSymbol::Numbers(target)) => slot(target)?.numbers_offset() as u64,
                Some(LinkedSymbol::Other(symbol)) => match Symbol::parse(symbol) {
                    Some(symbol) => held.hold(&jit.slots, symbol, |name| jit.names.get(name))?.get(),
                    None => super::resolve(symbol)?.get(),
                },
                None => 0,
            })
        };
        let mut of_pack = |(links, start): (&PackedLinks<'_>, &usize)| {
            (0..links.symbol_count() as u32).map(|number| value(links, *start, number)).collect::<Option<_>>()
        };
        let values = packs.iter().zip(&starts).map(&mut of_pack).collect::<Option<_>>()?;
        Some(Self { names, targets, slots, starts, values, held })
    }

    /// Returns the calls that lead to code, and their slot.
    fn calls(&self, code: &LinkedCode) -> Option<(CallTarget, Slot)> {
        let target = self.starts[code.pack as usize] + code.link.target as usize;
        self.targets.get(target).copied().zip(self.slots.get(target).copied())
    }

    /// Fills the fields of code of a pack in memory that will run at an address. Returns
    /// whether it can run there.
    fn fill(&self, pack: u32, body: PackedBody<'_>, address: u64, memory: &mut [u8]) -> bool {
        let values = &self.values[pack as usize];
        let mut is_whole = true;
        let field = |field: Option<Field<u32>>| {
            let value = field.and_then(|Field { at, kind, addend, symbol }| {
                let symbol = values.get(symbol as usize).copied().filter(|value| *value != 0)?;
                Some(Field { at, kind, addend, symbol })
            });
            is_whole &= value.is_some();
            value
        };
        PortableCode::fill(body.numbered_fields().map_while(field), address, memory) && is_whole
    }
}
