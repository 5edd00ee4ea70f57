//! Where tests that make things at random get their choices from: a seed, or
//! the bytes that a fuzzer has thought of.

/// A source of choices.
pub trait Choices {
    /// Returns a number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize;

    /// Returns whether there are no more, so that all that follow are 0.
    fn are_over(&self) -> bool {
        false
    }
}

/// A small generator of random numbers (Marsaglia's xorshift64*, 2003).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        // Seeds that differ in few bits begin alike.
        (0..4).for_each(|_| _ = random.below(2));
        random
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

impl Choices for Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
    }
}

/// Choices by bytes, one or two for each; 0 when they are used up.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }
}

impl Choices for Bytes<'_> {
    fn below(&mut self, end: usize) -> usize {
        let number = if end > 256 { self.next() << 8 | self.next() } else { self.next() };
        number % end
    }

    fn are_over(&self) -> bool {
        self.0.is_empty()
    }
}
