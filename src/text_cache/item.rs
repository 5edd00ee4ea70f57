//! Items of texts that have been read.

use crate::jit::DefinitionHandle;
use crate::process::SteadyCell;
use crate::sema::CheckedItem;
use crate::sema::asked::ReadingRecord;
use crate::world::StoredItem;

/// An item of a text.
pub(crate) struct CachedItem {
    pub(crate) item: CheckedItem,
    record: ReadingRecord,
    /// The offset in the text where it ends.
    pub(crate) end: u32,
    /// Its definition, kept with its code once a second context has asked for
    /// it.
    pub(crate) definition: SteadyCell<DefinitionHandle>,
}

impl From<StoredItem> for CachedItem {
    fn from(stored: StoredItem) -> Self {
        Self::new(stored.item, stored.record, stored.end)
    }
}

impl CachedItem {
    pub(crate) fn new(item: CheckedItem, record: ReadingRecord, end: u32) -> Self {
        Self { item, record, end, definition: SteadyCell::new() }
    }

    /// Returns it as what is kept for later runs.
    pub(crate) fn stored(&self) -> StoredItem<&CheckedItem, &ReadingRecord> {
        StoredItem { item: &self.item, record: &self.record, end: self.end }
    }

    /// Returns the record of what its reading asked.
    pub(crate) fn record(&self) -> &ReadingRecord {
        &self.record
    }
}
