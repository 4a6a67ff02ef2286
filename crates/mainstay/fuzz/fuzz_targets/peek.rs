//! See `mainstay_fuzz::peek` for what must hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainstay_fuzz::peek::check(data));
