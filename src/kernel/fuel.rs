//! What blocks of rows have taken of the fuel of a run.
//!
//! Fuel is taken in the order of the rows. Threads compute blocks before it is known what
//! those before them take, so a block is lent all that may be left, and what it has taken is
//! summed up in order afterwards. The block where the fuel ends is then computed once more, with
//! what was left there: so the row where it ends does not depend on the threads.

/// What the blocks of a run have taken.
pub(super) struct FuelMeter {
    /// The fuel of the run.
    fuel: u64,
    /// By block: `None` while it is computed, and if it takes more than it was lent.
    taken: Vec<Option<u64>>,
    /// The number of blocks at the beginning that are all complete, and what they have taken.
    first: (usize, u64),
}

impl FuelMeter {
    pub(super) fn new(fuel: u64) -> Self {
        Self { fuel, taken: Vec::new(), first: (0, 0) }
    }

    /// Returns what a block may take that is begun now: at least what the blocks before it
    /// leave.
    pub(super) fn lent(&self) -> u64 {
        self.fuel.saturating_sub(self.first.1)
    }

    /// Notes what a block has taken, by its number; `None` if that is more than it was lent.
    pub(super) fn note(&mut self, block: usize, taken: Option<u64>) {
        if self.taken.len() <= block {
            self.taken.resize(block + 1, None);
        }
        self.taken[block] = taken;
        let (count, sum) = &mut self.first;
        while let Some(Some(taken)) = self.taken.get(*count) {
            (*count, *sum) = (*count + 1, sum.saturating_add(*taken));
        }
    }

    /// Returns the first of some blocks, by its number, that takes more than those before it
    /// leave, and what they leave; or else what they all leave.
    pub(super) fn end(&self, blocks: usize) -> (Option<usize>, u64) {
        let mut left = self.fuel;
        for block in 0..blocks {
            match self.taken.get(block).copied().flatten().and_then(|taken| left.checked_sub(taken)) {
                Some(rest) => left = rest,
                None => return (Some(block), left),
            }
        }
        (None, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_does_not_depend_on_the_order_of_notes() {
        let taken = [Some(30), Some(40), Some(20), Some(25), None];
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]] {
            let mut meter = FuelMeter::new(100);
            for block in order {
                meter.note(block, taken[block]);
            }
            assert_eq!(meter.end(5), (Some(3), 10), "{order:?}");
            assert_eq!(meter.end(3), (None, 10), "{order:?}");
            assert_eq!(meter.lent(), 0);
        }
        let mut meter = FuelMeter::new(100);
        meter.note(1, Some(60));
        assert_eq!((meter.lent(), meter.end(2)), (100, (Some(0), 100)));
        meter.note(0, Some(40));
        assert_eq!((meter.lent(), meter.end(2)), (0, (None, 0)));
    }
}
