//! A table that owns none of its entries.

use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

/// Values by key. An entry lives as long as its value has another owner.
pub(super) struct WeakTable<K, V> {
    entries: FxHashMap<K, Weak<V>>,
    /// The size of the table at which the entries of dropped values are removed.
    full: usize,
}

/// Smaller tables are not searched for dropped values.
const SMALLEST: usize = 1024;

impl<K, V> Default for WeakTable<K, V> {
    fn default() -> Self {
        Self { entries: FxHashMap::default(), full: SMALLEST }
    }
}

impl<K: Eq + Hash, V> WeakTable<K, V> {
    /// Returns the value of a key, if it has not been dropped.
    pub(super) fn find(&self, key: &K) -> Option<Arc<V>> {
        self.entries.get(key)?.upgrade()
    }

    /// Adds a value; it replaces that of the same key.
    pub(super) fn add(&mut self, key: K, value: &Arc<V>) {
        if self.entries.len() >= self.full {
            self.entries.retain(|_, value| value.strong_count() > 0);
            self.full = (self.entries.len() * 2).max(SMALLEST);
        }
        self.entries.insert(key, Arc::downgrade(value));
    }
}
