//! A concurrency limit (bulkhead): a call is in flight until its reply's body has ended.
//!
//! A limit whose permit goes at the head of a reply lets hundreds of streams run under a limit of 8. Here the permit
//! lives in the body until that has ended, failed or been dropped.
//!
//! Calls over the limit wait in line, first come first served: at most `max_waiting` of them, each for at most
//! `queue_wait` and no longer than its deadline. Others fail with [`Overloaded`]. Nothing is taken in `poll_ready`: the
//! permit is acquired in the future, and a call that is dropped while it waits leaves the line.
//!
//! By option the bytes of requests in flight are limited as well, and the limit adapts itself ([`Adaptive`]): it grows
//! by one for each round of good calls that used it, and is cut by a factor when the service asks to slow down or
//! gets slow itself.
//!
//! It is no rate limit (calls per second), and it does not say whether the service is well: that is the `breaker` module.
//!
//! Defaults: `queue_wait` 1 s, `max_waiting` 1024; no limit on bytes; a fixed limit. A call that finds room costs no
//! allocation, one that waits costs one. No task.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::{BodyExt, Full};
//! use mainstay_layers::{BoxError, concurrency::{ConcurrencyLayer, ConcurrencyLimit}};
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let limit = ConcurrencyLimit::new(8);
//! let service = ServiceBuilder::new()
//!     .layer(ConcurrencyLayer::new(limit.clone()))
//!     .service_fn(|_: Request<String>| async { Ok::<_, BoxError>(Response::new(Full::<Bytes>::from("hello"))) });
//!
//! let reply = service.oneshot(Request::new(String::new())).await?;
//! assert_eq!(limit.in_flight(), 1, "the head is here, the body is not read yet");
//! reply.into_body().collect().await?;
//! assert_eq!(limit.in_flight(), 0);
//! # Ok(())
//! # }
//! ```

mod adaptive;
mod body;
mod config;
mod error;
mod future;
mod layer;
mod limit;
mod permit;
mod service;

#[cfg(all(test, not(loom)))]
mod tests;

pub use self::adaptive::Adaptive;
pub use self::body::ResponseBody;
pub use self::config::Config;
pub use self::error::Overloaded;
pub use self::future::ResponseFuture;
pub use self::layer::ConcurrencyLayer;
pub use self::limit::ConcurrencyLimit;
pub use self::service::Concurrency;
