//! Random functions over columns.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kal_fuzz::targets::columns(bytes));
