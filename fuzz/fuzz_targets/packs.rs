//! Damaged packs are refused, or what is in them is.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kal::damaged_packs(bytes));
