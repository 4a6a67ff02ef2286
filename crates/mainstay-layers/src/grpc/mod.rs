//! What a gRPC call has that an HTTP call has not: a status in the trailers, `grpc-timeout`, a count of the tries.
//!
//! Retry, breaker, timeout and limits know gRPC by [`GrpcClassifier`](crate::classify::GrpcClassifier) and by the content
//! type. Two layers are missing for a client such as tonic's `Channel`:
//!
//! * [`GrpcCallLayer`], around all tries: takes the deadline of the call from `grpc-timeout`, from the
//!   [`Deadline`](crate::deadline::Deadline) that the request carries or from a default, enforces it, and turns the errors
//!   of the layers below into gRPC replies, as [`GrpcStatus::of_error`] reads them. Without it a client that finds a
//!   `TimeoutError` in place of a reply can only call it UNKNOWN.
//! * [`GrpcTryLayer`], below a retry: tells the server what is left of the deadline for this try (`grpc-timeout`) and how
//!   many tries there were before (`grpc-previous-rpc-attempts`, gRFC A6).
//!
//! ```text
//! client ▶ GrpcCall ▶ Retry ▶ GrpcTry ▶ CircuitBreaker ▶ Timeout ▶ BodyLimit ▶ Channel
//! ```
//!
//! Neither is for servers, nor does either read messages: bodies pass frame by frame.
//!
//! Defaults: no deadline but the caller's. The form of the headers is that of the gRPC HTTP/2 protocol.
//!
//! # Errors
//!
//! * An error of a layer of this crate instead of a reply becomes a reply of trailers only: HTTP 200, `grpc-status`,
//!   `grpc-message`, and `grpc-retry-pushback-ms` where the error names a wait. In the middle of a body it becomes the
//!   trailers, and the body that failed is let go.
//! * A foreign error passes as it is: clients know their own best. One that comes when the deadline has passed is
//!   DEADLINE_EXCEEDED, and so is a CANCELLED of the server's then: several timers run for the same deadline, and which of
//!   them is first must not matter.
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use mainstay_layers::{BoxError, grpc::{GrpcCallLayer, GrpcTryLayer}};
//! use std::time::Duration;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), BoxError> {
//! let service = ServiceBuilder::new()
//!     .layer(GrpcCallLayer::new().with_deadline(Duration::from_secs(5)))
//!     .layer(GrpcTryLayer::new())
//!     .service(service_fn(|request: Request<Full<Bytes>>| async move {
//!         assert_eq!(request.headers()["grpc-timeout"], "5000000u");
//!         std::future::pending::<()>().await;
//!         Ok::<_, BoxError>(Response::new(Full::<Bytes>::default()))
//!     }));
//!
//! let reply = service.oneshot(Request::new(Full::default())).await?;
//! assert_eq!(reply.headers()["grpc-status"], "4"); // DEADLINE_EXCEEDED
//! # Ok(())
//! # }
//! ```

mod body;
mod future;
mod layer;
mod service;
mod status;

// They go through the errors of the other layers.
#[cfg(test)]
#[cfg(all(feature = "breaker", feature = "limit", feature = "timeout"))]
mod tests;

pub use self::body::ResponseBody;
pub use self::future::ResponseFuture;
pub use self::layer::{GrpcCallLayer, GrpcTryLayer};
pub use self::service::{GrpcCall, GrpcTry};
pub use self::status::GrpcStatus;
