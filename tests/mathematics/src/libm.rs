//! The functions of this machine's C library, to compare with. They are looked up in it: a
//! linked program would get some of Rust's own.

use crate::Function;
use std::ffi::{CString, c_char, c_int, c_void};

// SAFETY: as in POSIX.
unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

const RTLD_NOW: c_int = 2;

/// Returns the function of a name.
pub(super) fn named(name: &str, is_binary: bool) -> Function {
    let symbol = CString::new(name).expect("a name");
    // SAFETY: both texts end in 0, and the library is one whose initialisers have run, or
    // may run at any time.
    let function = unsafe { dlsym(dlopen(c"libm.so.6".as_ptr(), RTLD_NOW), symbol.as_ptr()) };
    assert!(!function.is_null(), "the C library has no {name}");
    // SAFETY: the C standard's functions over doubles are of these types.
    unsafe {
        if is_binary {
            Function::Two(std::mem::transmute::<*mut c_void, extern "C" fn(f64, f64) -> f64>(function))
        } else {
            Function::One(std::mem::transmute::<*mut c_void, extern "C" fn(f64) -> f64>(function))
        }
    }
}
