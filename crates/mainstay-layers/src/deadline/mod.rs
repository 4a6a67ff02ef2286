//! One absolute time by which a call must be over, whatever happens on the way.
//!
//! A [`Deadline`] travels in the extensions of the request. Everything that waits below it (a retry's sleep, a permit,
//! a head, a body) reads it and does not wait past it, so that nested waits cannot add up. It is an instant and not a
//! duration: a duration starts anew in every layer that holds one.
//!
//! [`DeadlineLayer`] puts it there, from a duration of its own, from `grpc-timeout` or from headers that carry seconds,
//! and ends the call with [`DeadlineExceeded`] once it has passed: instead of the head, or in the middle of the body.
//! The earliest deadline always wins. [`TimeBudget`] splits what is left over the steps of a pipeline.
//!
//! It is not for telling a dead peer from a slow one: that is what `timeout` is for, with a clock for each kind of
//! silence.
//!
//! Defaults: a layer made by [`DeadlineLayer::new`] sets nothing by itself and enforces the deadline that a request
//! brings along. A call whose deadline has passed before it was sent is refused without calling the inner service.
//!
//! # Upstream
//!
//! [`DeadlineLayer::with_pass_on`] writes what is left as `grpc-timeout`. Put such a layer below a retry, so that each
//! try tells what is left for that try:
//!
//! ```text
//! DeadlineLayer::after(30 s) ▶ Retry ▶ DeadlineLayer::new().with_pass_on(true) ▶ client
//! ```
//!
//! The form is that of the gRPC HTTP/2 protocol: one to eight digits and a unit, see [`grpc_timeout`].
//!
//! # Example
//!
//! ```
//! use http::{Request, Response};
//! use http_body_util::Empty;
//! use mainstay_layers::{deadline::{Deadline, DeadlineExceeded, DeadlineLayer}, error::find_cause};
//! use std::time::Duration;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let service = ServiceBuilder::new()
//!     .layer(DeadlineLayer::after(Duration::from_secs(2)))
//!     .service(service_fn(|request: Request<Empty<&'static [u8]>>| async move {
//!         // Whatever waits down here can see how long it may.
//!         let deadline = request.extensions().get::<Deadline>().unwrap();
//!         assert!(deadline.remaining() <= Duration::from_secs(2));
//!         std::future::pending::<()>().await;
//!         Ok::<_, std::io::Error>(Response::new(Empty::<&'static [u8]>::new()))
//!     }));
//!
//! let error = service.oneshot(Request::new(Empty::new())).await.unwrap_err();
//! assert!(find_cause::<DeadlineExceeded>(&*error).is_some());
//! # }
//! ```

mod body;
mod budget;
mod error;
mod future;
mod instant;
mod layer;
mod service;

pub mod grpc_timeout;

#[cfg(test)]
mod tests;

pub use self::body::DeadlineBody;
pub use self::budget::TimeBudget;
pub use self::error::DeadlineExceeded;
pub use self::future::ResponseFuture;
pub use self::instant::Deadline;
pub use self::layer::DeadlineLayer;
pub use self::service::WithDeadline;
