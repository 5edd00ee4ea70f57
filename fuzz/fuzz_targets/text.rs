//! Lexer and parser on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kal_fuzz::targets::text(bytes));
