//! The gateway.
pub mod cli;
pub mod config;
