//! The one integration test binary: each would link LLVM again.

mod grammar;
