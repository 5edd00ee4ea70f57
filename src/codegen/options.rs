//! How code is generated.

use crate::processor::Processor;
pub use crate::tier::Level;

/// How code is generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompileOptions {
    pub level: Level,
    /// Whether the code counts function entries and loop iterations as fuel.
    pub counts_fuel: bool,
    /// What it is for.
    pub processor: Processor,
    /// Whether functions that do not use their context say themselves how they round, where the
    /// processor has AVX-512: the host calls them more quickly then. They take a third more to compile,
    /// and compute the same, so this is no part of their identity.
    pub rounds_statically: bool,
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
