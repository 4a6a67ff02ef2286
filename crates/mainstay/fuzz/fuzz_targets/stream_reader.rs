//! See `mainstay_fuzz::stream_reader` for what must hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainstay_fuzz::stream_reader::check(data));
