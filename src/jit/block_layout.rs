//! The layout of a block: which code of packs is placed for the definitions of a layer, and where.

use super::slot_table::CallList;
use super::slots::ListKey;
use super::tier::Tier;
use crate::fingerprint::Fingerprint;
use crate::name::Name;
use crate::pack::links::{PackedLink, PackedLinks};
use crate::pack::portable::ALIGNMENT;
use crate::pack::{FoundCode, Pack, PackedBody};
use crate::world::Layer;
use kal_code::CodePart;
use std::sync::Arc;

/// Which code is in a block, and where.
pub(super) struct BlockLayout {
    pub(super) packs: Vec<LinkedPack>,
    /// In the order of the definitions.
    pub(super) linked: Vec<LinkedCode>,
    /// For each pack of which all code is placed, as most of it is linked: where.
    wholes: Vec<Option<usize>>,
    /// The pack whose code is mapped: it is at the start.
    mapped: Option<usize>,
    /// How much memory it takes, in bytes.
    pub(super) size: usize,
}

/// The code of a definition in a block.
#[derive(Clone, Copy)]
pub(super) struct LinkedCode {
    /// The position of the definition in its layer.
    pub(super) position: u32,
    /// The numbers of its pack, and of its link in that.
    pub(super) pack: u32,
    pub(super) link: u32,
    /// Where it is placed.
    pub(super) offset: u32,
}

/// A pack whose links hold under what is assumed.
#[derive(Clone)]
pub(super) struct LinkedPack {
    pub(super) pack: Arc<Pack>,
    pub(super) assumed: Fingerprint,
}

impl LinkedCode {
    /// Returns its link, its identity and its code.
    pub(super) fn read<'p>(
        &self,
        links: &[PackedLinks<'p>],
    ) -> Option<(PackedLink, Fingerprint, PackedBody<'p>)> {
        let links = links[self.pack as usize];
        let link = links.link(self.link)?;
        let (identity, body) = links.body(link.body)?;
        Some((link, identity, body))
    }
}

impl BlockLayout {
    /// Returns the layout of the code of each definition of a layer that has links in packs,
    /// of the better if there are several; `None` if the packs are damaged. The first packs, `own`
    /// of them, are those of its text, and others those of an earlier one.
    pub(super) fn of(packs: Vec<LinkedPack>, own: usize, layer: &Layer) -> Option<Self> {
        let all = LinkedPack::all_links(&packs)?;
        let opening = layer.text().opening();
        let mut linked = Vec::with_capacity(all.iter().map(|links| links.len()).sum());
        // How much of each pack is placed, and whether it can be where it is in the pack.
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
        linked.dedup_by(|code, better| {
            let is_worse = code.position == better.position;
            if is_worse && let Some(link) = all[code.pack as usize].link(code.link) {
                used[code.pack as usize].0 -= link.len as usize;
            }
            is_worse
        });
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
    pub(super) fn mapped<'p>(&self, links: &[PackedLinks<'p>]) -> Option<&'p CodePart> {
        links[self.mapped?].pack().mapped_code()
    }

    /// Returns the links of its packs.
    pub(super) fn links(&self) -> Option<Vec<PackedLinks<'_>>> {
        LinkedPack::all_links(&self.packs)
    }

    pub(super) fn find(&self, layer: &Layer, name: Name) -> Option<&LinkedCode> {
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
    pub(super) fn copy(&self, links: &[PackedLinks<'_>], memory: &mut [u8]) -> bool {
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
