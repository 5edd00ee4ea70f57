//! How code is generated.

pub use crate::tier::Level;
use inkwell::OptimizationLevel;

/// Returns what LLVM calls a level.
pub(super) fn machine_level(level: Level) -> OptimizationLevel {
    match level {
        Level::O0 => OptimizationLevel::None,
        Level::O1 => OptimizationLevel::Less,
        Level::O2 => OptimizationLevel::Default,
        Level::O3 => OptimizationLevel::Aggressive,
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
