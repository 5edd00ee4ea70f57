//! The table of names of an engine.

use super::{HeldName, HeldNames, Name, NameMap};
use crate::process::{self, Activity};
use parking_lot::RwLock;
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::fmt;
use std::hash::BuildHasher;
use std::num::NonZeroU32;

/// The table of names of one engine; shared by all its threads.
#[derive(Debug)]
pub struct Names {
    table: RwLock<NameTable>,
    most: usize,
    /// What a number stands for that is not in the table.
    unknown: HeldName,
}

#[derive(Debug)]
struct NameTable {
    /// One part, or [`PARTS`] of them, by the hash of the text.
    parts: Vec<TextTable>,
    by_number: NameMap<HeldName>,
    /// The position of the next new name.
    next: usize,
}

/// A part of the names by text. Idle names are collected in one part at a time,
/// so that no other thread waits long.
#[derive(Debug)]
struct TextTable {
    names: FxHashSet<HeldName>,
    /// Idle names are collected when there are at least this many names.
    least: usize,
    /// They are collected next when there are this many.
    collect_at: usize,
}

/// Idle names are collected when there are at least this many names.
const LEAST: usize = 4096;

/// With more names than this, idle ones are not collected only to be counted.
const LARGE: usize = 1 << 16;

/// The number of parts of a table with more names.
const PARTS: usize = 64;

/// The message that a table has no room for another name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyNames {
    most: usize,
}

impl fmt::Display for TooManyNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an engine may know no more than {} names", self.most)
    }
}

/// The most names of a table: a number is left for each that the engine and its
/// hosts use.
const MOST: usize = 1 << 31;

impl Names {
    /// Creates an empty table without a limit.
    pub fn new() -> Self {
        Self::limited(usize::MAX)
    }

    /// Creates an empty table that programs may fill with `most` names.
    pub fn limited(most: usize) -> Self {
        let unknown = HeldName::new(Name(NonZeroU32::MAX), "(a name that is gone)");
        Self { table: RwLock::new(NameTable::new()), most: most.min(MOST), unknown }
    }

    /// Calls `work` with the table. No fork comes in between, so that a child
    /// never finds it locked by a thread that it does not have.
    fn read<T>(&self, work: impl FnOnce(&NameTable) -> T) -> T {
        process::within(Activity::Steady, || work(&self.table.read()))
    }

    /// Calls `work` with the table, to change it.
    fn write<T>(&self, work: impl FnOnce(&mut NameTable) -> T) -> T {
        process::within(Activity::Steady, || work(&mut self.table.write()))
    }

    /// Returns the number of names. A large table counts idle ones.
    pub fn len(&self) -> usize {
        self.write(|table| {
            if table.len() <= LARGE {
                table.collect();
            }
            table.len()
        })
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether it has at least half of the names that it may have, idle
    /// ones included.
    pub fn is_half_full(&self) -> bool {
        self.read(|table| table.len() >= self.most / 2)
    }

    /// Returns the name of `text`, which stays in the table from now on, whatever
    /// the limit: for texts that do not come from programs.
    pub fn intern(&self, text: &str) -> Name {
        let held = self.hold(text);
        held.make_permanent();
        held.name()
    }

    /// Holds the name of `text`; adds it to the table if it is new, whatever the
    /// limit: for the few names that are made from others.
    pub fn hold(&self, text: &str) -> HeldName {
        self.find(text).unwrap_or_else(|| self.write(|table| table.hold(text)))
    }

    /// Returns whether there is room for that number of new names.
    pub fn has_room_for(&self, more: usize) -> bool {
        self.read(|table| table.len().saturating_add(more) <= self.most)
    }

    /// Holds the name of `text`; adds it to the table if it is new and the limit
    /// allows it.
    ///
    /// # Errors
    /// If it does not.
    pub fn try_hold(&self, text: &str) -> Result<HeldName, TooManyNames> {
        process::within(Activity::Steady, || {
            if let Some(held) = self.table.read().find(text) {
                return Ok(held.clone());
            }
            let mut table = self.table.write();
            if table.len() >= self.most {
                table.collect();
            }
            let is_full = table.len() >= self.most && table.find(text).is_none();
            if is_full { Err(TooManyNames { most: self.most }) } else { Ok(table.hold(text)) }
        })
    }

    /// Holds the names of many texts, as [`try_hold`](Self::try_hold) does.
    ///
    /// # Errors
    /// If there are too many.
    pub fn try_hold_all<'t>(
        &self,
        texts: impl ExactSizeIterator<Item = &'t str>,
    ) -> Result<Vec<HeldName>, TooManyNames> {
        match self.hold_most(texts) {
            (held, None) => Ok(held),
            (_, Some(full)) => Err(full),
        }
    }

    /// Holds the names of many texts, up to the first for which there is no room.
    pub fn hold_most<'t>(
        &self,
        texts: impl ExactSizeIterator<Item = &'t str>,
    ) -> (Vec<HeldName>, Option<TooManyNames>) {
        let (mut held, mut texts) = (Vec::with_capacity(texts.len()), texts);
        let unknown = self.read(|table| {
            texts.find(|text| {
                let known = table.find(text).cloned();
                let is_unknown = known.is_none();
                held.extend(known);
                is_unknown
            })
        });
        let Some(unknown) = unknown else { return (held, None) };
        let full = self.write(|table| {
            table.reserve(texts.len());
            for text in std::iter::once(unknown).chain(texts) {
                if table.len() >= self.most && table.find(text).is_none() {
                    table.collect();
                    if table.len() >= self.most {
                        return Some(TooManyNames { most: self.most });
                    }
                }
                held.push(table.hold(text));
            }
            None
        });
        (held, full)
    }

    fn find(&self, text: &str) -> Option<HeldName> {
        self.read(|table| table.find(text).cloned())
    }

    /// Returns the name of `text` if it is in the table.
    pub fn get(&self, text: &str) -> Option<Name> {
        self.read(|table| table.find(text).map(HeldName::name))
    }

    /// Returns the text of a name that came from this table, and holds it.
    pub fn text(&self, name: Name) -> HeldName {
        self.read(|table| table.by_number.get(name).unwrap_or(&self.unknown).clone())
    }

    /// Holds names that came from this table, each once, except for those that
    /// stay anyway.
    pub fn hold_all(&self, names: impl Iterator<Item = Name>) -> HeldNames {
        let mut all: Vec<Name> = names.collect();
        all.sort_unstable();
        all.dedup();
        self.read(|table| {
            let held = all.iter().filter_map(|name| table.by_number.get(*name));
            held.filter(|held| !held.is_permanent()).cloned().collect()
        })
    }
}

impl NameTable {
    fn new() -> Self {
        Self { parts: vec![TextTable::new(LEAST)], by_number: NameMap::default(), next: 0 }
    }

    fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Returns the part that a text belongs to.
    fn part(&self, text: &str) -> usize {
        // The hash table uses the bits at both ends.
        if self.parts.len() == 1 { 0 } else { (FxBuildHasher.hash_one(text) >> 40) as usize % PARTS }
    }

    fn find(&self, text: &str) -> Option<&HeldName> {
        self.parts[self.part(text)].names.get(text)
    }

    /// Returns the name of a text; adds it if it is new.
    fn hold(&mut self, text: &str) -> HeldName {
        if let Some(held) = self.find(text) {
            return held.clone();
        }
        let mut part = self.part(text);
        if self.parts[part].names.len() >= self.parts[part].collect_at {
            self.parts[part].collect(&mut self.by_number);
            if self.len() >= LEAST / 2 {
                self.divide();
            }
            part = self.part(text);
        }
        let name = self.unused();
        let held = HeldName::new(name, text);
        self.parts[part].names.insert(held.clone());
        self.by_number.insert(name, held.clone());
        held
    }

    /// Makes room for names, most of which are new.
    fn reserve(&mut self, more: usize) {
        if more >= LEAST {
            self.divide();
            // As many come to each part, nearly.
            let share = more.div_ceil(self.parts.len());
            self.parts.iter_mut().for_each(|part| part.reserve(share + share / 4));
        }
    }

    /// Returns a number that no name has.
    fn unused(&mut self) -> Name {
        loop {
            let name = Name::from_index(self.next).filter(|name| name.0 != NonZeroU32::MAX);
            self.next = if name.is_some() { self.next + 1 } else { 0 };
            if let Some(name) = name.filter(|name| !self.by_number.contains(*name)) {
                return name;
            }
        }
    }

    /// Divides the table into parts, if it is not: for many names.
    fn divide(&mut self) {
        if self.parts.len() > 1 {
            return;
        }
        let parts = (0..PARTS).map(|_| TextTable::new(LEAST / PARTS)).collect();
        let whole = std::mem::replace(&mut self.parts, parts);
        for held in whole.into_iter().flat_map(|whole| whole.names) {
            let part = self.part(&held);
            self.parts[part].names.insert(held);
        }
    }

    /// Removes all idle names.
    fn collect(&mut self) {
        let Self { parts, by_number, .. } = self;
        parts.iter_mut().for_each(|part| part.collect(by_number));
    }
}

impl TextTable {
    fn new(least: usize) -> Self {
        Self { names: FxHashSet::default(), least, collect_at: least }
    }

    /// Makes room for names, before which idle ones are not collected.
    fn reserve(&mut self, more: usize) {
        self.names.reserve(more);
        self.collect_at = self.collect_at.max(self.names.len() + more);
    }

    /// Removes the idle names. Amortised: each is visited once for each that has
    /// been added.
    fn collect(&mut self, by_number: &mut NameMap<HeldName>) {
        self.names.retain(|held| {
            // Two are those of the table; others are cloned under its lock, or from
            // another.
            let is_held = held.holders() > 2 || held.is_permanent();
            if !is_held {
                by_number.remove(held.name());
            }
            is_held
        });
        let held = self.names.len();
        if self.names.capacity() > 8 * held.max(self.least) {
            self.names.shrink_to(2 * held);
        }
        self.collect_at = self.least.max(2 * held);
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_name_is_given_back() {
        let names = Names::limited(2);
        let stays = names.intern("sin");
        let held = names.hold("f");
        assert!(names.try_hold("g").is_err(), "both are in use");
        let number = held.name();
        assert_eq!(names.text(number), "f");
        drop(held);
        let other = names.try_hold("g").expect("`f` is idle");
        assert_eq!((names.get("f"), names.get("sin"), names.len()), (None, Some(stays), 2));
        assert_ne!(other.name(), number, "its number is not used again");
        assert_ne!(names.text(number), "f");
    }

    #[test]
    fn an_idle_name_keeps_its_number_until_it_is_collected() {
        let names = Names::new();
        let first = names.hold("f").name();
        assert_eq!(names.hold("f").name(), first);
        for number in 0..10 * LEAST {
            names.hold(&format!("g{number}"));
        }
        assert!(names.get("f").is_none());
        let table = names.table.read();
        let by_text: usize = table.parts.iter().map(|part| part.names.len()).sum();
        assert!(by_text <= LEAST && by_text == table.len(), "{by_text}");
    }

    #[test]
    fn numbers_are_used_again_when_all_have_been() {
        let names = Names::new();
        let held = ["a", "b"].map(|text| names.hold(text));
        names.table.write().next = u32::MAX as usize - 2;
        let late = ["c", "d", "e"].map(|text| names.hold(text));
        let numbers = late.each_ref().map(|name| name.name().index());
        assert_eq!(numbers, [u32::MAX as usize - 2, 2, 3]);
        assert_eq!(held.each_ref().map(|name| name.name().index()), [0, 1]);
        assert_eq!(names.text(names.unknown.name()), "(a name that is gone)");
    }

    #[test]
    fn a_large_table_collects_part_by_part() {
        let names = Names::new();
        let held: Vec<_> = (0..3 * LEAST).map(|number| names.hold(&format!("kept{number}"))).collect();
        assert_eq!(names.table.read().parts.len(), PARTS);
        for number in 0..20 * LEAST {
            names.hold(&format!("g{number}"));
        }
        assert!(names.table.read().len() <= 2 * held.len() + LEAST);
        for (number, held) in held.iter().enumerate() {
            assert_eq!(names.get(&format!("kept{number}")), Some(held.name()));
            assert_eq!(names.text(held.name()), *held);
        }
        assert_eq!(names.len(), held.len());
    }
}
