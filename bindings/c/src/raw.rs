//! Reading and writing what C points to: pointers that are null, or do not fit their type,
//! are errors here.

use crate::KAL_TO_ZERO;
use crate::error::KalError;
use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::slice;

/// Returns a text of `length` bytes, or up to its zero byte.
///
/// # Errors
/// If it is null, or not UTF-8.
///
/// # Safety
/// The text is null, or there are that many bytes, which do not change during `'a`.
pub unsafe fn text<'a>(text: *const c_char, length: usize, what: &str) -> Result<&'a str, Box<KalError>> {
    if text.is_null() && length != 0 {
        return Err(KalError::of_caller(format!("the {what} is null")));
    }
    let bytes = match length {
        // A null pointer is no slice.
        0 => &[],
        // SAFETY: it is not null, and ends with a zero byte, as the caller says.
        KAL_TO_ZERO => unsafe { CStr::from_ptr(text) }.to_bytes(),
        // SAFETY: it is not null, and that long, as the caller says.
        _ => unsafe { items(text.cast::<u8>(), length, what) }?,
    };
    str::from_utf8(bytes).map_err(|error| {
        KalError::of_caller(format!("the {what} is not UTF-8 after {} bytes", error.valid_up_to()))
    })
}

/// Returns the items of an array, which may be null if it has none.
///
/// # Errors
/// If it is null, not aligned, or longer than memory can be.
///
/// # Safety
/// The array is null, or there are that many items, which do not change during `'a`.
#[inline]
pub unsafe fn items<'a, T>(array: *const T, count: usize, what: &str) -> Result<&'a [T], Box<KalError>> {
    if count == 0 {
        return Ok(&[]);
    }
    check(array, count, what)?;
    // SAFETY: it is not null, aligned, no longer than a slice may be, and the items are there.
    Ok(unsafe { slice::from_raw_parts(array, count) })
}

/// Returns the items of an array that is written, which may be null if it has none.
///
/// # Errors
/// As of [`items`].
///
/// # Safety
/// The array is null, or there are that many items, which nothing else uses during `'a`.
pub unsafe fn items_mut<'a, T>(
    array: *mut T,
    count: usize,
    what: &str,
) -> Result<&'a mut [T], Box<KalError>> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(array, count, what)?;
    // SAFETY: as of `items`, and nothing else uses them.
    Ok(unsafe { slice::from_raw_parts_mut(array, count) })
}

#[inline]
fn check<T>(array: *const T, count: usize, what: &str) -> Result<(), Box<KalError>> {
    if array.is_null() || !array.is_aligned() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(bad(array.is_null(), array.is_aligned(), what));
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn bad(is_null: bool, is_aligned: bool, what: &str) -> Box<KalError> {
    let problem = match (is_null, is_aligned) {
        (true, _) => "null",
        (false, false) => "not aligned",
        (false, true) => "longer than memory",
    };
    KalError::of_caller(format!("the {what} is {problem}"))
}

/// Returns a structure that begins with its size: zeros in place of what an older program does
/// not have.
///
/// # Errors
/// If the size is too small to be one, or there is something after what this library knows.
///
/// # Safety
/// The structure is null, or as many bytes as it says; all of them zero is a value of `T`, which
/// begins with a `usize`.
pub unsafe fn sized<T: Copy>(
    given: *const T,
    smallest: usize,
    name: &str,
) -> Result<Option<T>, Box<KalError>> {
    if given.is_null() {
        return Ok(None);
    }
    check(given, 1, name)?;
    // SAFETY: it is not null, and begins with its size.
    let size = unsafe { given.cast::<usize>().read() };
    if size < smallest {
        return Err(KalError::of_caller(format!(
            "the size of the {name} is {size}, and at least {smallest}: it begins with `sizeof`"
        )));
    }
    let bytes = given.cast::<u8>();
    // SAFETY: there are as many bytes as the size says.
    let rest =
        unsafe { items(bytes.wrapping_add(size_of::<T>()), size.saturating_sub(size_of::<T>()), name) };
    if rest?.iter().any(|byte| *byte != 0) {
        return Err(KalError::of_caller(format!("the {name} has settings that this library is too old for")));
    }
    // SAFETY: zeros are a value of it, as the caller says.
    let mut known: T = unsafe { std::mem::zeroed() };
    let count = size.min(size_of::<T>());
    // SAFETY: that many bytes are there, and fit.
    unsafe { ptr::copy_nonoverlapping(bytes, (&raw mut known).cast::<u8>(), count) };
    Ok(Some(known))
}

/// Writes a result, unless there is no place for it.
///
/// # Safety
/// The place is null, or can be written.
#[inline]
pub unsafe fn write<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: as the caller says. What was there before is forgotten: it may be anything.
        unsafe { place.write(value) };
    }
}

/// Returns a text for C, without zero bytes.
pub fn c_text(text: impl Into<Vec<u8>>) -> CString {
    let mut bytes = text.into();
    bytes.retain(|byte| *byte != 0);
    CString::new(bytes).unwrap_or_default()
}
