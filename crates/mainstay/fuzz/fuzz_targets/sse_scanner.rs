//! See `mainstay_fuzz::sse_scanner` for what must hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainstay_fuzz::sse_scanner::check(data));
