//! See `mainstay_fuzz::framings` for what must hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainstay_fuzz::framings::check(data));
