//! The one integration test binary: each would link LLVM again.

mod binary;
mod cli;
mod debugger;
mod embedding;
mod generated;
mod grammar;
mod limits;
mod programs;
mod prompt;
mod sessions;
mod tapes;
mod stored;
mod terminal;
mod tidy;
mod tiers;
mod transcripts;
mod valgrind;
