//! mainstay

pub mod dialect;
pub mod sse;
