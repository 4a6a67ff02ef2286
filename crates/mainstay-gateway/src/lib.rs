//! The gateway: layer stacks over hyper, chosen by model name, behind the APIs that SDKs already speak.
//!
//! `mainstay` is a binary; this library is what it is made of, so that tests can start it in their own process. It is not
//! meant to be built on: the [`mainstay`](https://docs.rs/mainstay) crate is.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`config`] | reads the file, strictly |
//! | [`stack`] | builds a stack of layers for each target, and the router over them |
//! | [`app`] | answers requests |
//! | [`server`] | accepts connections, drains |
//! | [`metrics`] | `/metrics` |
//! | [`logging`] | the lines on stderr |
//! | [`demo`] | what is served without a configuration |
//! | [`cli`] | the command line |

pub mod app;
pub mod cli;
pub mod config;
mod cost;
pub mod demo;
pub mod logging;
pub mod metrics;
pub mod server;
pub mod stack;
