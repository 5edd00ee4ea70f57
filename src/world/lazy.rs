//! Tables whose entries are made when they are asked for.

use crate::process::SteadyCell;

/// The entries that are allocated together.
const CHUNK: usize = 64;

/// A table of a fixed length; one that is never asked for takes hardly any memory.
pub struct LazyTable<T> {
    chunks: Box<[SteadyCell<Chunk<T>>]>,
    len: usize,
}

/// As many entries as are allocated together.
type Chunk<T> = Box<[SteadyCell<T>]>;

impl<T> LazyTable<T> {
    /// Creates a table without entries.
    pub fn new(len: usize) -> Self {
        Self { chunks: std::iter::repeat_with(SteadyCell::new).take(len.div_ceil(CHUNK)).collect(), len }
    }

    /// Returns the number of entries, made or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns an entry, which `make` makes if there is none; `None` if it has no place,
    /// or cannot be made.
    pub fn get_or_make<E>(&self, index: usize, make: impl FnOnce() -> Result<T, E>) -> Option<&T> {
        let chunk = self.chunks.get(index / CHUNK).filter(|_| index < self.len)?;
        let chunk = chunk.get_or_make(|| std::iter::repeat_with(SteadyCell::new).take(CHUNK).collect());
        let entry = &chunk[index % CHUNK];
        if let Some(known) = entry.get() {
            return Some(known);
        }
        let made = make().ok()?;
        Some(entry.get_or_make(|| made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_made_once_if_it_can_be() {
        let table = LazyTable::new(100);
        assert_eq!(table.get_or_make(99, || Err(())), None);
        assert_eq!(table.get_or_make(99, || Ok::<_, ()>(7)), Some(&7));
        assert_eq!(table.get_or_make(99, || Ok::<_, ()>(8)), Some(&7));
        assert_eq!((table.get_or_make(100, || Ok::<_, ()>(9)), table.len()), (None, 100));
    }
}
