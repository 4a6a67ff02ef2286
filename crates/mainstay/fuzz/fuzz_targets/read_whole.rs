//! See `mainstay_fuzz::read_whole` for what must hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainstay_fuzz::read_whole::check(data));
