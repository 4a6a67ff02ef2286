//! mainstay

#[cfg(feature = "client")]
pub mod client;
