//! Random programs in two modes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kal_fuzz::targets::programs(bytes));
