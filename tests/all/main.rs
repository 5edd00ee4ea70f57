//! The one integration test binary: each would link LLVM again.

mod binary;
mod cli;
mod embedding;
mod grammar;
mod limits;
mod programs;
mod sessions;
mod tidy;
mod instructions;
