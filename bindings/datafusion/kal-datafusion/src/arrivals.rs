//! The functions that have arrived, by their ids: the latest, and not too many.

use crate::function::KalFunction;
use lru::LruCache;
use std::sync::{Arc, OnceLock};

/// How many functions are kept.
const MOST: usize = 1024;

/// How many bytes their definitions may have together. What is made of a function takes some
/// twenty times as much.
const MOST_TEXT: usize = 2 << 20;

/// A function that has arrived, or is being read by the first that met it.
pub(crate) type Arrival = Arc<OnceLock<Arc<KalFunction>>>;

/// The functions that are kept.
pub(crate) struct Arrivals {
    /// Each with the length of its definitions.
    kept: LruCache<[u8; 32], (Arrival, usize)>,
    text: usize,
}

impl Arrivals {
    pub(crate) fn new() -> Self {
        Self { kept: LruCache::unbounded(), text: 0 }
    }

    /// Returns the place of a function, whose definitions have so many bytes. Those that were
    /// not used for longest are forgotten for it.
    pub(crate) fn place(&mut self, id: &[u8; 32], bytes: usize) -> Arrival {
        if let Some((place, _)) = self.kept.get(id) {
            return place.clone();
        }
        while self.kept.len() >= MOST || self.text + bytes > MOST_TEXT {
            let Some((_, (_, bytes))) = self.kept.pop_lru() else { break };
            self.text -= bytes;
        }
        let place = Arrival::default();
        self.kept.put(*id, (place.clone(), bytes));
        self.text += bytes;
        place
    }

    /// Forgets a function.
    pub(crate) fn forget(&mut self, id: &[u8; 32]) {
        if let Some((_, bytes)) = self.kept.pop(id) {
            self.text -= bytes;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> [u8; 32] {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&number.to_le_bytes());
        id
    }

    #[test]
    fn the_latest_are_kept_up_to_a_number_and_a_size() {
        let mut arrivals = Arrivals::new();
        let first = arrivals.place(&id(0), 10);
        for number in 1..MOST {
            arrivals.place(&id(number), 10);
        }
        assert!(Arc::ptr_eq(&arrivals.place(&id(0), 10), &first));
        arrivals.place(&id(MOST), 10);
        // The first was used, so the second is gone.
        assert!(Arc::ptr_eq(&arrivals.place(&id(0), 10), &first));
        assert!(!arrivals.kept.contains(&id(1)));
        assert_eq!((arrivals.len(), arrivals.text), (MOST, 10 * MOST));
        arrivals.place(&id(MOST + 1), MOST_TEXT - 5);
        assert_eq!((arrivals.len(), arrivals.text), (1, MOST_TEXT - 5));
        arrivals.forget(&id(MOST + 1));
        arrivals.forget(&id(MOST + 1));
        assert_eq!((arrivals.len(), arrivals.text), (0, 0));
    }
}
