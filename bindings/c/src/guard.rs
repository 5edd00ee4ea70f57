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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{
        KAL_ERROR_INTERNAL, kal_error_code, kal_error_free, kal_error_kind, kal_error_message,
    };
    use std::ffi::CStr;
    use std::ptr;

    type Work = fn() -> Result<(), Box<KalError>>;

    /// Panics again when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the bomb");
        }
    }

    #[test]
    fn a_panic_is_an_error_of_the_library() {
        let panics: [(Work, &str); 3] = [
            (|| panic!("it is {}", 5), "this is a bug in Kal: it is 5"),
            (|| panic!("plain"), "this is a bug in Kal: plain"),
            (|| std::panic::panic_any(Bomb), "this is a bug in Kal: a panic"),
        ];
        for (panics, expected) in panics {
            let mut error = ptr::null_mut();
            // SAFETY: there is a place for the error.
            assert!(!unsafe { succeeds(&raw mut error, panics) });
            // SAFETY: it was written, and is freed once.
            let error = unsafe { Box::from_raw(error) };
            assert_eq!(kal_error_kind(Some(&error)), KAL_ERROR_INTERNAL);
            // SAFETY: these are texts, which the error keeps.
            let texts = unsafe {
                [kal_error_code(Some(&error)), kal_error_message(Some(&error))]
                    .map(|text| CStr::from_ptr(text))
            };
            assert_eq!(texts.map(CStr::to_string_lossy), ["E0309", expected]);
            kal_error_free(Some(error));
            // SAFETY: there is no place for an error.
            assert!(!unsafe { succeeds(ptr::null_mut(), panics) });
        }
        assert_eq!(quiet(7, || panic!("it does")), 7);
    }

    #[test]
    fn an_error_is_written_over_anything() {
        // C need not have set the place to null.
        let mut error = ptr::without_provenance_mut(0x5a5a);
        // SAFETY: there is a place for the error.
        let made = unsafe { made::<u8>(&raw mut error, || Err(KalError::of_null("text"))) };
        assert!(made.is_none());
        // SAFETY: it was written, and is freed once.
        free(Some(unsafe { Box::from_raw(error) }));
    }
}
