//! Starting LLVM late.
//!
//! LLVM registers its options and tables in some 400 constructors, which a
//! program that links it runs before its first line: milliseconds, and most of
//! the pages it touches. The `kal` binary is linked so that they stay out of
//! the list that the system runs (`llvm/start.ld`), and runs them itself when
//! something first needs LLVM. In programs linked in another way they have run
//! already, and [`start`] does nothing.
#![allow(unsafe_code)]

use std::sync::Once;

// SAFETY: the C++ function takes and returns nothing. It must be called once,
// before anything else of LLVM.
unsafe extern "C" {
    fn kal_llvm_start();
}

/// Makes LLVM usable; whatever is about to use it calls this first.
pub fn start() {
    static STARTED: Once = Once::new();
    // SAFETY: called once, and by everything that uses LLVM before it does.
    STARTED.call_once(|| unsafe { kal_llvm_start() });
}
