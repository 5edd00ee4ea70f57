//! How code is generated.

use inkwell::OptimizationLevel;

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

    pub(super) fn machine(self) -> OptimizationLevel {
        match self {
            Self::O0 => OptimizationLevel::None,
            Self::O1 => OptimizationLevel::Less,
            Self::O2 => OptimizationLevel::Default,
            Self::O3 => OptimizationLevel::Aggressive,
        }
    }
}

/// How code is generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompileOptions {
    pub level: Level,
    /// Whether the code counts function entries and loop iterations as fuel.
    pub counts_fuel: bool,
}

/// A form in which compiled functions can be listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Optimised LLVM IR.
    Ir,
    /// Assembly.
    Assembly,
    /// An object file.
    #[cfg(feature = "cli")]
    Object,
}
