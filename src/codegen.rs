//! From checked functions to LLVM IR and object bytes.
//!
//! A [`Compiler`] belongs to one thread and compiles many functions, one module
//! each: target machine and pipelines are built once per optimisation level.
//! Its output is position-independent and contains nothing of the process (see
//! [`crate::abi`]). Linking and running are not done here. A build without the feature
//! `compiler` has one that refuses everything.

mod body;
#[cfg_attr(not(feature = "compiler"), path = "codegen/absent.rs")]
mod compiler;
mod cost;
mod error;
mod options;
pub mod polls;
mod rounds;
mod symbols;
mod uniform;

pub use crate::tier::Level;
pub use body::{Body, CACHE_LINE, ColumnEntry, Entry, LoopEntry};
pub use compiler::{Compiler, initialize, llvm_version, target};
pub use cost::{cost, gains_from_features, is_large, lanes, may_loop, may_round_statically};
pub use error::CodegenError;
pub use options::{CompileOptions, Listing};
pub use rounds::has_different_rounds;
pub use symbols::ObjectSymbols;

/// Whether there is a compiler in this build.
pub const HAS_COMPILER: bool = cfg!(feature = "compiler");

/// The largest function that is compiled, in nodes: takes a few seconds and
/// some hundred megabytes.
pub const LARGEST: usize = 1 << 20;

/// LLVM's stack use for each node of a function, in bytes: it recurses as
/// deeply as functions are nested.
const STACK_PER_NODE: usize = 1 << 10;

/// The stack of a thread that can compile the largest functions, in bytes.
pub const STACK: usize = LARGEST * STACK_PER_NODE;
