//! How well code is compiled: optimisation levels and tiers.
//!
//! They are part of every configuration, also in a build without the compiler,
//! where they have no effect.

/// The optimisation level of compiled code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Level {
    /// Compile as quickly as possible.
    O0,
    /// The cheap passes.
    O1,
    /// What `clang -O2` does.
    #[default]
    O2,
    /// What `clang -O3` does.
    O3,
}

impl Level {
    /// Every level.
    pub const ALL: [Self; 4] = [Self::O0, Self::O1, Self::O2, Self::O3];
}

/// A tier of compiled code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tier {
    /// The baseline tier: quick to compile; counts its calls and iterations.
    Quick,
    /// The optimising tier, at the configured optimisation level.
    Full,
}

/// When functions move from the baseline to the optimising tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TierUp {
    /// Never: all code starts at the optimising tier.
    Never,
    /// After this many calls of a function, or iterations in one of its calls.
    After(u32),
}

impl Default for TierUp {
    fn default() -> Self {
        Self::After(1000)
    }
}
