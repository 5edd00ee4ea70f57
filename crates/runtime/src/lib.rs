//! What programs that `kal build` makes run on: Kal without its compiler, as a static
//! library.
//!
//! `kal build` links it with the image of a program. It looks for
//! [`BUILD_MARK`] first: library and image have to be of one build.

#![allow(unsafe_code)]

mod library;

use std::slice;

/// The build of Kal that this is a part of, for who looks for it in the file.
#[unsafe(no_mangle)]
pub static KAL_RUNTIME_BUILD: [u8; kal::executable::BUILD_MARK.len()] = kal::executable::BUILD_MARK;

/// Runs the program in an image, as `main` does. Returns the exit code of the process.
///
/// # Safety
/// `image` points to `size` bytes that do not change, which `kal build` has made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_run_image(image: *const u8, size: u64) -> libc::c_int {
    // SAFETY: nothing else runs yet. As in every Rust program, a closed output is an error
    // that is reported, and not the end.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    // SAFETY: as the caller says.
    let image = unsafe { slice::from_raw_parts(image, size as usize) };
    // SAFETY: as the caller says, it is an image that `kal build` has made.
    libc::c_int::from(unsafe { kal::executable::run(image) })
}

/// Aborts: called in place of a mathematical function that the executable was linked without, since
/// nothing in its texts names it.
#[unsafe(no_mangle)]
pub extern "C" fn kal_left_out() -> ! {
    eprintln!("this is a bug in Kal: the program calls a function that it was linked without");
    std::process::abort()
}
