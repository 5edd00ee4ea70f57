//! Kal makes Kaleidoscope live.

#![deny(unsafe_code)]

pub mod source;
pub mod name;
pub mod diagnostic;
pub mod host;
mod abi;
pub mod syntax;
mod sema;
mod failure;
mod tape;
mod interp;
mod codegen;
pub mod orc;
mod runtime;
mod jit;
mod config;
mod error;
mod output;
mod stats;
mod engine;
mod machine;
mod context;
mod function;
mod draft;
mod repl;
pub mod cli;

pub use codegen::Level;
pub use config::{Config, Mode};
pub use context::{Context, Outcome};
pub use engine::Engine;
pub use error::Error;
pub use function::{Function, Signature};
pub use jit::state::State;
pub use output::{LineOutput, format_number};
pub use stats::Stats;
