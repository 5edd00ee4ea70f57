//! Programs with redefinitions against their last definitions alone.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kal_fuzz::targets::redefinitions(bytes));
