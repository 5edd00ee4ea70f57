//! What goes wrong when functions are lowered.

use crate::codegen::error::CodegenError;
use inkwell::builder::BuilderError;

pub(super) type Result<T> = std::result::Result<T, CodegenError>;

impl From<BuilderError> for CodegenError {
    fn from(error: BuilderError) -> Self {
        Self::Internal(error.to_string())
    }
}

/// Creates the error for something that the check guarantees.
pub(super) fn missing() -> CodegenError {
    CodegenError::missing()
}
