//! The table of dispatch slots: what each is for, and how often it is held.
//!
//! A slot is *held* by linked objects that refer to it, and by handles. One that
//! is not held any more is *idle*: it keeps its target, which may be called again,
//! until the idle slots are collected. Then it is free for another target. The
//! table decides; that no memory leads anywhere from a collected slot is for its
//! owner to ensure.

use crate::abi;
use crate::failure::Failure;
use crate::name::Name;
use crate::runtime::Slot;
use rustc_hash::FxHashMap;
use std::mem;

/// Idle slots are collected when at least this many slots have targets.
const LEAST: usize = 4096;

/// What a slot is for: a name and a number of arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct CallTarget {
    pub(super) name: Name,
    pub(super) arity: u32,
}

/// The slots of an engine by target, trampoline and number.
pub(super) struct SlotTable {
    by_name: FxHashMap<Name, NameSlots>,
    by_trampoline: FxHashMap<usize, Slot>,
    entries: Vec<SlotEntry>,
    free: Vec<Slot>,
    /// The number of slots that have a target and are not held.
    idle: usize,
    /// Idle slots are collected when this many slots have targets.
    collect_at: usize,
}

/// The slots of a name, by number of arguments: mostly one.
struct NameSlots {
    first: (u32, Slot),
    others: Box<[(u32, Slot)]>,
}

impl NameSlots {
    fn iter(&self) -> impl Iterator<Item = (u32, Slot)> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// Returns them without a slot; `None` if it was the only one.
    fn without(&self, slot: Slot) -> Option<Self> {
        let mut left = self.iter().filter(|(_, known)| *known != slot);
        Some(Self { first: left.next()?, others: left.collect() })
    }

    fn add(&mut self, arity: u32, slot: Slot) {
        self.others = self.others.iter().copied().chain([(arity, slot)]).collect();
    }
}

/// One slot. Its trampoline never changes.
struct SlotEntry {
    /// `None` if it is free.
    target: Option<CallTarget>,
    trampoline: usize,
    holders: usize,
}

impl Default for SlotTable {
    fn default() -> Self {
        Self {
            by_name: FxHashMap::default(),
            by_trampoline: FxHashMap::default(),
            entries: Vec::new(),
            free: Vec::new(),
            idle: 0,
            collect_at: LEAST,
        }
    }
}

impl SlotTable {
    /// Returns the number of slots that have a target.
    pub(super) fn count(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Returns the slot of a target, held or idle.
    pub(super) fn find(&self, target: CallTarget) -> Option<Slot> {
        let slots = self.by_name.get(&target.name)?;
        slots.iter().find(|(arity, _)| *arity == target.arity).map(|(_, slot)| slot)
    }

    /// Returns the slots of a name, held or idle.
    pub(super) fn of_name(&self, name: Name) -> impl Iterator<Item = Slot> {
        self.by_name.get(&name).into_iter().flat_map(NameSlots::iter).map(|(_, slot)| slot)
    }

    /// Returns the slot of a trampoline, with its target.
    pub(super) fn of_trampoline(&self, trampoline: usize) -> Option<(Slot, CallTarget)> {
        let slot = *self.by_trampoline.get(&trampoline)?;
        Some((slot, self.target(slot)?))
    }

    /// Returns what a slot is for; `None` if it is free.
    pub(super) fn target(&self, slot: Slot) -> Option<CallTarget> {
        self.entries[slot.0 as usize].target
    }

    /// Returns the trampoline of a slot.
    pub(super) fn trampoline(&self, slot: Slot) -> usize {
        self.entries[slot.0 as usize].trampoline
    }

    /// Returns whether idle slots are to be collected before a new target gets a
    /// slot.
    pub(super) fn is_due(&self) -> bool {
        self.idle > 0 && self.count() >= self.collect_at.min(abi::SLOT_COUNT)
    }

    /// Holds the slot of a target, which gets a free one or, with what `trampoline`
    /// returns, a new one if it has none.
    pub(super) fn hold(
        &mut self,
        target: CallTarget,
        trampoline: impl FnOnce() -> Result<usize, Failure>,
    ) -> Result<Slot, Failure> {
        let slot = match self.find(target) {
            Some(slot) => slot,
            None => self.assign(target, trampoline)?,
        };
        self.hold_again(slot);
        Ok(slot)
    }

    /// Assigns a slot to a target.
    fn assign(
        &mut self,
        target: CallTarget,
        trampoline: impl FnOnce() -> Result<usize, Failure>,
    ) -> Result<Slot, Failure> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.entries.len() == abi::SLOT_COUNT => {
                return Err(Failure::TooMany("called functions"));
            }
            None => {
                let (slot, trampoline) = (Slot(self.entries.len() as u32), trampoline()?);
                self.entries.push(SlotEntry { target: None, trampoline, holders: 0 });
                self.by_trampoline.insert(trampoline, slot);
                slot
            }
        };
        self.entries[slot.0 as usize].target = Some(target);
        self.idle += 1;
        self.by_name
            .entry(target.name)
            .and_modify(|slots| slots.add(target.arity, slot))
            .or_insert_with(|| NameSlots { first: (target.arity, slot), others: Box::default() });
        Ok(slot)
    }

    /// Makes room for new targets.
    pub(super) fn reserve(&mut self, more: usize) {
        self.by_name.reserve(more);
        self.by_trampoline.reserve(more);
        self.entries.reserve(more);
    }

    /// Holds a slot once more.
    pub(super) fn hold_again(&mut self, slot: Slot) {
        let holders = &mut self.entries[slot.0 as usize].holders;
        *holders += 1;
        self.idle -= usize::from(*holders == 1);
    }

    /// Ends one holding of a slot.
    pub(super) fn release(&mut self, slot: Slot) {
        let holders = &mut self.entries[slot.0 as usize].holders;
        *holders -= 1;
        self.idle += usize::from(*holders == 0);
    }

    /// Frees the idle slots. Returns them in ascending order: no memory may lead
    /// anywhere from them before the table is used again.
    pub(super) fn collect(&mut self) -> Vec<Slot> {
        let mut idle = Vec::new();
        for (number, entry) in self.entries.iter_mut().enumerate() {
            let slot = Slot(number as u32);
            let Some(target) = entry.target.take_if(|_| entry.holders == 0) else { continue };
            idle.push(slot);
            let left = self.by_name.get(&target.name).and_then(|slots| slots.without(slot));
            match left {
                Some(left) => _ = self.by_name.insert(target.name, left),
                None => _ = self.by_name.remove(&target.name),
            }
        }
        self.idle = 0;
        // Low numbers are used first: they share pages.
        self.free.extend(&idle);
        self.free.sort_unstable_by_key(|slot| std::cmp::Reverse(slot.0));
        self.collect_at = LEAST.max(2 * self.count());
        if self.by_name.capacity() > 4 * self.collect_at {
            self.by_name = mem::take(&mut self.by_name).into_iter().collect();
        }
        idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(number: usize, arity: u32) -> CallTarget {
        CallTarget { name: Name::from_index(number).expect("it is small"), arity }
    }

    fn hold(table: &mut SlotTable, target: CallTarget) -> Slot {
        let next = 16 * (table.entries.len() + 1);
        table.hold(target, || Ok(next)).expect("there is room")
    }

    #[test]
    fn a_slot_keeps_its_target_while_it_is_held_and_until_it_is_collected() {
        let mut table = SlotTable::default();
        let [one, two, other] =
            [target(0, 1), target(0, 2), target(1, 1)].map(|target| hold(&mut table, target));
        assert_eq!([one, two, other], [Slot(0), Slot(1), Slot(2)]);
        assert_eq!(hold(&mut table, target(0, 1)), one, "it is the same for all");
        table.release(one);
        table.release(two);
        table.release(other);
        assert_eq!(
            (table.count(), table.find(target(0, 2)), table.find(target(1, 1))),
            (3, Some(two), Some(other))
        );
        assert_eq!(hold(&mut table, target(1, 1)), other, "it was idle");
        assert_eq!(table.collect(), [two], "`one` is held once more");
        assert_eq!((table.find(target(0, 1)), table.find(target(0, 2))), (Some(one), None));
        assert_eq!((table.of_trampoline(16), table.of_trampoline(32)), (Some((one, target(0, 1))), None));
        table.release(one);
        assert_eq!(table.collect(), [one]);
        assert_eq!((table.count(), table.of_name(target(0, 1).name).count()), (1, 0));
        assert_eq!((hold(&mut table, target(7, 3)), hold(&mut table, target(8, 3))), (one, two));
        assert_eq!(
            table.of_trampoline(16),
            Some((one, target(7, 3))),
            "the trampoline stays with the number"
        );
    }

    #[test]
    fn numbers_are_bounded_by_what_is_held_at_a_time() {
        let mut table = SlotTable::default();
        let (held, rounds) = (100, 3_000);
        for round in 0..rounds {
            let slots: Vec<_> = (0..held)
                .map(|number| {
                    if table.is_due() {
                        assert_eq!(table.collect().len() + table.count(), LEAST);
                    }
                    hold(&mut table, target(round * held + number, 0))
                })
                .collect();
            slots.into_iter().for_each(|slot| table.release(slot));
        }
        assert!(table.entries.len() <= LEAST, "{}", table.entries.len());
        // More that are held at a time: it is collected when they have doubled.
        let all: Vec<_> = (0..3 * LEAST).map(|number| hold(&mut table, target(number, 9))).collect();
        table.collect();
        assert_eq!((table.count(), table.collect_at), (3 * LEAST, 6 * LEAST));
        all.into_iter().for_each(|slot| table.release(slot));
        table.collect();
        assert_eq!((table.count(), table.collect_at), (0, LEAST));
    }
}
