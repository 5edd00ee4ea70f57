//! Which parts of a slab are free, and which occupy memory that is not used.

use std::collections::{BTreeMap, BTreeSet};

/// A range of units. It fits into the number by which its owner knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub(super) start: u32,
    pub(super) size: u32,
}

impl Range {
    pub(super) fn end(self) -> u32 {
        self.start + self.size
    }

    /// Returns the number by which its owner knows it.
    pub(super) fn handle(self) -> u64 {
        u64::from(self.size) << 32 | u64::from(self.start)
    }

    /// Returns the range of a [handle](Self::handle).
    pub(super) fn of_handle(handle: u64) -> Self {
        Self { start: handle as u32, size: (handle >> 32) as u32 }
    }
}

/// The ranges that are free: best fit, lowest address first; neighbours merge.
pub(super) struct FreeRanges {
    by_start: BTreeMap<u32, u32>,
    by_size: BTreeSet<(u32, u32)>,
}

impl FreeRanges {
    /// Creates as many free units.
    pub(super) fn new(size: u32) -> Self {
        let mut ranges = Self { by_start: BTreeMap::new(), by_size: BTreeSet::new() };
        ranges.insert(Range { start: 0, size });
        ranges
    }

    /// Takes a range whose start is a multiple of `alignment`; `None` if there is none that
    /// large.
    pub(super) fn take(&mut self, size: u32, alignment: u32) -> Option<Range> {
        // Room for the start to move up.
        let least = size.checked_add(alignment - 1)?;
        let &(size_found, start) = self.by_size.range((least, 0)..).next()?;
        let free = Range { start, size: size_found };
        self.remove(free);
        let taken = Range { start: free.start.next_multiple_of(alignment), size };
        self.insert(Range { start: free.start, size: taken.start - free.start });
        self.insert(Range { start: taken.end(), size: free.end() - taken.end() });
        Some(taken)
    }

    /// Makes a range free that was taken.
    pub(super) fn give(&mut self, mut range: Range) {
        let before = self.by_start.range(..range.start).next_back();
        let before = before.map(|(&start, &size)| Range { start, size });
        if let Some(before) = before.filter(|before| before.end() == range.start) {
            self.remove(before);
            range = Range { start: before.start, size: before.size + range.size };
        }
        if let Some(&size) = self.by_start.get(&range.end()) {
            self.remove(Range { start: range.end(), size });
            range.size += size;
        }
        self.insert(range);
    }

    fn insert(&mut self, range: Range) {
        if range.size > 0 {
            self.by_start.insert(range.start, range.size);
            self.by_size.insert((range.size, range.start));
        }
    }

    fn remove(&mut self, range: Range) {
        self.by_start.remove(&range.start);
        self.by_size.remove(&(range.size, range.start));
    }
}

/// Which parts of a slab occupy memory.
pub(super) struct Occupancy {
    units_each: u32,
    /// The last one is never used, so that a stretch ends before it.
    all: Vec<ChunkUse>,
    /// How many are touched and not used.
    idle: u32,
}

#[derive(Clone, Copy, Default)]
struct ChunkUse {
    /// How many of its units are used.
    used: u16,
    is_touched: bool,
}

/// How many chunks may be idle before their memory is returned: enough to be worth the
/// system calls.
const MOST_IDLE: u32 = 16;

impl Occupancy {
    /// Creates chunks of `units_each` for `units`; nothing is touched yet.
    pub(super) fn new(units: u32, units_each: u32) -> Self {
        let all = vec![ChunkUse::default(); (units / units_each) as usize + 1];
        Self { units_each, all, idle: 0 }
    }

    /// Records that a range is used.
    pub(super) fn take(&mut self, range: Range) {
        self.each(range, |chunk, units, idle| {
            *idle -= u32::from(chunk.is_touched && chunk.used == 0);
            chunk.is_touched = true;
            chunk.used += units;
        });
    }

    /// Records that a range is not used any more. Returns whether enough is idle to
    /// [drain](Self::drain).
    pub(super) fn give(&mut self, range: Range) -> bool {
        self.each(range, |chunk, units, idle| {
            chunk.used -= units;
            *idle += u32::from(chunk.used == 0);
        });
        self.idle > MOST_IDLE
    }

    /// Calls `visit` for every stretch of chunks that is in use.
    pub(super) fn for_each_used(&self, mut visit: impl FnMut(Range)) {
        let mut index = 0;
        while index < self.all.len() {
            let first = index;
            while self.all[index].used > 0 {
                index += 1;
            }
            if index > first {
                visit(self.stretch(first, index));
            }
            index += 1;
        }
    }

    /// Calls `release` for every idle stretch, which counts as untouched from then on.
    pub(super) fn drain(&mut self, mut release: impl FnMut(Range)) {
        let mut index = 0;
        while index < self.all.len() {
            let first = index;
            while self.all[index].is_touched && self.all[index].used == 0 {
                self.all[index].is_touched = false;
                index += 1;
            }
            if index > first {
                release(self.stretch(first, index));
            }
            index += 1;
        }
        self.idle = 0;
    }

    fn stretch(&self, first: usize, end: usize) -> Range {
        Range { start: first as u32 * self.units_each, size: (end - first) as u32 * self.units_each }
    }

    /// Calls `visit` for every chunk that a range is in, with how many of its units are in it.
    fn each(&mut self, range: Range, visit: impl Fn(&mut ChunkUse, u16, &mut u32)) {
        let mut at = range.start;
        while at < range.end() {
            let index = at / self.units_each;
            let end = range.end().min((index + 1) * self.units_each);
            visit(&mut self.all[index as usize], (end - at) as u16, &mut self.idle);
            at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ranges_are_split_and_merged() {
        let mut free = FreeRanges::new(100);
        let taken: Vec<_> = (0..4).map(|_| free.take(25, 1).expect("there is room")).collect();
        assert_eq!(free.take(1, 1), None);
        free.give(taken[1]);
        free.give(taken[2]);
        // The two are one now; the start moves up to the alignment.
        assert_eq!(free.take(32, 16), Some(Range { start: 32, size: 32 }));
        assert_eq!(free.take(7, 1), Some(Range { start: 25, size: 7 }));
        assert_eq!(free.take(11, 1), Some(Range { start: 64, size: 11 }));
        assert_eq!(free.take(u32::MAX, 64), None);
    }

    #[test]
    fn the_smallest_gap_that_fits_is_filled() {
        let mut free = FreeRanges::new(100);
        let taken: Vec<_> = [10, 1, 5, 84].map(|size| free.take(size, 1).expect("there is room")).into();
        free.give(taken[0]);
        free.give(taken[2]);
        assert_eq!(free.take(4, 1), Some(Range { start: 11, size: 4 }));
        assert_eq!(Range::of_handle(taken[3].handle()), taken[3]);
    }

    #[test]
    fn idle_chunks_are_drained_when_there_are_many() {
        let mut chunks = Occupancy::new(100 * 8, 8);
        let range = |start, size| Range { start, size };
        chunks.take(range(4, 8));
        chunks.take(range(80, 8 * 20));
        let mut used = Vec::new();
        chunks.for_each_used(|range| used.push(range));
        assert_eq!(used, [range(0, 16), range(80, 160)]);
        assert!(!chunks.give(range(4, 8)));
        assert!(chunks.give(range(80, 160)));
        let mut drained = Vec::new();
        chunks.drain(|range| drained.push(range));
        assert_eq!(drained, [range(0, 16), range(80, 160)]);
        chunks.drain(|range| panic!("{range:?} is not touched"));
    }
}
