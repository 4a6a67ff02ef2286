//! The gateway over real sockets: what comes in, who leaves, who reads slowly, how it ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod compression;
mod drain;
mod ends;
mod h2;
mod heads;
mod keepalive;
mod leaving;
mod metrics;
mod process;
mod refusals;
mod slow;
mod support;
mod targets;
