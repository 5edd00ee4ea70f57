//! Damaged tapes are refused or end.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kal::damaged_tapes(bytes));
