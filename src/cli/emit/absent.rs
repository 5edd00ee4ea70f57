//! The stages of `kal emit` that LLVM makes, in a build without it.

use super::stage::{EmitStage, Problem};
use crate::cli::options::CommonOptions;
use crate::engine::Engine;
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use std::sync::Arc;

/// Refuses to compile.
pub(super) fn compile(
    _: EmitStage,
    _: &[(&Arc<CheckedFunction>, String)],
    _: &dyn Fn(Name) -> bool,
    _: &Engine,
    _: &CommonOptions,
) -> Result<Vec<u8>, Problem> {
    let message = "this stage needs the compiler, but this build of Kal has none (feature `compiler`)";
    Err(message.to_owned().into())
}
