//! Numbering: entries get indices in the order of their first use.

use super::op::Raw;
use rustc_hash::FxHashMap;

/// A table of distinct entries, indexed in the order of their first use.
pub(super) struct IndexTable<T> {
    pub(super) entries: Vec<T>,
    pub(super) index: FxHashMap<T, u32>,
}

impl<T> Default for IndexTable<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), index: FxHashMap::default() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> IndexTable<T> {
    pub(super) fn index(&mut self, entry: T) -> Raw {
        let entries = &mut self.entries;
        let index = *self.index.entry(entry).or_insert_with(|| {
            entries.push(entry);
            entries.len() as u32 - 1
        });
        index.into()
    }
}
