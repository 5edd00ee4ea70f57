//! The free list of an array: its unused ranges.
//!
//! Adjacent gaps are merged, and none is at the end of the array: the array is
//! truncated there instead.

use std::collections::{BTreeMap, BTreeSet};

/// The unused ranges of an array.
#[derive(Default)]
pub(super) struct Gaps {
    /// Their lengths, by start.
    lengths: BTreeMap<u32, u32>,
    /// Lengths and starts, the shortest first.
    by_length: BTreeSet<(u32, u32)>,
}

impl Gaps {
    /// Returns whether a gap has at least that length.
    pub(super) fn fits(&self, length: u32) -> bool {
        self.by_length.range((length, 0)..).next().is_some()
    }

    /// Takes the beginning of the shortest gap that is long enough; the rest of
    /// it stays a gap.
    pub(super) fn take(&mut self, length: u32) -> Option<u32> {
        let (found, start) = *self.by_length.range((length, 0)..).next()?;
        self.remove(start);
        if found > length {
            self.insert(start + length, found - length);
        }
        Some(start)
    }

    /// Frees a range. Returns the new end of the array if nothing is used from
    /// there to its `end`.
    pub(super) fn give(&mut self, start: u32, length: u32, end: u32) -> Option<u32> {
        let (mut first, mut past) = (start, start + length);
        if let Some(after) = self.remove(past) {
            past += after;
        }
        if let Some((&before, &length)) = self.lengths.range(..start).next_back()
            && before + length == start
        {
            self.remove(before);
            first = before;
        }
        if past == end {
            return Some(first);
        }
        self.insert(first, past - first);
        None
    }

    fn insert(&mut self, start: u32, length: u32) {
        self.lengths.insert(start, length);
        self.by_length.insert((length, start));
    }

    fn remove(&mut self, start: u32) -> Option<u32> {
        let length = self.lengths.remove(&start)?;
        self.by_length.remove(&(length, start));
        Some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one() {
        for order in [[10, 15, 22], [10, 22, 15], [15, 10, 22], [15, 22, 10], [22, 10, 15], [22, 15, 10]] {
            let mut gaps = Gaps::default();
            for start in order {
                let length = if start == 15 { 7 } else { 5 };
                assert_eq!(gaps.give(start, length, 100), None);
            }
            assert_eq!((gaps.fits(17), gaps.fits(18)), (true, false), "{order:?}");
            assert_eq!([gaps.take(17), gaps.take(1)], [Some(10), None], "{order:?}");
        }
    }

    #[test]
    fn the_shortest_that_fits_is_taken_and_its_rest_left() {
        let mut gaps = Gaps::default();
        assert_eq!([gaps.give(10, 9, 100), gaps.give(30, 4, 100), gaps.give(50, 6, 100)], [None; 3]);
        assert_eq!([gaps.take(5), gaps.take(5), gaps.take(5)], [Some(50), Some(10), None]);
        assert_eq!([gaps.take(4), gaps.take(4), gaps.take(1)], [Some(15), Some(30), Some(55)]);
        assert!(!gaps.fits(1));
    }

    #[test]
    fn the_row_is_cut_where_nothing_follows() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.give(10, 5, 40), None);
        assert_eq!(gaps.give(20, 10, 40), None);
        assert_eq!(gaps.give(30, 10, 40), Some(20));
        assert_eq!(gaps.give(15, 5, 20), Some(10));
        assert!(!gaps.fits(1));
    }
}
