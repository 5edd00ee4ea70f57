//! The definitions that are going to be compiled for a context.
//!
//! Jobs may be passed over, given up or stay behind in another process: what a
//! request stands for is under way as long as that exists in this process.

use super::definition::Definition;
use super::tier::CompilePlan;
use super::worker::locked;
use crate::process::Generation;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The requests of a context for each definition, by its address.
pub(super) struct Queued(Mutex<RequestTable>);

struct RequestTable {
    /// The process that they belong to.
    generation: Generation,
    requests: FxHashMap<usize, Requested>,
}

#[derive(Default)]
struct Requested {
    /// The number of requests.
    count: u32,
    /// How its first code is to be made, if that was said with a request.
    plan: Option<CompilePlan>,
}

impl Queued {
    pub(super) fn new() -> Self {
        let table = RequestTable { generation: Generation::current(), requests: FxHashMap::default() };
        Self(Mutex::new(table))
    }

    /// Returns whether there is a request for the code of a definition.
    pub(super) fn contains(&self, definition: &Arc<Definition>) -> bool {
        self.table().requests.contains_key(&address(definition))
    }

    /// Counts a request for definitions; returns the process that it belongs to.
    pub(super) fn add(&self, definitions: &[Arc<Definition>]) -> Generation {
        let mut table = self.table();
        for definition in definitions {
            table.requests.entry(address(definition)).or_default().count += 1;
        }
        table.generation
    }

    /// Keeps how a definition is to be compiled while there is a request for it.
    pub(super) fn keep_plan(&self, definition: &Arc<Definition>, plan: CompilePlan) {
        if let Some(requested) = self.table().requests.get_mut(&address(definition)) {
            requested.plan = Some(plan);
        }
    }

    /// Returns how a definition is to be compiled, if a request has said so.
    pub(super) fn plan(&self, definition: &Arc<Definition>) -> Option<CompilePlan> {
        self.table().requests.get(&address(definition))?.plan.clone()
    }

    /// Ends a request of this process.
    pub(super) fn remove(&self, definitions: &[Arc<Definition>]) {
        let mut table = self.table();
        for definition in definitions {
            let address = address(definition);
            match table.requests.get_mut(&address) {
                Some(requested) if requested.count > 1 => requested.count -= 1,
                Some(_) | None => _ = table.requests.remove(&address),
            }
        }
    }

    /// Returns the table of this process.
    fn table(&self) -> MutexGuard<'_, RequestTable> {
        let mut table = locked(&self.0);
        if !table.generation.is_current() {
            *table = RequestTable { generation: Generation::current(), requests: FxHashMap::default() };
        }
        table
    }
}

fn address(definition: &Arc<Definition>) -> usize {
    Arc::as_ptr(definition) as usize
}
