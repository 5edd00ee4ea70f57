//! The table of dispatch slots: what each is for, and how often it is held.
//!
//! A slot is *held* by linked objects that refer to it, and by handles. One that
//! is not held any more is *idle*: it keeps its target, which may be called again,
//! until the idle slots are collected. Then it is free for another target. The
//! table decides; that no memory leads anywhere from a collected slot is for its
//! owner to ensure.
//!
//! The calls in a list, of code that earlier runs have linked, get slots in a row, without
//! a look at any of them: which slot is for which name is found when something asks for
//! the slots of that name.

use crate::abi;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::name::{HeldName, Name, Names};
use crate::runtime::Slot;
use rustc_hash::{FxHashMap, FxHashSet};
use std::mem;
use std::sync::Arc;

/// Idle slots are collected when at least this many slots have targets.
const LEAST: usize = 4096;

/// What a slot is for: a name and a number of arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct CallTarget {
    pub(super) name: Name,
    pub(super) arity: u32,
}

/// Calls that linked code makes, and that lead to it, by number. Their names need not be known.
pub(super) trait CallList: Send + Sync {
    /// Returns what no other list has.
    fn key(&self) -> ListKey;

    /// Returns how many there are.
    fn len(&self) -> usize;

    /// Returns the name and the number of arguments of one.
    fn call(&self, number: u32) -> Option<(&str, u32)>;

    /// Returns the number of the one at a place in the order of names and numbers of arguments.
    fn sorted(&self, place: u32) -> Option<u32>;

    /// Passes the number and the number of arguments of each call of a name to `found`.
    fn of_name(&self, name: &str, found: &mut dyn FnMut(u32, u32));
}

/// What a list is known by, as long as it is used: an address, and what it assumes.
pub(super) type ListKey = (usize, Fingerprint);

/// The slots of an engine by target and number. Trampolines have the numbers of the slots.
pub(super) struct SlotTable {
    names: Arc<Names>,
    by_name: FxHashMap<Name, NameSlots>,
    entries: Vec<SlotEntry>,
    /// In the order of their numbers.
    ranges: Vec<ListedRange>,
    /// The number of the next range.
    next_range: u32,
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

struct SlotEntry {
    target: SlotTarget,
    holders: u32,
}

/// What a slot is for.
#[derive(Clone, Copy)]
enum SlotTarget {
    Free,
    /// A call in the list of the range of that number. Nothing has asked for the slots of its
    /// name yet.
    Listed(u32),
    Named(CallTarget),
}

/// Slots in a row, for the calls in a list, all of which are held together.
struct ListedRange {
    list: Arc<dyn CallList>,
    slots: ListedSlots,
    holders: usize,
    /// Whether idle slots of it have been freed, when nothing held the list. What is left is
    /// known by it until nothing else holds that.
    is_partly_free: bool,
    /// The names of calls in the list whose slots something has asked for.
    names: Vec<HeldName>,
}

/// Which slots the calls in a list have: one after the other, except for those that had
/// slots before.
#[derive(Clone)]
pub(super) struct ListedSlots {
    /// The number of the range.
    range: u32,
    pub(super) first: u32,
    pub(super) len: u32,
    /// The calls that had slots before, by number.
    pub(super) others: Arc<[(u32, Slot)]>,
}

impl SlotTarget {
    fn named(self) -> Option<CallTarget> {
        match self {
            Self::Free | Self::Listed(_) => None,
            Self::Named(target) => Some(target),
        }
    }
}

impl ListedSlots {
    /// Returns the slot of a call; `None` if the list has no such number.
    pub(super) fn get(&self, number: u32) -> Option<Slot> {
        let own = (number < self.len).then(|| Slot(self.first + number))?;
        let other = self.others.binary_search_by_key(&number, |(number, _)| *number);
        Some(other.map_or(own, |at| self.others[at].1))
    }

    /// Returns all of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> {
        (0..self.len).filter_map(|number| self.get(number))
    }
}

impl SlotTable {
    pub(super) fn new(names: Arc<Names>) -> Self {
        Self {
            names,
            by_name: FxHashMap::default(),
            entries: Vec::new(),
            ranges: Vec::new(),
            next_range: 0,
            free: Vec::new(),
            idle: 0,
            collect_at: LEAST,
        }
    }

    /// Returns the number of slots that have a target.
    pub(super) fn count(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Returns the slot of a target, held or idle.
    pub(super) fn find(&mut self, target: CallTarget) -> Option<Slot> {
        self.adopt(target.name);
        self.find_named(target)
    }

    fn find_named(&self, target: CallTarget) -> Option<Slot> {
        let slots = self.by_name.get(&target.name)?;
        slots.iter().find(|(arity, _)| *arity == target.arity).map(|(_, slot)| slot)
    }

    /// Returns the slots of a name, held or idle.
    pub(super) fn of_name(&mut self, name: Name) -> impl Iterator<Item = Slot> {
        self.adopt(name);
        self.by_name.get(&name).into_iter().flat_map(NameSlots::iter).map(|(_, slot)| slot)
    }

    /// Returns what a slot is for; `None` if it is free.
    pub(super) fn target(&mut self, slot: Slot) -> Option<CallTarget> {
        let entry = self.entries.get(slot.0 as usize)?;
        let SlotTarget::Listed(range) = entry.target else { return entry.target.named() };
        let at = self.ranges.binary_search_by_key(&range, |range| range.slots.range).ok()?;
        let ListedRange { list, slots, .. } = &self.ranges[at];
        let (text, _) = list.call(slot.0.checked_sub(slots.first)?)?;
        let held = self.names.hold(text);
        self.adopt(held.name());
        self.entries.get(slot.0 as usize)?.target.named()
    }

    /// Finds the slots of the calls of a name in the lists, before anything is done with the
    /// slots of that name.
    fn adopt(&mut self, name: Name) {
        if self.ranges.is_empty() || self.by_name.contains_key(&name) {
            return;
        }
        let held = self.names.text(name);
        for at in 0..self.ranges.len() {
            self.adopt_from(at, &held);
        }
    }

    /// Finds the slots of the calls of a name in a list.
    fn adopt_from(&mut self, at: usize, name: &HeldName) {
        let Self { ranges, entries, by_name, .. } = self;
        let ListedRange { list, slots, names, .. } = &mut ranges[at];
        let mut is_there = false;
        list.of_name(name, &mut |number, arity| {
            let slot = Slot(slots.first + number);
            let entry = entries.get_mut(slot.0 as usize).filter(|_| number < slots.len);
            let is_own = |entry: &&mut SlotEntry| matches!(entry.target, SlotTarget::Listed(range) if range == slots.range);
            let Some(entry) = entry.filter(is_own) else { return };
            let target = CallTarget { name: name.name(), arity };
            entry.target = SlotTarget::Named(target);
            is_there = true;
            Self::insert(by_name, target, slot);
        });
        if is_there {
            names.push(name.clone());
        }
    }

    fn insert(by_name: &mut FxHashMap<Name, NameSlots>, CallTarget { name, arity }: CallTarget, slot: Slot) {
        by_name
            .entry(name)
            .and_modify(|slots| slots.add(arity, slot))
            .or_insert_with(|| NameSlots { first: (arity, slot), others: Box::default() });
    }

    /// Returns whether idle slots are to be collected before a new target gets a
    /// slot.
    pub(super) fn is_due(&self) -> bool {
        self.idle > 0 && self.count() >= self.collect_at.min(abi::SLOT_COUNT)
    }

    /// Holds the slot of a target, which gets a free one or, where `reserve` makes room for
    /// that number of slots, a new one if it has none.
    pub(super) fn hold(
        &mut self,
        target: CallTarget,
        reserve: impl FnOnce(usize) -> Result<(), Failure>,
    ) -> Result<Slot, Failure> {
        let slot = match self.find(target) {
            Some(slot) => slot,
            None => self.assign(target, reserve)?,
        };
        self.hold_again(slot);
        Ok(slot)
    }

    /// Assigns a slot to a target.
    fn assign(
        &mut self,
        target: CallTarget,
        reserve: impl FnOnce(usize) -> Result<(), Failure>,
    ) -> Result<Slot, Failure> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => Slot(self.extend(1, SlotTarget::Free, reserve)?),
        };
        self.entries[slot.0 as usize].target = SlotTarget::Named(target);
        self.idle += 1;
        Self::insert(&mut self.by_name, target, slot);
        Ok(slot)
    }

    /// Adds slots in a row, which nothing holds. Returns the first.
    fn extend(
        &mut self,
        count: usize,
        target: SlotTarget,
        reserve: impl FnOnce(usize) -> Result<(), Failure>,
    ) -> Result<u32, Failure> {
        let first = self.entries.len();
        let total = first.checked_add(count).filter(|total| *total <= abi::SLOT_COUNT);
        let total = total.ok_or(Failure::TooMany("called functions"))?;
        reserve(total)?;
        self.entries.resize_with(total, || SlotEntry { target, holders: 0 });
        Ok(first as u32)
    }

    /// Takes free slots in a row, or else adds some. Returns the first.
    fn take_row(
        &mut self,
        count: usize,
        target: SlotTarget,
        reserve: impl FnOnce(usize) -> Result<(), Failure>,
    ) -> Result<u32, Failure> {
        let Some(first) = self.free_row(count) else { return self.extend(count, target, reserve) };
        let row = first..first + count as u32;
        self.free.retain(|slot| !row.contains(&slot.0));
        row.for_each(|number| self.entries[number as usize] = SlotEntry { target, holders: 0 });
        Ok(first)
    }

    /// Returns the first of that number of free slots in a row.
    fn free_row(&self, count: usize) -> Option<u32> {
        if self.free.len() < count {
            return None;
        }
        let mut free: Vec<u32> = self.free.iter().map(|slot| slot.0).collect();
        free.sort_unstable();
        let rows = free.chunk_by(|one, next| one + 1 == *next);
        rows.filter(|row| row.len() >= count).find_map(|row| row.first().copied())
    }

    /// Holds the slots of all calls in a list, in a row as far as they have none.
    pub(super) fn hold_list(
        &mut self,
        list: Arc<dyn CallList>,
        reserve: impl FnOnce(usize) -> Result<(), Failure>,
    ) -> Result<ListedSlots, Failure> {
        let key = list.key();
        let is_it = |range: &&mut ListedRange| range.list.key() == key && !range.is_partly_free;
        if let Some(range) = self.ranges.iter_mut().find(is_it) {
            range.holders += 1;
            let (slots, is_again) = (range.slots.clone(), range.holders == 1);
            if is_again {
                slots.iter().for_each(|slot| self.hold_again(slot));
            }
            return Ok(slots);
        }
        let known = self.known_of(&*list);
        let (range, len) = (self.next_range, list.len() as u32);
        let first = self.take_row(list.len(), SlotTarget::Listed(range), reserve)?;
        self.next_range += 1;
        self.entries[first as usize..][..list.len()].iter_mut().for_each(|entry| entry.holders = 1);
        let mut others = self.common(&*list);
        for name in &known {
            list.of_name(name, &mut |number, arity| {
                let target = CallTarget { name: name.name(), arity };
                others.extend(self.find_named(target).filter(|_| number < len).map(|slot| (number, slot)));
            });
        }
        others.sort_unstable_by_key(|(number, _)| *number);
        others.dedup_by_key(|(number, _)| *number);
        for (number, slot) in &others {
            let unused = Slot(first + number);
            self.entries[unused.0 as usize] = SlotEntry { target: SlotTarget::Free, holders: 0 };
            self.free.push(unused);
            self.hold_again(*slot);
        }
        let slots = ListedSlots { range, first, len, others: others.into() };
        let (names, is_partly_free) = (known.clone(), false);
        self.ranges.push(ListedRange { list, slots: slots.clone(), holders: 1, is_partly_free, names });
        // Other numbers of arguments of the same names.
        known.iter().for_each(|name| self.adopt_from(self.ranges.len() - 1, name));
        Ok(slots)
    }

    /// Returns the slots that calls in a list have in others, and that have no names.
    fn common(&self, list: &dyn CallList) -> Vec<(u32, Slot)> {
        let mut found = Vec::new();
        for ListedRange { list: known, slots, .. } in &self.ranges {
            let (mut place, mut other) = (0, 0);
            while let (Some(number), Some(same)) = (list.sorted(place), known.sorted(other)) {
                let order = list.call(number).cmp(&known.call(same));
                if order.is_eq() {
                    let slot = Slot(slots.first.wrapping_add(same));
                    let entry = self.entries.get(slot.0 as usize);
                    let is_own = |entry: &SlotEntry| matches!(entry.target, SlotTarget::Listed(range) if range == slots.range);
                    found.extend(entry.is_some_and(is_own).then_some((number, slot)));
                }
                place += u32::from(order.is_le());
                other += u32::from(order.is_ge());
            }
        }
        found
    }

    /// Returns the names of calls in a list that have slots.
    fn known_of(&self, list: &dyn CallList) -> Vec<HeldName> {
        if self.by_name.len() <= list.len() {
            let names = self.by_name.keys().map(|name| self.names.text(*name));
            return names.filter(|name| calls(list, name)).collect();
        }
        let known = texts(list).filter_map(|text| self.names.get(text));
        let mut known: Vec<Name> = known.filter(|name| self.by_name.contains_key(name)).collect();
        known.sort_unstable();
        known.dedup();
        known.into_iter().map(|name| self.names.text(name)).collect()
    }

    /// Ends one holding of the slots of a list.
    pub(super) fn release_list(&mut self, slots: &ListedSlots) {
        let found = self.ranges.binary_search_by_key(&slots.range, |range| range.slots.range);
        let Ok(at) = found else { return };
        self.ranges[at].holders -= 1;
        if self.ranges[at].holders == 0 {
            slots.iter().for_each(|slot| self.release(slot));
        }
    }

    /// Returns whether a slot is in use that is known by a range: by its number, or by a name that
    /// the range holds.
    fn knows_any_of(&self, range: &ListedRange) -> bool {
        let names: FxHashSet<Name> = range.names.iter().map(HeldName::name).collect();
        let ListedSlots { first, len, range: number, .. } = range.slots;
        let row = self.entries.get(first as usize..).unwrap_or_default();
        row.iter().take(len as usize).any(|entry| match entry.target {
            SlotTarget::Free => false,
            SlotTarget::Listed(range) => range == number,
            SlotTarget::Named(target) => names.contains(&target.name),
        })
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
            if entry.holders > 0 || matches!(entry.target, SlotTarget::Free) {
                continue;
            }
            idle.push(slot);
            let SlotTarget::Named(target) = mem::replace(&mut entry.target, SlotTarget::Free) else {
                continue;
            };
            let left = self.by_name.get(&target.name).and_then(|slots| slots.without(slot));
            match left {
                Some(left) => _ = self.by_name.insert(target.name, left),
                None => _ = self.by_name.remove(&target.name),
            }
        }
        let mut ranges = mem::take(&mut self.ranges);
        ranges.iter_mut().for_each(|range| range.is_partly_free |= range.holders == 0);
        ranges.retain(|range| range.holders > 0 || self.knows_any_of(range));
        self.ranges = ranges;
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

/// Returns the names in a list, by call.
fn texts(list: &dyn CallList) -> impl Iterator<Item = &str> {
    (0..list.len() as u32).filter_map(|number| Some(list.call(number)?.0))
}

/// Returns whether a list has calls of a name.
fn calls(list: &dyn CallList, name: &str) -> bool {
    let mut are_there = false;
    list.of_name(name, &mut |_, _| are_there = true);
    are_there
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(number: usize, arity: u32) -> CallTarget {
        CallTarget { name: Name::from_index(number).expect("it is small"), arity }
    }

    fn table() -> SlotTable {
        SlotTable::new(Arc::default())
    }

    fn hold(table: &mut SlotTable, target: CallTarget) -> Slot {
        table.hold(target, |_| Ok(())).expect("there is room")
    }

    /// Calls, in the order of their numbers.
    struct TestCalls(Vec<(&'static str, u32)>);

    impl CallList for TestCalls {
        fn key(&self) -> ListKey {
            let mut writer = crate::bytes::Writer::default();
            self.0.iter().for_each(|(name, arity)| writer.text(&format!("{name}/{arity}")));
            (0, Fingerprint::of("test", writer))
        }

        fn len(&self) -> usize {
            self.0.len()
        }

        fn call(&self, number: u32) -> Option<(&str, u32)> {
            self.0.get(number as usize).copied()
        }

        fn sorted(&self, place: u32) -> Option<u32> {
            let mut numbers: Vec<u32> = (0..self.0.len() as u32).collect();
            numbers.sort_by_key(|number| self.call(*number));
            numbers.get(place as usize).copied()
        }

        fn of_name(&self, name: &str, found: &mut dyn FnMut(u32, u32)) {
            let numbers = (0..).zip(&self.0).filter(|(_, (text, _))| *text == name);
            numbers.for_each(|(number, (_, arity))| found(number, *arity));
        }
    }

    fn hold_list(table: &mut SlotTable, calls: &[(&'static str, u32)]) -> ListedSlots {
        table.hold_list(Arc::new(TestCalls(calls.to_vec())), |_| Ok(())).expect("there is room")
    }

    fn numbers(slots: &ListedSlots) -> Vec<u32> {
        slots.iter().map(|slot| slot.0).collect()
    }

    #[test]
    fn calls_in_a_list_have_slots_in_a_row_and_the_same_as_everywhere() {
        let names = Arc::new(Names::new());
        let mut table = SlotTable::new(names.clone());
        let held = |table: &mut SlotTable, text: &str, arity| {
            let name = names.hold(text);
            let slot = hold(table, CallTarget { name: name.name(), arity });
            (slot.0, name)
        };
        let (early, _f) = held(&mut table, "f", 2);
        let list = hold_list(&mut table, &[("e", 1), ("f", 1), ("f", 2), ("g", 1)]);
        assert_eq!((early, numbers(&list)), (0, vec![1, 2, 0, 4]), "`f` of two had one before");
        assert_eq!((list.get(4), table.count()), (None, 4));
        // What is asked for by name is what the list has, and what it is for is known by number.
        assert!(names.get("g").is_none(), "nothing has asked for it");
        let (g, name) = held(&mut table, "g", 1);
        assert_eq!((g, table.target(Slot(4)).map(|target| target.name)), (4, Some(name.name())));
        assert_eq!(table.target(Slot(1)).map(|target| target.arity), Some(1));
        assert_eq!(names.get("e").map(|name| table.of_name(name).collect::<Vec<_>>()), Some(vec![Slot(1)]));
        assert_eq!(held(&mut table, "f", 1).0, 2);
        assert_eq!(held(&mut table, "f", 3).0, 3, "the slot that the list does without");
        // The same list again, and one that has calls in common.
        assert_eq!(
            numbers(&hold_list(&mut table, &[("e", 1), ("f", 1), ("f", 2), ("g", 1)])),
            numbers(&list)
        );
        let others = hold_list(&mut table, &[("h", 0), ("e", 1), ("f", 3), ("e", 2)]);
        assert_eq!(numbers(&others), [5, 1, 3, 8]);
        let e = names.get("e").expect("it is known");
        assert_eq!(table.of_name(e).collect::<Vec<_>>(), [Slot(1), Slot(8)]);
        assert_eq!(held(&mut table, "h", 0).0, 5);
    }

    #[test]
    fn slots_of_a_list_are_idle_when_all_that_held_it_are_gone() {
        let names = Arc::new(Names::new());
        let mut table = SlotTable::new(names.clone());
        let calls = [("e", 1), ("f", 1)];
        let (one, two) = (hold_list(&mut table, &calls), hold_list(&mut table, &calls));
        let name = names.hold("f");
        let f = hold(&mut table, CallTarget { name: name.name(), arity: 1 });
        table.release_list(&one);
        assert_eq!((table.collect(), table.count()), (Vec::new(), 2));
        table.release_list(&two);
        assert_eq!(numbers(&hold_list(&mut table, &calls)), [0, 1], "they were idle");
        assert_eq!(table.collect(), []);
        table.release_list(&one);
        assert_eq!((table.collect(), table.count()), (vec![Slot(0)], 1), "`f` is held by itself");
        assert_eq!(numbers(&hold_list(&mut table, &calls)), [2, 1]);
        assert_eq!((f, table.target(Slot(1)).map(|target| target.name)), (Slot(1), Some(name.name())));
    }

    #[test]
    fn a_slot_keeps_its_target_while_it_is_held_and_until_it_is_collected() {
        let mut table = table();
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
        assert_eq!((table.target(one), table.target(two)), (Some(target(0, 1)), None));
        table.release(one);
        assert_eq!(table.collect(), [one]);
        assert_eq!((table.count(), table.of_name(target(0, 1).name).count()), (1, 0));
        assert_eq!((hold(&mut table, target(7, 3)), hold(&mut table, target(8, 3))), (one, two));
        assert_eq!(table.target(one), Some(target(7, 3)), "the number is used again");
    }

    #[test]
    fn what_two_lists_have_in_common_is_known_as_long_as_one_is_held() {
        let names = Arc::new(Names::new());
        let mut table = SlotTable::new(names.clone());
        let one = hold_list(&mut table, &[("e", 1), ("f", 1), ("g", 1)]);
        let two = hold_list(&mut table, &[("d", 1), ("f", 1), ("g", 1)]);
        assert_eq!(numbers(&two), [3, 1, 2]);
        table.release_list(&one);
        assert_eq!(table.collect(), [Slot(0)]);
        // `f` is asked for by its number, `g` by its name.
        assert_eq!(
            table.target(Slot(1)).map(|target| names.text(target.name).to_string()).as_deref(),
            Some("f")
        );
        let g = names.hold("g");
        assert_eq!(table.find(CallTarget { name: g.name(), arity: 1 }), Some(Slot(2)));
        let again = hold_list(&mut table, &[("e", 1), ("f", 1), ("g", 1)]);
        assert_eq!(numbers(&again).split_off(1), [1, 2]);
        table.release_list(&again);
        table.release_list(&two);
        drop(g);
        table.collect();
        assert_eq!((table.count(), table.ranges.len()), (0, 0));
    }

    #[test]
    fn rows_are_used_again() {
        let mut table = table();
        let texts: Vec<&'static str> =
            (0..400).map(|n| &*Box::leak(format!("f{n}").into_boxed_str())).collect();
        for round in 0..50 {
            let calls =
                |numbers: std::ops::Range<usize>| numbers.map(|n| (texts[n], round)).collect::<Vec<_>>();
            let held =
                [calls(0..100), calls(50..200), calls(150..400)].map(|calls| hold_list(&mut table, &calls));
            let single = hold(&mut table, target(1 << 20, round));
            held.iter().for_each(|slots| table.release_list(slots));
            table.release(single);
            table.collect();
        }
        assert!(table.entries.len() <= 3 * 501 && table.ranges.is_empty(), "{}", table.entries.len());
    }

    #[test]
    fn numbers_are_bounded_by_what_is_held_at_a_time() {
        let mut table = table();
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
