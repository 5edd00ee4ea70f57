//! What it means that the compiler or the linker refuses something: a limit,
//! the system, or a bug in Kal.

use crate::codegen::CodegenError;
use crate::failure::Failure;
use crate::sema::checked::CheckedFunction;
use kal_orc::OrcError;
use std::sync::Arc;

/// Returns the failure for code that could not be generated for a function; for
/// a thunk there is none.
pub(super) fn ungenerated(error: &CodegenError, function: Option<&Arc<CheckedFunction>>) -> Failure {
    match error {
        CodegenError::Internal(_) => internal(error.to_string(), function),
        CodegenError::Target(_) | CodegenError::TooLarge(..) => refused(error.to_string(), function),
    }
}

/// Returns the failure for code that could not be linked.
pub(super) fn unlinked(error: OrcError, function: Option<&Arc<CheckedFunction>>) -> Failure {
    match error {
        // Usually, memory for the code.
        OrcError::Materialize { reports, .. } if !reports.is_empty() => refused(reports.join("; "), function),
        OrcError::Materialize { .. } | OrcError::Session(_) => refused(error.to_string(), function),
        OrcError::Name(_)
        | OrcError::DylibExists(_)
        | OrcError::Define(_)
        | OrcError::Object(_)
        | OrcError::NotFound(_)
        | OrcError::Remove(_) => internal(error.to_string(), function),
        // The crate may add others.
        error => internal(error.to_string(), function),
    }
}

fn refused(message: String, function: Option<&Arc<CheckedFunction>>) -> Failure {
    match function {
        Some(function) => Failure::Compile { function: function.clone(), message },
        None => Failure::System(message),
    }
}

fn internal(message: String, function: Option<&Arc<CheckedFunction>>) -> Failure {
    Failure::Internal { message, function: function.cloned() }
}
