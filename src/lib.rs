//! Kal makes Kaleidoscope live.

#![deny(unsafe_code)]

mod abi;
pub mod cli;
mod codegen;
mod config;
mod context;
pub mod diagnostic;
mod draft;
mod engine;
mod error;
mod function;
pub mod host;
mod jit;
pub mod name;
pub mod orc;
mod output;
mod repl;
mod runtime;
mod sema;
pub mod source;
mod stats;
pub mod syntax;

pub use codegen::Level;
pub use config::{Config, Mode};
pub use context::{Change, Context, Description, Each, Formula, Outcome, Stage, Trace, Transition};
pub use engine::Engine;
pub use error::Error;
pub use function::{Function, Signature};
pub use jit::state::{Event, State};
pub use output::{LineOutput, format_number};
pub use stats::Stats;
