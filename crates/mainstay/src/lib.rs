//! The layer stack for calling LLM APIs, on tower and hyper.
//!
//! An LLM API is an HTTPS endpoint with unusual traffic: replies that start late and stream for minutes, rate limits as a
//! part of normal work, failures inside a 200, several providers with different errors. This crate is what is particular to
//! that traffic; the layers that know nothing of it are re-exported from [`mainstay_layers`] as [`layers`].
//!
//! # One stack per provider, outside in
//!
//! | box | what it does |
//! | --- | --- |
//! | [`TranslateLayer`](translate::TranslateLayer) | the caller's dialect to the provider's and back; nothing where they are the same |
//! | [`ParametersLayer`](parameters::ParametersLayer) | fields of the body that a target sets for itself |
//! | [`RetryLayer`](layers::retry::RetryLayer) | tries, backoff, `Retry-After`, budget; replays the body |
//! | [`CircuitBreakerLayer`](layers::breaker::CircuitBreakerLayer) | fails at once while open; votes when the stream has ended, not at its head |
//! | [`ConcurrencyLayer`](layers::concurrency::ConcurrencyLayer) | the permit is held until the body has ended |
//! | [`AttemptLayer`](route::AttemptLayer) | records each try |
//! | [`JudgeLayer`](judge::JudgeLayer) | reads as much of the reply as it takes to know what it is |
//! | [`TimeoutLayer`](layers::timeout::TimeoutLayer) | attempt, idle, first event: one typed error each |
//! | [`BodyLimitLayer`](layers::limit::BodyLimitLayer) | response bytes after decompression |
//! | [`EndpointLayer`](endpoint::EndpointLayer) | base URL, path, credentials, headers, rebuilt for every try |
//! | `Client` (feature `client`) | hyper: TLS, pool, connect timeout |
//!
//! Above the stacks, a [`Router`](route::Router) chooses by the model's name and falls back across them.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod body;
pub mod chat;
#[cfg(feature = "client")]
pub mod client;
pub mod dialect;
pub mod endpoint;
pub mod guide;
mod json;
pub mod judge;
pub mod parameters;
pub mod peek;
pub mod provider;
pub mod route;
pub mod secret;
pub mod sigv4;
pub mod sse;
#[cfg(feature = "client")]
#[cfg_attr(docsrs, doc(cfg(feature = "client")))]
pub mod stack;
pub mod translate;

pub use mainstay_layers as layers;
pub use mainstay_layers::BoxError;
pub use provider::{judge_error, judge_reply};
