//! What holds for every layer of this crate, checked by the testkit's probe below each of them.

#![allow(clippy::unwrap_used, reason = "in a test that is an assertion")]

mod bodies;
mod cases;
mod readiness;
mod state;
mod under;
