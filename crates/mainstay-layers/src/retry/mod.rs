//! Tries failed calls again, exactly when it helps.
//!
//! [`RetryLayer`] asks a [`Classify`](crate::classify::Classify) for its verdict on each outcome and, where another try
//! can help and is allowed, makes one after a delay. It is not for asking *another* server: that is a fallback's work,
//! to which it leaves what no further try here cures.
//!
//! * **Delays**: before try n+1 it is `base_delay · 2^(n-1)`, at most `max_delay`, then [`Jitter`]. A wait that the
//!   server asked for (RFC 9110 §10.2.3 and its kin) replaces it if it is longer, plus a random extra of at most
//!   `base_delay`. Over `max_wait` it ends the tries at once: a sooner try would be refused again.
//! * **Bounds**: `attempts`; `within` and the request's deadline, past which no try and no sleep begins; a
//!   [`RetryBudget`] over all callers. Defaults stand with [`RetryConfig`], which in a request's extensions overrides
//!   the layer's.
//! * **Bodies**: each try sends the whole request body, [`ReplayBody`] sees to it. The failed reply is read within
//!   small bounds, so that its connection can be used again, or dropped, before the sleep.
//! * **What is handed up** is the last outcome; the one before, where our own layers refused the last try or it could
//!   not begin. [`RetryOutcome`] says how many tries there were and why no more: in the extensions of a reply, and in
//!   the [`RetryError`] that errors are wrapped in.
//! * **Safety**: nothing is repeated of which the caller has seen a part, or after the caller left. [`RetrySafety`]
//!   says what else must be sure; [`IdempotencyLayer`] gives all tries of a call one key.
//! * **Layers below** find the number of the try by [`Attempt::of`]; all other extensions of the request are cloned
//!   for each try.
//!
//! The service below gets `http::Request<ReplayBody<B>>`, and each retry first waits, within bounds, for it to be
//! ready. The request body has to be `Unpin`, as boxed ones and hyper's are.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use mainstay_layers::{BoxError, retry::{Attempt, Budget, ReplayBody, RetryLayer}};
//! use std::time::Duration;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), BoxError> {
//! let service = ServiceBuilder::new()
//!     .layer(RetryLayer::new().with_attempts(4).with_budget(Budget::new(0.2, 10.0)))
//!     .service(service_fn(|request: Request<ReplayBody<Full<Bytes>>>| async move {
//!         let status = if Attempt::of(request.extensions()).number < 3 { 503 } else { 200 };
//!         Ok::<_, BoxError>(Response::builder().status(status).body(Full::<Bytes>::default())?)
//!     }));
//!
//! let reply = service.oneshot(Request::new(Full::from("a question"))).await?;
//! assert_eq!(reply.status(), 200);
//! # Ok(())
//! # }
//! ```

mod backoff;
mod body;
mod budget;
mod call;
mod config;
mod earlier;
mod error;
mod event;
mod extension;
mod future;
mod idempotency;
mod kept;
mod layer;
mod policy;
mod replay;
mod service;
#[cfg(test)]
pub(crate) mod tests;

pub use self::backoff::{Backoff, Jitter, Random};
pub use self::body::ResponseBody;
pub use self::budget::{Budget, GrpcThrottle, RetryBudget, cost_by_size};
pub use self::config::{RetryConfig, RetrySafety};
pub use self::error::RetryError;
pub use self::event::{GiveUp, RetryEvent, RetryOutcome};
pub use self::extension::{Attempt, NextTarget};
pub use self::future::ResponseFuture;
pub use self::idempotency::{Idempotency, IdempotencyLayer};
pub use self::layer::RetryLayer;
pub use self::replay::{ReplayBody, ReplayError};
pub use self::service::Retry;
