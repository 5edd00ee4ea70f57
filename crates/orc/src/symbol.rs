//! Symbols: their flags, and names interned in a session's string pool.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::mem::ManuallyDrop;

use llvm_sys::orc2::{
    LLVMJITSymbolFlags, LLVMJITSymbolGenericFlags as Generic, LLVMOrcExecutionSessionIntern,
    LLVMOrcReleaseSymbolStringPoolEntry, LLVMOrcRetainSymbolStringPoolEntry, LLVMOrcSymbolStringPoolEntryRef,
    LLVMOrcSymbolStringPoolEntryStr,
};

use super::error::OrcError;
use super::session::SessionInner;

/// How a symbol interacts with others of its name and with other dylibs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolFlags(u8);

impl SymbolFlags {
    /// A function that other dylibs may use.
    pub const FUNCTION: Self = Self(
        Generic::LLVMJITSymbolGenericFlagsExported as u8 | Generic::LLVMJITSymbolGenericFlagsCallable as u8,
    );
    /// Data that other dylibs may use.
    pub const DATA: Self = Self(Generic::LLVMJITSymbolGenericFlagsExported as u8);

    /// Returns the same flags, but yielding to another definition of the name.
    #[must_use]
    pub const fn weak(self) -> Self {
        Self(self.0 | Generic::LLVMJITSymbolGenericFlagsWeak as u8)
    }

    /// Returns the same flags, but invisible to other dylibs.
    #[must_use]
    pub const fn hidden(self) -> Self {
        Self(self.0 & !(Generic::LLVMJITSymbolGenericFlagsExported as u8))
    }

    pub(super) fn to_llvm(self) -> LLVMJITSymbolFlags {
        LLVMJITSymbolFlags { GenericFlags: self.0, TargetFlags: 0 }
    }
}

/// An owned reference to an entry of the session's string pool.
pub(super) struct Interned(LLVMOrcSymbolStringPoolEntryRef);

impl Interned {
    pub(super) fn new(session: &SessionInner, name: &str) -> Result<Self, OrcError> {
        let c_name = CString::new(name).map_err(|_| OrcError::Name(name.to_owned()))?;
        // SAFETY: the execution session lives as long as `session`; the name is
        // NUL-terminated and copied; the returned reference is ours to release.
        Ok(Self(unsafe { LLVMOrcExecutionSessionIntern(session.execution_session(), c_name.as_ptr()) }))
    }

    /// Retains an entry that LLVM lends.
    ///
    /// # Safety
    /// `entry` must be an entry that is alive now.
    pub(super) unsafe fn retain(entry: LLVMOrcSymbolStringPoolEntryRef) -> Self {
        // SAFETY: the caller vouches for the entry.
        unsafe { LLVMOrcRetainSymbolStringPoolEntry(entry) };
        Self(entry)
    }

    /// Releases ownership of the reference to an LLVM function that takes it
    /// over.
    pub(super) fn into_raw(self) -> LLVMOrcSymbolStringPoolEntryRef {
        ManuallyDrop::new(self).0
    }

    pub(super) fn text(&self) -> String {
        // SAFETY: we hold a reference to the entry.
        unsafe { entry_text(self.0) }
    }
}

impl Drop for Interned {
    fn drop(&mut self) {
        // SAFETY: this value owns one reference and is gone afterwards. An entry
        // outlives its pool's use, since a session outlives its parts.
        unsafe { LLVMOrcReleaseSymbolStringPoolEntry(self.0) };
    }
}

/// Returns the text of an entry.
///
/// # Safety
/// `entry` must be an entry that is alive now.
pub(super) unsafe fn entry_text(entry: LLVMOrcSymbolStringPoolEntryRef) -> String {
    // SAFETY: the caller vouches for the entry; its text is NUL-terminated.
    let text = unsafe { CStr::from_ptr(LLVMOrcSymbolStringPoolEntryStr(entry)) };
    text.to_string_lossy().into_owned()
}
