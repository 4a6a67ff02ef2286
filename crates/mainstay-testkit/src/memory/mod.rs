//! A provider without a socket, and a probe for the layers above it. Time is tokio's, so tests can pause it.
//!
//! - [`ScriptedService`]: a tower service that gives call number *i* reply *i*, the last reply to all later calls, and
//!   keeps what it got. Its replies wait, fail, never come, or carry a [`FaultBody`].
//! - [`FaultBody`]: a body whose frames come after delays, fail anywhere, or stop coming. As a request body it
//!   tests what a layer does with the caller's stream.
//! - [`ServiceProbe`]: wraps the service under a layer and counts what the layer does to it: calls without readiness,
//!   futures and bodies that were dropped, what is in flight.
//!
//! Defaults: a reply comes at once, with status 200 and no body; the request's body is read whole first, up to 64 MiB; the last
//! 10,000 requests are kept. Not for bytes on a wire: that is [`ScriptedProvider`](crate::ScriptedProvider).
//!
//! ```
//! use mainstay_testkit::memory::{FaultBody, Reply, ScriptedService, ServiceProbe};
//! use std::time::Duration;
//! use tower::ServiceExt;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let script = ScriptedService::new([
//!     Reply::status(503).after(Duration::from_secs(2)),
//!     Reply::ok(FaultBody::new().data("hel").wait(Duration::from_secs(1)).fail("reset")),
//! ]);
//! let (service, probe) = ServiceProbe::new(script.clone());
//!
//! let request = http::Request::post("/v1/chat/completions").body(FaultBody::from("{}")).unwrap();
//! let reply = service.clone().oneshot(request).await.unwrap();
//! assert_eq!(reply.status(), 503);
//! assert_eq!(script.requests()[0].body.as_deref(), Some(&b"{}"[..]));
//! drop((reply, service));
//! assert_eq!(probe.violations(), Vec::<String>::new());
//! # }
//! ```

mod body;
mod collect;
mod probe;
mod reply;
mod service;

#[cfg(test)]
mod tests;

pub use body::{BodyWatch, FaultBody, ScriptedError};
pub(crate) use collect::Collect;
pub use probe::{Probe, ProbeBody, ProbeFuture, ProbeLayer, ServiceProbe};
pub use reply::Reply;
pub use service::{Received, ScriptedFuture, ScriptedService};
