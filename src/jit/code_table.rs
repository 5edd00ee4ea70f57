//! The code that an engine has, by what it was made of.
//!
//! Code is a function of its inputs: the function, what is inlined, which calls
//! are builtins, the tier and its options. Names in it are symbols. So code
//! that was made of the same, for another text or in another context, is used
//! again.

use super::code::SharedBody;
use super::tier::CompilePlan;
use super::weak_table::WeakTable;
use super::worker::locked_steadily;
use crate::bytes::Writer;
use crate::codegen::{ColumnEntry, Entry, LoopEntry};
use crate::fingerprint::Fingerprint;
use crate::name::{Name, Names};
use crate::sema::checked::CheckedFunction;
use crate::tier::Tier;
use std::sync::{Arc, Mutex};

/// What separates these encodings from others. The number changes with the
/// encoding.
const KIND: &str = "kal 2026 compiled code 2";

/// Bodies by the identity of their inputs.
#[derive(Default)]
pub(super) struct CodeTable(Mutex<Bodies>);

#[derive(Default)]
struct Bodies {
    table: WeakTable<Fingerprint, SharedBody>,
    /// The latest optimised code of each name. Where there is none, there is no need
    /// to find out what it would be made of.
    optimised: WeakTable<Name, SharedBody>,
}

impl CompilePlan {
    /// Returns the identity of the code of the function that it plans, entered there.
    pub(super) fn identity(&self, function: &CheckedFunction, entry: Entry, names: &Names) -> Fingerprint {
        let compute = || self.computed_identity(function, entry, names);
        if entry == Entry::Call { *self.identity.get_or_make(compute) } else { compute() }
    }

    fn computed_identity(&self, function: &CheckedFunction, entry: Entry, names: &Names) -> Fingerprint {
        let mut writer = Writer::with_room(128);
        writer.bytes(self.identity_of(function, names).as_bytes());
        writer.byte(self.loads_numbers.into());
        writer.byte(match self.tier {
            Tier::Quick => 0,
            Tier::Full => 1,
        });
        writer.byte(self.options.level as u8);
        writer.byte(self.options.counts_fuel.into());
        writer.long(self.hot_after.map_or(0, |calls| u64::from(calls) + 1));
        writer.count(self.assumptions.inlined.len());
        for inlined in &self.assumptions.inlined {
            writer.bytes(inlined.fingerprint(names).as_bytes());
        }
        writer.count(self.assumptions.builtins.len());
        for (name, builtin) in &self.assumptions.builtins {
            writer.text(&names.text(*name));
            writer.text(builtin.text());
        }
        match entry {
            Entry::Call => {}
            Entry::Loop(LoopEntry { node, values }) => {
                writer.number(node);
                writer.number(values);
            }
            Entry::Columns(ColumnEntry { lanes, every, streams }) => {
                writer.text("columns");
                writer.number(lanes);
                writer.long(every);
                writer.byte(streams.into());
            }
        }
        Fingerprint::of(KIND, writer)
    }

    /// Returns the identity of what the code is of: the function, or its shape.
    pub(super) fn identity_of(&self, function: &CheckedFunction, names: &Names) -> Fingerprint {
        if self.loads_numbers { function.shape(names) } else { function.fingerprint(names) }
    }
}

impl CodeTable {
    /// Returns the code of that identity.
    pub(super) fn find(&self, identity: Fingerprint) -> Option<Arc<SharedBody>> {
        locked_steadily(&self.0).table.find(&identity)
    }

    /// Returns whether there may be optimised code of a function of that name.
    pub(super) fn may_have_optimised(&self, name: Name) -> bool {
        locked_steadily(&self.0).optimised.find(&name).is_some()
    }

    /// Adds code that has been made of a function of that name.
    pub(super) fn add(&self, identity: Fingerprint, name: Name, tier: Tier, body: &Arc<SharedBody>) {
        let mut bodies = locked_steadily(&self.0);
        bodies.table.add(identity, body);
        if tier == Tier::Full {
            bodies.optimised.add(name, body);
        }
    }
}
