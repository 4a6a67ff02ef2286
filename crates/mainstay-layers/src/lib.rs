//! Tower layers that keep HTTP and gRPC clients up.
//!
//! Each concern is one [`tower_layer::Layer`] in a module of its own, behind a feature of the same name, and works
//! alone in anyone's `ServiceBuilder`. None of them knows what an LLM is: what is particular to LLM APIs lives in the
//! `mainstay` crate. `features = ["full"]` turns all of them on; none is on by default.
//!
//! What they share is [`classify`]: one [`Verdict`](classify::Verdict) on a reply, which retry, breaker, fallback and
//! metrics each read with a table of their own.
//!
//! Time is read from tokio only, so every layer can be tested on paused time. No layer spawns a task.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod classify;
pub mod error;

#[cfg(any(feature = "limit", feature = "timeout"))]
mod media;
#[cfg(any(feature = "deadline", feature = "fault", feature = "limit", feature = "timeout"))]
mod timer;

#[cfg(test)]
mod testing;

#[cfg(feature = "breaker")]
pub mod breaker;
#[cfg(feature = "concurrency")]
pub mod concurrency;
#[cfg(feature = "deadline")]
pub mod deadline;
#[cfg(feature = "fault")]
pub mod fault;
#[cfg(feature = "grpc")]
pub mod grpc;
#[cfg(feature = "limit")]
pub mod limit;
#[cfg(feature = "retry")]
pub mod retry;
#[cfg(feature = "timeout")]
pub mod timeout;

pub use error::BoxError;
