//! See `mainstay_fuzz::judge` for what must hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainstay_fuzz::judge::check(data));
