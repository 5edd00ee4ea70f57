//! Kal for C, and for every language that calls C.
//!
//! `kal.h` is generated from this crate, and its text is the comments here. A handle is a
//! pointer that C knows nothing about; whoever may free it is in the types of the functions:
//! `Option<Box<T>>` passes ownership, `Option<&T>` lends. Every function catches panics, and
//! what goes wrong is an error object that the caller frees.
//!
//! | module | holds |
//! |---|---|
//! | [`raw`] | reading and writing what C points to |
//! | [`error`] | error objects |
//! | [`guard`] | catching panics, and what failed calls leave behind |
//! | [`config`], [`host`] | how an engine is set up, and the functions of the host |
//! | [`engine`], [`context`], [`output`] | engines, programs in progress, and what they print |
//! | [`function`] | calling functions and formulas |
//! | [`kernel`], [`run`], [`arrow`] | functions over columns, and over Arrow's arrays |
//! | [`interrupt`] | stopping what runs, from any thread |
#![allow(unsafe_code)]

mod raw;
mod error;
mod guard;
mod host;
mod config;
mod engine;
mod output;
mod interrupt;
mod context;
mod function;
mod run;
mod kernel;
mod arrow;

use std::ffi::{CString, c_char};

/// The number of this interface, which each change of the header raises. A library with a greater
/// number has all of it, if the program is not older than `KAL_ABI_OLDEST` of the library, as
/// linking makes sure.
pub const KAL_ABI: u32 = 1;
/// The number of the oldest interface that is a part of this one: programs that were compiled for
/// that or a later one need not be compiled again. It is in the name of the shared library.
pub const KAL_ABI_OLDEST: u32 = 1;

/// The length of a text that ends with a zero byte. `cbindgen.toml` has it for C.
pub const KAL_TO_ZERO: usize = usize::MAX;

/// Returns the number of the interface of the library: `KAL_ABI` of the header that it was
/// built with. A program that loads the library by itself checks that it is not less than its own.
#[unsafe(no_mangle)]
pub extern "C" fn kal_abi() -> u32 {
    KAL_ABI
}

/// Returns the version of the library, such as `0.1.0`. It is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn kal_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Frees a text that a function of this header has returned as `char *`; nothing for NULL.
///
/// # Safety
/// The text is null, or was returned and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it is from `CString::into_raw`, as the caller says.
        drop(unsafe { CString::from_raw(text) });
    }
}
