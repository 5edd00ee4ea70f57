//! What it means that the compiler or the linker refuses something: a limit,
//! the system, or a bug in Kal.

use crate::codegen::CodegenError;
use crate::failure::Failure;
use crate::sema::checked::CheckedFunction;
use std::sync::Arc;

/// Returns the failure for code that could not be generated for a function; for
/// a thunk there is none.
pub(super) fn ungenerated(error: &CodegenError, function: &Arc<CheckedFunction>) -> Failure {
    match error {
        CodegenError::Internal(_) => internal(error.to_string(), function),
        #[cfg(not(feature = "compiler"))]
        CodegenError::Absent => refused(error.to_string(), function),
        CodegenError::Target(_) | CodegenError::TooLarge(..) => refused(error.to_string(), function),
    }
}

/// Why an object could not be linked.
pub(super) enum LinkError {
    /// By a limit, or the system.
    Refused(String),
    /// By a bug in Kal.
    Internal(String),
}

/// Returns the failure for code that could not be linked.
pub(super) fn unlinked(error: LinkError, function: &Arc<CheckedFunction>) -> Failure {
    match error {
        LinkError::Refused(message) => refused(message, function),
        LinkError::Internal(message) => internal(message, function),
    }
}

fn refused(message: String, function: &Arc<CheckedFunction>) -> Failure {
    Failure::Compile { function: function.clone(), message }
}

fn internal(message: String, function: &Arc<CheckedFunction>) -> Failure {
    Failure::Internal { message, function: Some(function.clone()) }
}
