//! Calls of the embedding API against a model.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kal_fuzz::targets::api(bytes));
