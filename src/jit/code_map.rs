//! Which function an address of code belongs to.

use crate::sema::checked::Function;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The bodies that are linked at present, by their address.
#[derive(Default)]
pub(super) struct CodeMap(Mutex<BTreeMap<usize, Arc<Function>>>);

impl CodeMap {
    pub(super) fn insert(&self, body: usize, function: &Arc<Function>) {
        self.0.lock().insert(body, function.clone());
    }

    pub(super) fn remove(&self, body: usize) {
        self.0.lock().remove(&body);
    }

    /// The function whose body the address lies in, for an address that lies
    /// in one.
    pub(super) fn find(&self, address: usize) -> Option<Arc<Function>> {
        let bodies = self.0.lock();
        bodies.range(..=address).next_back().map(|(_, function)| function.clone())
    }
}
