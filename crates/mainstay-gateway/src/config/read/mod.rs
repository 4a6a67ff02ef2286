//! The sections of the file, one reader each.
//!
//! Readers write over a value that is already filled in: first the built-in defaults, then `[defaults.*]`, then the
//! provider's own tables, then a target's. Merging key by key needs nothing else.

mod aws;
mod capabilities;
mod credentials;
mod parameters;
mod price;
mod provider;
mod route;
mod server;
mod tables;
mod target;
mod url;

pub(super) use credentials::read as text;
pub(super) use price::prices;
pub(super) use provider::providers;
pub(super) use route::routes;
pub(super) use server::{listen_address, server};
pub(super) use tables::defaults;
pub(super) use target::Targets;
