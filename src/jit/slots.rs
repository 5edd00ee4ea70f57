//! Dispatch slots: which number is used for calls of which function.
//!
//! A slot is for a name *and* an arity. So a call that was compiled when `f`
//! took one argument can never reach a body that takes two: its slot holds a
//! trampoline instead, which detects the mismatch. Slots are allocated when
//! code that calls through them is linked, and are the same in all contexts of
//! an engine. In the memory of a context a slot is 0 until the context gets code
//! that calls through it: a context pays for what it runs.
//!
//! **Slots are used again.** Code is linked to the number of a slot, so its object
//! holds the slot until it is freed, when no run can be inside; a handle of a
//! function holds its slot, too. The others are collected when the slots in use
//! have doubled: they are set to 0 in the memories of all contexts, and can be for
//! other functions then. All of it happens under one lock, as does every change
//! of a slot in a memory, so no address is stored in a slot for what it was for
//! before.

use super::slot_table::{CallList, ListedSlots, SlotTable};
pub(super) use super::slot_table::{CallTarget, ListKey};
use crate::abi::{self, HeldVariables, Variables};
use crate::failure::Failure;
use crate::name::{HeldName, Name, Names};
use crate::process::{self, Activity};
use crate::runtime::{ExecutionMemory, Slot, Variable};
use kal_code::{Address, TrampolinePool};
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// From this many calls on, those in a list have slots in a row; those in a shorter one are held
/// one by one. Tests have lists of both kinds.
const LONG_LIST: usize = if cfg!(debug_assertions) { 4 } else { 512 };

/// The slots and variables of an engine.
pub(super) struct Slots {
    names: Arc<Names>,
    trampolines: TrampolinePool,
    variables: Arc<Variables>,
    tables: SharedTables,
}

/// The tables, which holders of slots keep.
#[derive(Clone)]
struct SharedTables(Arc<Mutex<SlotTables>>);

struct SlotTables {
    table: SlotTable,
    /// The memories whose slots may lead somewhere.
    memories: Vec<Weak<ExecutionMemory>>,
}

/// A slot that is held.
pub struct HeldSlot {
    tables: SharedTables,
    slot: Slot,
}

/// What an object refers to in the memory of a context, held until it is dropped.
pub(super) struct HeldOffsets {
    tables: SharedTables,
    slots: Vec<Slot>,
    calls: Vec<HeldCalls>,
    variables: HeldVariables,
}

/// The slots of the calls in a list, held until it is dropped.
pub(super) struct HeldCalls {
    tables: SharedTables,
    slots: CallSlots,
}

/// How the calls in a list have slots.
enum CallSlots {
    Listed(ListedSlots),
    /// One by one, with their names.
    Single(Vec<Slot>, #[expect(dead_code, reason = "only kept")] Vec<HeldName>),
}

impl SharedTables {
    /// Calls `work` with the tables. No fork comes in between, so that a child
    /// never finds them locked by a thread that it does not have.
    fn with<T>(&self, work: impl FnOnce(&mut SlotTables) -> T) -> T {
        process::within(Activity::Steady, || work(&mut self.0.lock()))
    }

    fn release(&self, slots: &[Slot]) {
        if !slots.is_empty() {
            self.with(|tables| slots.iter().for_each(|slot| tables.table.release(*slot)));
        }
    }
}

impl SlotTables {
    /// Frees the slots that are not held. Returns the memories in use, to be
    /// dropped without the lock.
    fn collect(&mut self) -> Vec<Arc<ExecutionMemory>> {
        let idle = self.table.collect();
        let memories: Vec<_> = self.memories.iter().filter_map(Weak::upgrade).collect();
        memories.iter().for_each(|memory| memory.forget(&idle));
        memories
    }
}

impl HeldSlot {
    #[inline]
    pub(super) fn slot(&self) -> Slot {
        self.slot
    }
}

impl Clone for HeldSlot {
    fn clone(&self) -> Self {
        self.tables.with(|tables| tables.table.hold_again(self.slot));
        Self { tables: self.tables.clone(), slot: self.slot }
    }
}

impl Drop for HeldSlot {
    fn drop(&mut self) {
        self.tables.release(&[self.slot]);
    }
}

impl HeldCalls {
    /// Returns the slot of a call; `None` if the list has no such number.
    pub(super) fn slot(&self, number: u32) -> Option<Slot> {
        match &self.slots {
            CallSlots::Listed(slots) => slots.get(number),
            CallSlots::Single(slots, _) => slots.get(number as usize).copied(),
        }
    }

    /// Returns whether each call has the slot of its own number.
    pub(super) fn have_their_numbers(&self) -> bool {
        matches!(&self.slots, CallSlots::Listed(slots) if slots.first == 0 && slots.others.is_empty())
    }

    fn iter(&self) -> impl Iterator<Item = Slot> {
        let count = match &self.slots {
            CallSlots::Listed(slots) => slots.len,
            CallSlots::Single(slots, _) => slots.len() as u32,
        };
        (0..count).filter_map(|number| self.slot(number))
    }
}

impl Drop for HeldCalls {
    fn drop(&mut self) {
        match &self.slots {
            CallSlots::Listed(slots) => self.tables.with(|tables| tables.table.release_list(slots)),
            CallSlots::Single(slots, _) => self.tables.release(slots),
        }
    }
}

impl HeldOffsets {
    /// Returns the slots.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.slots.iter().copied().chain(self.calls.iter().flat_map(HeldCalls::iter))
    }

    /// Returns the calls in lists.
    pub(super) fn calls(&self) -> &[HeldCalls] {
        &self.calls
    }

    /// Holds the slots of the calls in a list as well.
    pub(super) fn add(&mut self, calls: HeldCalls) {
        self.calls.push(calls);
    }

    /// Holds what a symbol stands for. Returns its offset; `None` if there is no slot
    /// or variable left.
    pub(super) fn hold(
        &mut self,
        slots: &Slots,
        symbol: abi::Symbol<'_>,
        name: impl Fn(&str) -> Option<Name>,
    ) -> Option<Address> {
        let mut slot = |text: &str, arity| {
            let slot = slots.hold_number(CallTarget { name: name(text)?, arity }).ok()?;
            self.slots.push(slot);
            Some(slot)
        };
        let variables = &mut self.variables;
        offset_of(symbol, &mut slot, &mut |text| variables.hold(name(text)?))
    }
}

/// Returns the offset that a symbol stands for, by the slot of a name and arity and the
/// number of a variable.
fn offset_of(
    symbol: abi::Symbol<'_>,
    slot: &mut dyn FnMut(&str, u32) -> Option<Slot>,
    variable: &mut dyn FnMut(&str) -> Option<u32>,
) -> Option<Address> {
    let offset = match symbol {
        abi::Symbol::Slot(text, arity) => slot(text, arity)?.offset(),
        abi::Symbol::Counter(text, arity) => slot(text, arity)?.counter_offset(),
        abi::Symbol::Numbers(text, arity) => slot(text, arity)?.numbers_offset(),
        abi::Symbol::Variable(text) => Variable(variable(text)?).offset(),
    };
    Some(Address::new(offset as u64))
}

impl Drop for HeldOffsets {
    fn drop(&mut self) {
        self.tables.release(&self.slots);
    }
}

impl Slots {
    pub(super) fn new(names: Arc<Names>, trampolines: TrampolinePool, variables: Arc<Variables>) -> Self {
        let tables = SlotTables { table: SlotTable::new(names.clone()), memories: Vec::new() };
        let tables = SharedTables(Arc::new(Mutex::new(tables)));
        Self { names, trampolines, variables, tables }
    }

    /// Returns the number of slots that are for a function, held or not.
    pub(super) fn count(&self) -> usize {
        self.tables.with(|tables| tables.table.count())
    }

    /// Registers the memory of a context, in which no slot leads anywhere yet.
    pub(super) fn join(&self, memory: &Arc<ExecutionMemory>) {
        self.tables.with(|tables| {
            let memories = &mut tables.memories;
            if memories.len() == memories.capacity() {
                // Amortised: each is visited once for each that is added.
                memories.retain(|other| other.strong_count() > 0);
                let present = memories.len();
                memories.reserve(present + 1);
            }
            memories.push(Arc::downgrade(memory));
        });
    }

    /// Holds the slot for calls of `target`, allocated if it has none; the same in
    /// every context.
    pub(super) fn hold(&self, target: CallTarget) -> Result<HeldSlot, Failure> {
        let slot = self.hold_number(target)?;
        Ok(HeldSlot { tables: self.tables.clone(), slot })
    }

    fn hold_number(&self, target: CallTarget) -> Result<Slot, Failure> {
        let (slot, memories) = self.tables.with(|tables| {
            let is_due = tables.table.is_due() && tables.table.find(target).is_none();
            let memories = if is_due { tables.collect() } else { Vec::new() };
            (tables.table.hold(target, |count| self.reserve(count)), memories)
        });
        // Dropping the last owner of a memory takes other locks.
        drop(memories);
        slot
    }

    /// Holds the slots of the calls in a list, if that is long. In an engine that has none yet,
    /// calls have the slots of their own numbers.
    ///
    /// # Errors
    /// If there are too many functions.
    pub(super) fn hold_long(&self, list: impl CallList + 'static) -> Result<Option<HeldCalls>, Failure> {
        if list.len() < LONG_LIST {
            return Ok(None);
        }
        let (slots, memories) = self.tables.with(|tables| {
            let memories = if tables.table.is_due() { tables.collect() } else { Vec::new() };
            (tables.table.hold_list(Arc::new(list), |count| self.reserve(count)), memories)
        });
        // Dropping the last owner of a memory takes other locks.
        drop(memories);
        Ok(Some(HeldCalls { tables: self.tables.clone(), slots: CallSlots::Listed(slots?) }))
    }

    /// Holds the slots of the calls in a list.
    ///
    /// # Errors
    /// If there are too many functions.
    pub(super) fn hold_calls(&self, list: impl CallList + Clone + 'static) -> Result<HeldCalls, Failure> {
        if let Some(held) = self.hold_long(list.clone())? {
            return Ok(held);
        }
        let (mut slots, mut names) = (Vec::with_capacity(list.len()), Vec::with_capacity(list.len()));
        let mut hold = |number| {
            let (text, arity) = list.call(number).ok_or(Failure::TooMany("called functions"))?;
            let name = self.names.try_hold(text).map_err(|_| Failure::TooMany("names"))?;
            slots.push(self.hold_number(CallTarget { name: name.name(), arity })?);
            names.push(name);
            Ok(())
        };
        let all = (0..list.len() as u32).try_for_each(&mut hold);
        let held = HeldCalls { tables: self.tables.clone(), slots: CallSlots::Single(slots, names) };
        all.map(|()| held)
    }

    /// Makes sure that there are trampolines for that number of slots.
    fn reserve(&self, count: usize) -> Result<(), Failure> {
        self.trampolines.reserve(count).map_err(|error| Failure::System(error.to_string()))
    }

    /// Returns the trampoline of a slot.
    fn trampoline(&self, slot: Slot) -> usize {
        self.trampolines.address(slot.0 as usize).map_or(0, |trampoline| trampoline.get() as usize)
    }

    /// Holds what the undefined symbols of an object stand for. Linking the object
    /// fails if there is no slot or variable left.
    pub(super) fn hold_all<'s>(
        &self,
        undefined: impl IntoIterator<Item = &'s str>,
        name: impl Fn(&str) -> Option<Name>,
    ) -> HeldOffsets {
        let mut held = self.hold_nothing();
        for symbol in undefined.into_iter().filter_map(abi::Symbol::parse) {
            held.hold(self, symbol, &name);
        }
        held
    }

    /// Holds nothing yet.
    pub(super) fn hold_nothing(&self) -> HeldOffsets {
        let variables = HeldVariables::of(&self.variables);
        HeldOffsets { tables: self.tables.clone(), slots: Vec::new(), calls: Vec::new(), variables }
    }

    /// Returns the slot of a trampoline, and its target.
    pub(super) fn target(&self, trampoline: usize) -> Option<(Slot, CallTarget)> {
        self.tables.with(|tables| {
            let slot = Slot(self.trampolines.number(Address::new(trampoline as u64))? as u32);
            Some((slot, tables.table.target(slot)?))
        })
    }

    /// Returns the offset that a symbol of an object stands for, which its object
    /// [holds](Self::hold_all).
    pub(super) fn offset(
        &self,
        symbol: abi::Symbol<'_>,
        name: impl Fn(&str) -> Option<Name>,
    ) -> Option<Address> {
        let mut slot = |text: &str, arity| {
            let target = CallTarget { name: name(text)?, arity };
            self.tables.with(|tables| tables.table.find(target))
        };
        offset_of(symbol, &mut slot, &mut |text| self.variables.find(name(text)?))
    }

    /// Makes the slots that an object holds lead to their trampolines in one context, as far as
    /// they lead nowhere yet.
    #[inline]
    pub(super) fn fill(&self, memory: &ExecutionMemory, held: &HeldOffsets) {
        if held.slots().any(|slot| memory.slot(slot) == 0) {
            self.fill_all(memory, held.slots());
        }
    }

    /// Does the same with slots, without looking first whether there is anything to do.
    #[cold]
    pub(super) fn fill_all(&self, memory: &ExecutionMemory, slots: impl Iterator<Item = Slot>) {
        self.tables.with(|_| {
            let empty = slots.filter(|slot| memory.slot(*slot) == 0);
            empty.for_each(|slot| memory.fill(slot, self.trampoline(slot)));
        });
    }

    /// Resets every dispatch slot of a name that leads somewhere to its trampoline,
    /// in one context.
    pub(super) fn reset(&self, memory: &ExecutionMemory, name: Name) {
        self.tables.with(|tables| {
            for slot in tables.table.of_name(name) {
                if memory.slot(slot) != 0 {
                    memory.redirect(slot, self.trampoline(slot));
                }
            }
        });
    }

    /// Redirects the slot for calls of `target`, if there is one, to code at
    /// `address`, which loads those numbers; returns it.
    pub(super) fn redirect(
        &self,
        memory: &ExecutionMemory,
        target: CallTarget,
        address: usize,
        numbers: Option<usize>,
    ) -> Option<Slot> {
        self.tables.with(|tables| {
            let slot = tables.table.find(target)?;
            numbers.into_iter().for_each(|numbers| memory.set_numbers(slot, numbers));
            memory.redirect(slot, address);
            Some(slot)
        })
    }

    /// Redirects slots that are held to addresses.
    pub(super) fn lead(&self, memory: &ExecutionMemory, entries: impl Iterator<Item = (Slot, usize)>) {
        self.tables.with(|_| memory.redirect_all(entries));
    }

    /// Redirects slots to addresses, except those that are for another target by
    /// now.
    pub(super) fn redirect_all(
        &self,
        memory: &ExecutionMemory,
        entries: impl IntoIterator<Item = (Slot, CallTarget, usize, Option<usize>)>,
    ) {
        self.tables.with(|tables| {
            for (slot, target, address, numbers) in entries {
                if tables.table.target(slot) == Some(target) {
                    numbers.into_iter().for_each(|numbers| memory.set_numbers(slot, numbers));
                    memory.redirect(slot, address);
                }
            }
        });
    }

    /// Makes a slot that leads to an address lead to its trampoline, in all contexts.
    pub(super) fn retract(&self, slot: Slot, address: usize) {
        let memories = self.tables.with(|tables| {
            let memories: Vec<_> = tables.memories.iter().filter_map(Weak::upgrade).collect();
            for memory in memories.iter().filter(|memory| memory.slot(slot) == address) {
                memory.redirect(slot, self.trampoline(slot));
            }
            memories
        });
        // Dropping the last owner of a memory takes other locks.
        drop(memories);
    }

    /// Clears the memory of a context.
    pub(super) fn clear(&self, memory: &ExecutionMemory) {
        self.tables.with(|_| memory.clear());
    }
}
