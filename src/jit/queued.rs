//! The definitions that are going to be compiled for a context.
//!
//! Jobs may be passed over, given up or stay behind in another process: what a
//! [`Request`] stands for is under way as long as that exists in this process.

use super::bindings::Bindings;
use super::definition::Definition;
use super::worker::locked;
use crate::process::Generation;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Counts the requests of a context for each definition, by its address.
pub(super) struct Queued(Mutex<RequestTable>);

struct RequestTable {
    /// The process that they belong to.
    generation: Generation,
    requests: FxHashMap<usize, u32>,
}

/// A request for code, which a job fulfils; dropping it ends it, done or not.
pub(super) struct Request {
    bindings: Arc<Bindings>,
    definitions: Vec<Arc<Definition>>,
    generation: Generation,
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

    /// Returns the table of this process.
    fn table(&self) -> MutexGuard<'_, RequestTable> {
        let mut table = locked(&self.0);
        if !table.generation.is_current() {
            *table = RequestTable { generation: Generation::current(), requests: FxHashMap::default() };
        }
        table
    }
}

impl Request {
    pub(super) fn new(bindings: &Arc<Bindings>, definitions: Vec<Arc<Definition>>) -> Self {
        let mut table = bindings.queued().table();
        for definition in &definitions {
            *table.requests.entry(address(definition)).or_insert(0) += 1;
        }
        let generation = table.generation;
        drop(table);
        Self { bindings: bindings.clone(), definitions, generation }
    }

    pub(super) fn bindings(&self) -> &Arc<Bindings> {
        &self.bindings
    }

    pub(super) fn definitions(&self) -> &[Arc<Definition>] {
        &self.definitions
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.generation.is_current() {
            return;
        }
        let mut table = self.bindings.queued().table();
        for definition in &self.definitions {
            let address = address(definition);
            match table.requests.get_mut(&address) {
                Some(count) if *count > 1 => *count -= 1,
                Some(_) | None => _ = table.requests.remove(&address),
            }
        }
        drop(table);
        // The interpreter may wait for what was not compiled.
        self.bindings.memory().signal_code_ready();
    }
}

fn address(definition: &Arc<Definition>) -> usize {
    Arc::as_ptr(definition) as usize
}
