//! The errors of a session, and their conversion from LLVM's.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fmt;

use llvm_sys::error::{LLVMCreateStringError, LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};

use super::unit::MaterializationUnit;

/// Why an operation on a session failed. The messages are LLVM's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrcError {
    /// The session could not be created: the host cannot provide the memory.
    #[error("cannot create a JIT session: {0}")]
    Session(String),
    /// A symbol's or dylib's name contains a NUL, which no linker symbol can.
    #[error("the name {0:?} contains a NUL character")]
    Name(String),
    /// The session has a dylib of this name already.
    #[error("there is a dylib named `{0}` already")]
    DylibExists(String),
    /// The symbols could not be defined: one is defined already, or the tracker
    /// has been removed.
    #[error("cannot define: {0}")]
    Define(String),
    /// The bytes are not an object file, or one of its symbols is defined
    /// already.
    #[error("cannot add the object: {0}")]
    Object(String),
    /// The dylib has no such symbol, and no generator knows it.
    #[error("symbol `{0}` is not defined")]
    NotFound(String),
    /// The symbol is defined, and materializing it failed.
    #[error("cannot materialize `{symbol}`: {message}{}", Because(reports))]
    Materialize {
        /// The symbol that was looked up.
        symbol: String,
        /// The message of the lookup itself.
        message: String,
        /// What was reported to the session meanwhile: usually the cause.
        reports: Vec<String>,
    },
    /// The resources of a tracker could not all be freed.
    #[error("cannot remove: {0}")]
    Remove(String),
}

struct Because<'a>(&'a [String]);

impl fmt::Display for Because<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(index, report)| {
            let lead = if index == 0 { " (" } else { "; " };
            let tail = if index + 1 == self.0.len() { ")" } else { "" };
            write!(out, "{lead}{report}{tail}")
        })
    }
}

/// A unit that could not be defined, and why.
#[derive(thiserror::Error)]
#[error("{error}")]
pub struct DefineError {
    /// The rejected unit.
    pub unit: Box<dyn MaterializationUnit>,
    /// Why it could not be defined.
    #[source]
    pub error: OrcError,
}

impl fmt::Debug for DefineError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DefineError").field("unit", &self.unit.name()).field("error", &self.error).finish()
    }
}

/// Converts an LLVM error: `Ok` for success, else `kind` of its message.
pub(super) fn check(error: LLVMErrorRef, kind: impl FnOnce(String) -> OrcError) -> Result<(), OrcError> {
    if error.is_null() { Ok(()) } else { Err(kind(take_message(error))) }
}

/// Consumes `error`, which must not be null, and returns its message.
pub(super) fn take_message(error: LLVMErrorRef) -> String {
    // SAFETY: every caller owns `error` and gives it up here; the text that
    // LLVMGetErrorMessage returns for it is copied, then disposed of once.
    let text = unsafe {
        let raw = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(raw).to_string_lossy().trim().to_owned();
        LLVMDisposeErrorMessage(raw);
        text
    };
    if text.is_empty() { "LLVM gave no reason".to_owned() } else { text }
}

/// Creates an error for LLVM, which takes ownership of it.
pub(super) fn llvm_error(message: &CStr) -> LLVMErrorRef {
    // SAFETY: the message is NUL-terminated and is copied.
    unsafe { LLVMCreateStringError(message.as_ptr()) }
}
