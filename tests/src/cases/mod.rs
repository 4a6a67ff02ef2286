//! Black-box cases as data: what scripted providers do, what a client sends to the gateway, what both must see.
//!
//! `cases/README.md` says what the fields mean. [`Case`] is their form, [`run`] plays one.

mod case;
mod check;
mod config;
mod expect;
mod find;
mod matches;
mod providers;
mod run;

#[cfg(test)]
mod tests;

pub use case::{Case, Start, load};
pub use check::Checks;
pub use expect::{Expect, Sent, Sse};
pub use find::find;
pub use matches::matches;
pub use run::run;
