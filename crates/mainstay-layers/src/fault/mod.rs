//! Faults on purpose, for tests and drills.
//!
//! [`FaultLayer`] sits where the client would be, or in front of it, and does to calls what networks and servers do:
//! an error status, a delay, a connection that drops before or after the request was sent, a reply that is lost on its
//! way, a body that breaks, ends early, stalls, dribbles or is garbage. By a script, one fault per call in their order,
//! or by chance from a seed. Either way the same calls in the same order meet the same faults.
//!
//! It is not for production: it is a feature of its own so that it need not even be compiled.
//!
//! Defaults: calls after the end of a script pass; [`FaultLayer::repeat_last`] changes that. Clones of a layer, and all
//! services that it makes, share one script: calls are numbered over all of them.
//!
//! # Errors
//!
//! [`Injected`], around an [`io::Error`](std::io::Error) of the kind that the real fault would have: a classifier that
//! knows nothing of this module judges it as it would judge the real one.
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Full;
//! use mainstay_layers::fault::{Fault, FaultLayer, Injected};
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let faults = FaultLayer::script([Fault::status(StatusCode::SERVICE_UNAVAILABLE), Fault::drop_before()]);
//! let mut service = ServiceBuilder::new().layer(faults).service(service_fn(|_: Request<()>| async {
//!     Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from("fine"))))
//! }));
//!
//! let reply = service.ready().await.unwrap().call(Request::new(())).await.unwrap();
//! assert_eq!(reply.status(), 503);
//! let error = service.ready().await.unwrap().call(Request::new(())).await.unwrap_err();
//! assert!(error.is::<Injected>());
//! let reply = service.ready().await.unwrap().call(Request::new(())).await.unwrap();
//! assert_eq!(reply.status(), 200);
//! # }
//! ```

mod body;
mod error;
mod future;
mod kinds;
mod layer;
mod service;

#[cfg(test)]
mod tests;

pub use self::body::FaultBody;
pub use self::error::Injected;
pub use self::future::ResponseFuture;
pub use self::kinds::Fault;
pub use self::layer::FaultLayer;
pub use self::service::FaultInjector;
