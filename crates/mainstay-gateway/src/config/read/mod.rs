//! The sections of the file, one reader each.
//!
//! Readers write over a value that is already filled in: first the built-in defaults, then `[defaults.*]`, then the
//! provider's own tables. Merging key by key needs nothing else.

mod aws;
mod credentials;
mod price;
mod provider;
mod route;
mod server;
mod tables;
mod url;

pub(super) use credentials::read as text;
pub(super) use price::prices;
pub(super) use provider::providers;
pub(super) use route::routes;
pub(super) use server::{listen_address, server};
pub(super) use tables::defaults;
