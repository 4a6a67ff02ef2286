//! Scripted LLM providers, on real sockets and in memory, for testing clients, layers and gateways.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`provider`] | [`ScriptedProvider`]: an HTTP/1.1 server on loopback that plays steps, can cut, reset, stall and send garbage, and records what it got |
//! | [`bodies`] | ready-made answers, streams and errors in the OpenAI and Anthropic dialects |
//! | [`demo`] | five providers, well and ill, for a gateway that runs without a key or a network |
//! | [`memory`] | a scripted tower service, a fault body, and a probe that checks a layer's contract; all on tokio's clock |
//! | [`replay`] | records real calls to a file, without keys, and plays them offline |
//!
//! Not for production traffic: a provider here answers what a test says, and trusts its caller to be one.

pub mod bodies;
pub mod demo;
pub mod memory;
pub mod provider;
pub mod replay;

pub use provider::{Chunk, End, Recorded, ScriptedProvider, Step};

/// The README's blocks are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
