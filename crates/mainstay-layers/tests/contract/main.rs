//! What holds for every layer of this crate, checked by the testkit's probe below each of them.

mod bodies;
mod cases;
mod readiness;
mod state;
mod under;
