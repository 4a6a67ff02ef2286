//! mainstay

pub mod provider;
