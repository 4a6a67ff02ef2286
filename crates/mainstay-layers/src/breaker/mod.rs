//! A circuit breaker: stops asking a service that is ill, and finds out when it is well again.
//!
//! Outcomes are judged by a [`Classify`](crate::classify::Classify) and counted when they are known: an error or a bad
//! head at once, a good reply only when its body has *ended*, so that streams that die half-way count as the failures
//! they are. What says nothing about the service's health, such as 4xx, rate limits and callers that leave, is no vote.
//!
//! | state | calls | goes on when |
//! | --- | --- | --- |
//! | closed | pass | `failures` in a row, or a failure or slow-call rate over a window: open |
//! | open | fail at once with [`CircuitOpen`] | `open_for` is over: half-open |
//! | half-open | up to `probes` at once pass, others fail | the first success: closed; the first failure: open |
//!
//! Calls carry the epoch that they were admitted in; what they say after a transition does not count. A probe that was
//! dropped, or ended without a vote, gives its slot back at once, one that hangs after `probe_deadline`: a circuit
//! never stays half-open for want of slots. A slow probe that succeeds closes the circuit like any other.
//!
//! It is not for rate limits, quotas and refused keys (they concern a key or a model, not the service), nor does it
//! limit how many calls are in flight: that is the `concurrency` module.
//!
//! Defaults: 5 failures in a row, 30 s open, 5 probes of at most 60 s; rates, growth and jitter are off. All times are
//! [`Duration`](std::time::Duration)s, read from tokio's clock. There is no task and no timer: an open circuit turns
//! half-open when a call comes after its time. A closed circuit admits with one atomic load, and a success on one
//! without failures takes no lock unless rates are counted.
//!
//! `poll_ready` never fails for an open circuit and does not wait for the inner service then; the error comes from
//! `call`, ready at once.
//!
//! ```
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Empty;
//! use mainstay_layers::{BoxError, breaker::{CircuitBreakerLayer, CircuitOpen, Config, State}};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let breaker = Config::new().with_failures(2).build("search")?;
//! let service = ServiceBuilder::new()
//!     .layer(CircuitBreakerLayer::new(breaker.clone()))
//!     .service_fn(|_: Request<()>| async {
//!         let mut reply = Response::new(Empty::<&[u8]>::new());
//!         *reply.status_mut() = StatusCode::BAD_GATEWAY;
//!         Ok::<_, BoxError>(reply)
//!     });
//!
//! for _ in 0..2 {
//!     assert_eq!(service.clone().oneshot(Request::new(())).await?.status(), 502);
//! }
//! let error = service.oneshot(Request::new(())).await.unwrap_err();
//! assert_eq!(error.downcast_ref::<CircuitOpen>().unwrap().name(), "search");
//! assert_eq!(breaker.state(), State::Open);
//! # Ok(())
//! # }
//! ```

mod body;
mod call;
mod config;
mod error;
mod future;
mod handle;
mod layer;
mod machine;
mod observe;
mod pace;
mod permit;
mod registry;
mod service;
mod sync;
mod window;

#[cfg(test)]
mod tests;

pub use self::body::ResponseBody;
pub use self::config::{Config, ConfigError};
pub use self::error::CircuitOpen;
pub use self::future::ResponseFuture;
pub use self::handle::CircuitBreaker;
pub use self::layer::CircuitBreakerLayer;
pub use self::observe::{Cause, Metrics, State, Transition};
pub use self::pace::FirstContent;
pub use self::permit::Permit;
pub use self::registry::{Registry, RegistryFull};
pub use self::service::CircuitBreakerService;
