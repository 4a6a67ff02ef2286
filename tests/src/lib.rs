//! What the tests that cross crates share. Not published; nothing here is API.
//!
//! - [`gateway`]: builds and starts the real binary.
//! - [`client`]: an HTTP/1.1 client on a raw socket, which sees how a reply ended.
//! - [`scripted`]: providers of every kind that answer what they are asked.
//! - [`sse`]: what a client makes of an event stream.
//! - [`cases`]: plays the black-box cases of `cases/*.jsonl` against the binary.

// Test support may say loudly that it cannot go on.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

pub mod cases;
pub mod client;
pub mod gateway;
pub mod scripted;
pub mod sse;

/// The Rust of the README, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
