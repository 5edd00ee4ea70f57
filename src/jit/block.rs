//! Blocks: the code of many definitions of a layer, placed together.
//!
//! When a definition of a layer is first called, the code of all definitions that earlier
//! runs have linked with the text is copied to one range of the code memory, and their
//! slots are filled: no call of them comes by a trampoline, nothing of them is decoded,
//! and no name is bound. What a name means is bound with its code when something asks for
//! it, and before anything changes that the code assumes.

use super::Jit;
use super::code::{CodeBlock, CompiledCode, LinkedBlock, Object, SharedBody};
use super::code_map::BlockOwners;
use super::slot_table::CallList;
use super::slots::{HeldCalls, HeldOffsets, ListKey};
use super::tier::Tier;
use crate::abi::Symbol;
use crate::budget::ContextBudget;
use crate::codegen::Entry;
use crate::fingerprint::Fingerprint;
use crate::name::Name;
use crate::pack::links::{LinkedSymbol, PackedLink, PackedLinks};
use crate::pack::portable::{ALIGNMENT, Field, PortableCode};
use crate::pack::{FoundCode, Pack, PackedBody};
use crate::process::{self, Activity};
use crate::runtime::{ExecutionMemory, Slot};
use crate::sema::checked::CheckedFunction;
use crate::world::Layer;
use kal_code::{Address, CodePart};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Which code is in a block, and where.
pub(super) struct BlockLayout {
    packs: Vec<LinkedPack>,
    /// In the order of the definitions.
    linked: Vec<LinkedCode>,
    /// For each pack of which all code is placed, as most of it is linked: where.
    wholes: Vec<Option<usize>>,
    /// The pack whose code is mapped: it is at the start.
    mapped: Option<usize>,
    /// How much memory it takes, in bytes.
    size: usize,
}

/// The code of a definition in a block.
#[derive(Clone, Copy)]
struct LinkedCode {
    /// The position of the definition in its layer.
    position: u32,
    /// The numbers of its pack, and of its link in that.
    pack: u32,
    link: u32,
    /// Where it is placed.
    offset: u32,
}

/// A pack whose links hold under what is assumed.
#[derive(Clone)]
pub(super) struct LinkedPack {
    pack: Arc<Pack>,
    assumed: Fingerprint,
}

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
        let layout = BlockLayout::of(packs, layer)?;
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

impl LinkedCode {
    /// Returns its link, its identity and its code.
    fn read<'p>(&self, links: &[PackedLinks<'p>]) -> Option<(PackedLink, Fingerprint, PackedBody<'p>)> {
        let links = links[self.pack as usize];
        let link = links.link(self.link)?;
        let (identity, body) = links.body(link.body)?;
        Some((link, identity, body))
    }
}

impl BlockLayout {
    /// Returns the layout of the code of each definition of a layer that has links in packs,
    /// of the better if there are several; `None` if the packs are damaged.
    fn of(LayerPacks { packs, own, .. }: LayerPacks, layer: &Layer) -> Option<Self> {
        let all = LinkedPack::all_links(&packs)?;
        let opening = layer.text().opening();
        let mut linked = Vec::with_capacity(all.iter().map(|links| links.len()).sum());
        let mut used = vec![(0, true); packs.len()];
        let order = |code: &LinkedCode, link: Option<PackedLink>| {
            (code.position, link.is_none_or(|link| link.tier == Tier::Quick), code.pack)
        };
        let (mut last, mut is_sorted) = (None, true);
        for (pack, links) in all.iter().enumerate() {
            let mut add = |number| {
                let Some(link) = links.link(number) else { return };
                let position = (link.item as usize).checked_sub(opening.start);
                let Some(position) = position.filter(|position| *position < opening.len()) else { return };
                let (bytes, is_aligned) = &mut used[pack];
                *bytes += link.len as usize;
                *is_aligned &= link.start.is_multiple_of(ALIGNMENT as u32);
                let (position, pack) = (position as u32, pack as u32);
                let code = LinkedCode { position, pack, link: number, offset: link.start };
                let place = Some(order(&code, Some(link)));
                is_sorted &= last <= place;
                last = place;
                linked.push(code);
            };
            match pack < own {
                true => (0..links.len() as u32).for_each(&mut add),
                false => links.unchanged(|item| layer.text().is_changed(item as usize)).for_each(&mut add),
            }
        }
        if !is_sorted {
            linked.sort_unstable_by_key(|code| order(code, all[code.pack as usize].link(code.link)));
        }
        linked.dedup_by_key(|code| code.position);
        let mut size = 0;
        let mut take = |bytes: usize| {
            let offset = size;
            size = (offset + bytes).next_multiple_of(ALIGNMENT);
            offset
        };
        let is_whole = |(links, (bytes, is_aligned)): (&PackedLinks<'_>, (usize, bool))| {
            is_aligned && bytes > 0 && bytes >= links.pack().code_len() / 2
        };
        let are_whole: Vec<bool> = all.iter().zip(used).map(is_whole).collect();
        let is_mapped = |pack: &usize| are_whole[*pack] && all[*pack].pack().mapped_code().is_some();
        let mapped = (0..all.len()).find(is_mapped);
        let mut wholes = vec![None; all.len()];
        let others = (0..all.len()).filter(|pack| are_whole[*pack] && Some(*pack) != mapped);
        for pack in mapped.into_iter().chain(others) {
            wholes[pack] = Some(take(all[pack].pack().code_len()));
        }
        for code in &mut linked {
            code.offset = match wholes[code.pack as usize] {
                Some(whole) => code.offset + whole as u32,
                None => take(all[code.pack as usize].link(code.link)?.len as usize) as u32,
            };
        }
        Some(Self { packs, linked, wholes, mapped, size })
    }

    /// Returns the code at the start, if it is mapped.
    fn mapped<'p>(&self, links: &[PackedLinks<'p>]) -> Option<&'p CodePart> {
        links[self.mapped?].pack().mapped_code()
    }

    /// Returns the links of its packs.
    fn links(&self) -> Option<Vec<PackedLinks<'_>>> {
        LinkedPack::all_links(&self.packs)
    }

    fn find(&self, layer: &Layer, name: Name) -> Option<&LinkedCode> {
        let position = layer.position(name)? as u32;
        let at = self.linked.binary_search_by_key(&position, |code| code.position).ok()?;
        Some(&self.linked[at])
    }

    /// Returns the offset of each body, in ascending order, with the position of its definition.
    pub(super) fn by_offset(&self) -> Vec<(u32, u32)> {
        let mut bodies: Vec<_> = self.linked.iter().map(|code| (code.offset, code.position)).collect();
        bodies.sort_unstable();
        bodies
    }

    /// Copies the code to the memory of the block, but for what is mapped. Returns whether it is
    /// not damaged.
    fn copy(&self, links: &[PackedLinks<'_>], memory: &mut [u8]) -> bool {
        let whole = |(number, start): (usize, &Option<usize>)| {
            let Some(start) = start.filter(|_| self.mapped != Some(number)) else { return true };
            let pack = links[number].pack();
            pack.copy_code(&mut memory[start..start + pack.code_len()])
        };
        self.wholes.iter().enumerate().all(whole)
            && self.linked.iter().filter(|code| self.wholes[code.pack as usize].is_none()).all(|code| {
                let body = code.read(links).and_then(|(.., body)| body.code());
                let Some(body) = body else { return false };
                let start = code.offset as usize;
                memory[start..start + body.len()].copy_from_slice(&body);
                true
            })
    }
}

impl FoundCode for BlockLayout {
    fn len(&self) -> usize {
        self.linked.len()
    }

    fn identities(&self) -> Vec<Fingerprint> {
        let Some(links) = self.links() else { return Vec::new() };
        self.linked.iter().filter_map(|code| Some(code.read(&links)?.1)).collect()
    }
}

impl LinkedPack {
    /// Returns the links of packs.
    fn all_links(packs: &[Self]) -> Option<Vec<PackedLinks<'_>>> {
        packs.iter().map(Self::links).collect()
    }

    fn links(&self) -> Option<PackedLinks<'_>> {
        self.pack.links(&self.assumed)
    }
}

impl CallList for LinkedPack {
    fn key(&self) -> ListKey {
        (Arc::as_ptr(&self.pack) as usize, self.assumed)
    }

    fn len(&self) -> usize {
        self.links().map_or(0, PackedLinks::target_count)
    }

    fn call(&self, number: u32) -> Option<(&str, u32)> {
        self.links()?.target(number)
    }

    fn sorted(&self, place: u32) -> Option<u32> {
        self.links()?.sorted(place)
    }

    fn of_name(&self, name: &str, found: &mut dyn FnMut(u32, u32)) {
        let links = self.links().into_iter();
        links.flat_map(|links| links.targets_of(name)).for_each(|(number, arity)| found(number, arity));
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
    let mut fields = body.numbered_fields(calls.have_their_numbers()).map(|field| {
        let field: Field<u32> = field?;
        Some(field.with(value(field.symbol)?))
    });
    fields.try_for_each(|field| PortableCode::fill([field?], address, memory).then_some(()))
}
