//! What must hold whatever a provider or a caller sends: one module a target, each with a function `check` that panics
//! where it does not. The targets themselves only call it, so that the seeds can be run as tests without a fuzzer.
//!
//! Expectations are read off the wire formats by other and slower code than the crate's own.

pub mod framings;
pub mod judge;
pub mod peek;
pub mod read_whole;
pub mod slow;
pub mod sse_scanner;
pub mod stream_reader;
pub mod translate_reply;
pub mod translate_request;
pub mod translate_stream;

mod grammar;
mod input;
mod translate;

#[cfg(test)]
mod tests;
