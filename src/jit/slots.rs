//! Dispatch slots: which number is used for calls of which function.
//!
//! A slot is for a name *and* an arity. So a call that was compiled when `f`
//! took one argument can never reach a body that takes two: its slot holds a
//! trampoline instead, which detects the mismatch. Slots are allocated when
//! code that calls through them is linked, are the same in all contexts of an
//! engine, and are never freed. In the memory of a context a slot is 0 until the
//! context gets code that calls through it: a context pays for what it runs.

use crate::abi::{self, Variables};
use crate::failure::Failure;
use crate::name::Name;
use crate::process::{self, Activity};
use crate::runtime::{ExecutionMemory, Slot, Variable};
use kal_orc::{Address, TrampolinePool};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What a slot is for: a name and a number of arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct CallTarget {
    pub(super) name: Name,
    pub(super) arity: u32,
}

/// The slots and variables of an engine.
pub(super) struct Slots {
    trampolines: TrampolinePool,
    variables: Arc<Variables>,
    tables: Mutex<SlotTables>,
}

#[derive(Default)]
struct SlotTables {
    by_name: FxHashMap<Name, Vec<(u32, Slot)>>,
    by_trampoline: FxHashMap<usize, Slot>,
    slots: Vec<(CallTarget, usize)>,
}

impl Slots {
    /// Calls `work` with the tables. No fork comes in between, so that a child
    /// never finds them locked by a thread that it does not have.
    fn tables<T>(&self, work: impl FnOnce(&mut SlotTables) -> T) -> T {
        process::within(Activity::Steady, || work(&mut self.tables.lock()))
    }

    pub(super) fn new(trampolines: TrampolinePool, variables: Arc<Variables>) -> Self {
        Self { trampolines, variables, tables: Mutex::default() }
    }

    /// Returns the number of slots.
    pub(super) fn count(&self) -> usize {
        self.tables(|tables| tables.slots.len())
    }

    /// Returns the slot for calls of `target`, allocated on first use; the same
    /// in every context.
    pub(super) fn slot(&self, target: CallTarget) -> Result<Slot, Failure> {
        self.tables(|tables| {
            let known = tables.by_name.get(&target.name).and_then(|slots| find(slots, target.arity));
            if let Some(slot) = known {
                return Ok(slot);
            }
            if tables.slots.len() == abi::SLOT_COUNT {
                return Err(Failure::TooMany("called functions"));
            }
            let trampoline = self.trampolines.get().map_err(|error| Failure::System(error.to_string()))?;
            let trampoline = trampoline.get() as usize;
            let slot = Slot(tables.slots.len() as u32);
            tables.slots.push((target, trampoline));
            tables.by_trampoline.insert(trampoline, slot);
            tables.by_name.entry(target.name).or_default().push((target.arity, slot));
            Ok(slot)
        })
    }

    /// Returns the slot that `trampoline` was made for, and its target.
    pub(super) fn target(&self, trampoline: usize) -> Option<(Slot, CallTarget)> {
        self.tables(|tables| {
            let slot = *tables.by_trampoline.get(&trampoline)?;
            Some((slot, tables.slots[slot.0 as usize].0))
        })
    }

    /// Returns the number of a variable, the same in every context.
    pub(super) fn variable(&self, name: Name) -> Result<Variable, Failure> {
        self.variables.number(name).map(Variable).ok_or(Failure::TooMany("variables"))
    }

    /// Returns the offset that a symbol of an object stands for.
    pub(super) fn offset(&self, symbol: abi::Symbol<'_>, intern: impl Fn(&str) -> Name) -> Option<Address> {
        let offset = match symbol {
            abi::Symbol::Slot(name, arity) => {
                self.slot(CallTarget { name: intern(name), arity }).ok()?.offset()
            }
            abi::Symbol::Counter(name, arity) => {
                self.slot(CallTarget { name: intern(name), arity }).ok()?.counter_offset()
            }
            abi::Symbol::Numbers(name, arity) => {
                self.slot(CallTarget { name: intern(name), arity }).ok()?.numbers_offset()
            }
            abi::Symbol::Variable(name) => self.variable(intern(name)).ok()?.offset(),
        };
        Some(Address::new(offset as u64))
    }

    /// Makes slots that lead nowhere yet lead to their trampolines, in one
    /// context.
    #[inline]
    pub(super) fn fill(&self, memory: &ExecutionMemory, slots: &[Slot]) {
        if slots.iter().any(|slot| memory.slot(*slot) == 0) {
            self.fill_all(memory, slots);
        }
    }

    /// Does what [`fill`](Self::fill) does, without looking first whether there is
    /// anything to do.
    #[cold]
    pub(super) fn fill_all<'s>(&self, memory: &ExecutionMemory, slots: impl IntoIterator<Item = &'s Slot>) {
        self.tables(|tables| {
            slots.into_iter().for_each(|slot| memory.fill(*slot, tables.slots[slot.0 as usize].1));
        });
    }

    /// Resets every dispatch slot of a name that leads somewhere to its trampoline,
    /// in one context.
    pub(super) fn reset(&self, memory: &ExecutionMemory, name: Name) {
        self.tables(|tables| {
            for (_, slot) in tables.by_name.get(&name).into_iter().flatten() {
                if memory.slot(*slot) != 0 {
                    memory.redirect(*slot, tables.slots[slot.0 as usize].1);
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
        self.tables(|tables| {
            let slot = find(tables.by_name.get(&target.name)?, target.arity)?;
            numbers.into_iter().for_each(|numbers| memory.set_numbers(slot, numbers));
            memory.redirect(slot, address);
            Some(slot)
        })
    }
}

fn find(slots: &[(u32, Slot)], arity: u32) -> Option<Slot> {
    slots.iter().find(|(known, _)| *known == arity).map(|(_, slot)| *slot)
}
