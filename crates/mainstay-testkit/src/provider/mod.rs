//! A provider on a real socket that does what a script says.
//!
//! [`ScriptedProvider`] listens on a free port of loopback and answers request number *i* with step *i*; the last
//! step serves all later requests. It is written on raw sockets, so that it can also do what no HTTP library would:
//! cut a body short, end with a TCP reset, fall silent, or send bytes that are no HTTP. What it got it keeps, in
//! order, for the test to look at.
//!
//! A script is Rust ([`Step`]'s constructors) or JSON (see [`Step`]), so that cases can be data.
//!
//! Not for HTTP/2 or TLS, and not for load: use it to play faults.
//!
//! Limits, so that a client gone wild cannot fill memory: a request head of 1 MiB, a request body of 64 MiB, and the
//! last 10,000 requests kept (see [`ScriptedProvider::keep`]).
//!
//! ```
//! use mainstay_testkit::{End, ScriptedProvider, Step, bodies};
//! use std::time::Duration;
//!
//! # async fn example() -> std::io::Result<()> {
//! let provider = ScriptedProvider::start([
//!     Step::json(503, bodies::openai_error("server_error", None, "try again")).header("retry-after", "1"),
//!     Step::sse(bodies::openai_chunks(["Hel", "lo"])).pace(Duration::from_millis(20)).ending(End::Reset),
//!     Step::json(200, bodies::openai_chat("Hello")),
//! ])
//! .await?;
//!
//! let base_url = format!("{}/v1", provider.url());
//! // ... point a client at `base_url`, then:
//! assert_eq!(provider.calls(), 0);
//! # Ok(())
//! # }
//! ```

mod chunk;
mod closed;
mod date;
mod headers;
mod recorded;
mod server;
mod shared;
mod step;
mod wire;

pub(crate) use wire::latin1;

#[cfg(test)]
mod tests;

pub use chunk::{Chunk, End};
pub use closed::ClosedPort;
pub use headers::HeaderValues;
pub use recorded::Recorded;
pub use server::ScriptedProvider;
pub use step::Step;
