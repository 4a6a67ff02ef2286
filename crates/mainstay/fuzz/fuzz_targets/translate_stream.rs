//! See `mainstay_fuzz::translate_stream` for what must hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainstay_fuzz::translate_stream::check(data));
