//! What every function does: it catches panics, and leaves an error to its caller.

use crate::error::KalError;
use crate::raw;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns what `work` returns; after an error or a panic `otherwise`, and writes the error.
///
/// # Safety
/// The place of the error is null, or can be written.
#[inline]
pub unsafe fn guarded<T>(
    error: *mut *mut KalError,
    otherwise: T,
    work: impl FnOnce() -> Result<T, Box<KalError>>,
) -> T {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(payload) => KalError::of_panic(payload),
    };
    // SAFETY: as the caller says.
    unsafe { fail(error, failure) };
    otherwise
}

/// # Safety
/// The place of the error is null, or can be written.
#[cold]
unsafe fn fail(error: *mut *mut KalError, failure: Box<KalError>) {
    if !error.is_null() {
        // SAFETY: as the caller says.
        unsafe { raw::write(error, Box::into_raw(failure)) };
    }
}

/// Returns whether `work` succeeds, and writes its error.
///
/// # Safety
/// As of [`guarded`].
#[inline]
pub unsafe fn succeeds(error: *mut *mut KalError, work: impl FnOnce() -> Result<(), Box<KalError>>) -> bool {
    // SAFETY: as the caller says.
    unsafe { guarded(error, false, || work().map(|()| true)) }
}

/// Returns what `work` makes; null after an error, which is written.
///
/// # Safety
/// As of [`guarded`].
pub unsafe fn made<T>(
    error: *mut *mut KalError,
    work: impl FnOnce() -> Result<T, Box<KalError>>,
) -> Option<Box<T>> {
    // SAFETY: as the caller says.
    unsafe { guarded(error, None, || work().map(|made| Some(Box::new(made)))) }
}

/// Returns what `work` returns; `otherwise` after a panic. For functions that cannot fail.
pub fn quiet<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

/// Frees something that C has given back, if it is not null.
pub fn free<T>(owned: Option<Box<T>>) {
    quiet((), || drop(owned));
}
