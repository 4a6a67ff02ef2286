//! Bounds on the size of bodies, in both directions.
//!
//! What a message declares (`Content-Length`, or the exact size its body knows) is held against the limit first: a
//! request that is too large is refused without calling the inner service, a reply at its head. What declares nothing,
//! or lies, is counted as it comes, and so is a reply of status 4xx or 5xx whatever it declares: its status is handed on, and
//! its body ends at the limit. A body of exactly the limit passes.
//!
//! A reply that is a stream by its content type (`text/event-stream`, `application/x-ndjson`,
//! `application/vnd.amazon.eventstream`, gRPC) has a limit of its own: it may well be long, and nobody holds it whole.
//!
//! Defaults: no limits. All are in bytes; zero is off. They count what passes here: put this layer *above* (outside)
//! whatever decompresses, so that a bomb meets the limit.
//!
//! It is not for the size of one event or message within a stream.
//!
//! # Errors
//!
//! [`BodyTooLarge`] says which side, the limit, and what was declared. It is the future's error where the head was not
//! handed on yet, else the body's. A request that turns out too large under way makes the inner call fail; the caller
//! gets [`BodyTooLarge`] even where the client lost that cause, as HTTP/2 does.
//!
//! # A readable refusal
//!
//! A server that answers 413 and closes, while the client still writes, makes the client see a reset instead of the
//! answer (RFC 9112 §9.6). [`drain`] reads an upload on within bounds, [`LingerBody`] does so behind the answer.
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::{BodyExt, Full};
//! use mainstay_layers::limit::{BodyLimitLayer, BodyTooLarge, LimitBody, Side};
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let mut service = ServiceBuilder::new()
//!     .layer(BodyLimitLayer::new().request(8).response(4))
//!     .service(service_fn(|request: Request<LimitBody<Full<Bytes>>>| async move {
//!         let whole = request.into_body().collect().await?.to_bytes();
//!         Ok::<_, mainstay_layers::BoxError>(Response::new(Full::new(whole)))
//!     }));
//!
//! let reply = service.ready().await.unwrap().call(Request::new(Full::from("four"))).await.unwrap();
//! assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), "four");
//!
//! let error = service.ready().await.unwrap().call(Request::new(Full::from("five."))).await.unwrap_err();
//! assert_eq!(error.downcast_ref::<BodyTooLarge>().unwrap().side(), Side::Response);
//!
//! let error = service.ready().await.unwrap().call(Request::new(Full::from("nine nine"))).await.unwrap_err();
//! assert_eq!(error.downcast_ref::<BodyTooLarge>().unwrap().code(), "request_too_large");
//! # }
//! ```

mod body;
mod config;
mod error;
mod future;
mod layer;
mod linger;
mod service;

#[cfg(test)]
mod tests;

pub use self::body::LimitBody;
pub use self::config::BodyLimits;
pub use self::error::{BodyTooLarge, Side};
pub use self::future::ResponseFuture;
pub use self::layer::BodyLimitLayer;
pub use self::linger::{Drained, LINGER_BYTES, LINGER_TIME, LingerBody, drain};
pub use self::service::BodyLimit;
