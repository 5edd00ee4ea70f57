//! The slab as `memory.cpp` links into it.

#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::slice;

use kal_code::{Address, PlacedCode, Slab};
use llvm_sys::error::LLVMErrorRef;

use super::error::llvm_error;
use super::ffi::{NameFunction, OrcShimRoom, OrcShimSlab};

/// Returns a slab for a session, which must not outlive it.
pub(super) fn of_slab(slab: &Slab) -> OrcShimSlab {
    let context = ptr::from_ref(slab).cast::<c_void>().cast_mut();
    OrcShimSlab { context, take, give, name: slab.writes_names().then_some(name as NameFunction) }
}

extern "C" fn take(context: *mut c_void, size: u64, alignment: u64, room: *mut OrcShimRoom) -> LLVMErrorRef {
    // SAFETY: the context is that of `of_slab`, which outlives the session.
    let slab = unsafe { &*context.cast::<Slab>() };
    match slab.take(size, alignment) {
        Ok(placed) => {
            let (executable, writable) = (placed.address().as_ptr::<u8>().cast_mut(), placed.writable());
            let taken = OrcShimRoom { handle: placed.into_handle(), executable, writable };
            // SAFETY: the room is the caller's to be written.
            unsafe { room.write(taken) };
            ptr::null_mut()
        }
        Err(error) => llvm_error(&CString::new(error.to_string()).unwrap_or_default()),
    }
}

extern "C" fn give(context: *mut c_void, handle: u64) {
    // SAFETY: the context is that of `of_slab`; `take` has returned the handle for the same
    // slab, and it is given back once, when nothing uses the room.
    drop(unsafe { PlacedCode::of_handle(&*context.cast::<Slab>(), handle) });
}

extern "C" fn name(context: *mut c_void, address: u64, size: u64, name: *const c_char, length: usize) {
    // SAFETY: the context is that of `of_slab`; the name is as long as it says.
    let (slab, name) =
        unsafe { (&*context.cast::<Slab>(), slice::from_raw_parts(name.cast::<u8>(), length)) };
    slab.name(Address::new(address), size, &String::from_utf8_lossy(name));
}

#[cfg(test)]
mod tests;
