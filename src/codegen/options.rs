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
