//! The compiler of a build without one: it refuses everything.

use super::body::Body;
use super::error::CodegenError;
use super::options::{CompileOptions, Listing};
use crate::name::Names;

/// Refuses everything.
#[derive(Default)]
pub struct Compiler;

impl Compiler {
    pub fn set_stack(&mut self, _: usize) {}

    pub fn prepare(&mut self, _: CompileOptions) {}

    pub fn object(&mut self, _: &[Body<'_>], _: &Names, _: CompileOptions) -> Result<Vec<u8>, CodegenError> {
        Err(CodegenError::Absent)
    }

    pub fn listing(
        &mut self,
        _: Listing,
        _: &[Body<'_>],
        _: &Names,
        _: CompileOptions,
    ) -> Result<Vec<u8>, CodegenError> {
        Err(CodegenError::Absent)
    }
}

pub fn initialize() {}

pub fn llvm_version() -> Option<String> {
    None
}

/// Returns what code is compiled for, and by what: nothing.
pub fn target() -> String {
    format!("{} {}", env!("KAL_TARGET"), env!("KAL_COMPILER_ID"))
}
