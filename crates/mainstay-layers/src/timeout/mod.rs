//! Clocks for calls and streams, one for each kind of silence, each with an error of its own.
//!
//! A single total timeout is the wrong tool for streams: it cuts long healthy ones and notices dead ones too late.
//! [`TimeoutLayer`] has these clocks instead; each is a [`Duration`](std::time::Duration), `None` or zero is off, and
//! all are off by default:
//!
//! | clock | runs | for |
//! | --- | --- | --- |
//! | `attempt` | from the moment the request was sent whole to the last byte of the reply | replies that are no stream |
//! | `idle` | while the reader waits and nothing at all comes; the wait for the head is such a wait | streams, gRPC |
//! | `first_event` | from the moment the request was sent whole until content | streams |
//! | `progress` | after the first content, while no more of it comes | streams |
//!
//! It is not for how long a call may take over all tries (that is the `deadline` module, whose `Deadline` this layer
//! obeys too), nor for connecting, which only the client sees; for that there is [`TimeoutError::connect`].
//! [`WriteIdle`] is the counterpart on a server's side: a reader that takes nothing is let go.
//!
//! # Rules
//!
//! * **Only waiting counts.** What came in time is good, however late it is read; a reader that does something else
//!   meanwhile does not use up the server's time. Inside a body this holds for every clock. A wait that ended after its
//!   clock had run out shows that the reader came late; it is not charged.
//! * **Sent whole.** The inner service gets the request's body as [`SentBody`], which notes how the upload goes. Clocks
//!   count from its last progress, and stand still while the upload waits for its own source: neither is the server's
//!   silence. Bound an upload with [`TimeoutBody::upload`].
//! * **What is a stream.** While the head is awaited: what [`Streaming`] in the request's extensions says; without it,
//!   no. From the head on: the content type (`text/event-stream`, `application/x-ndjson`,
//!   `application/vnd.amazon.eventstream`; with no content type, what the request said). A reply that turns out to be
//!   none is under `attempt`, counted from the same start. gRPC (`application/grpc`) has `idle`, and `attempt` only
//!   where the configuration came with the request: the layer's own cannot know a long stream from a short answer.
//! * **What is content.** With a [`Progress`] in the request's extensions, what its owner marks; keep-alives then are
//!   signs of life and no progress. Without one, every frame that holds data.
//! * **One timer.** One `Sleep` for head and body of a call, set again when it fires and not per frame. With all clocks
//!   off nothing is allocated.
//!
//! # Errors
//!
//! [`TimeoutError`] says which clock, how long, and in which phase. As the error of the future if there was no head yet,
//! else as the error of the body, which is at its end after that and has let the inner body go.
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::{BodyExt, Full};
//! use mainstay_layers::timeout::{SentBody, Streaming, TimeoutConfig, TimeoutError, TimeoutKind, TimeoutLayer};
//! use std::time::Duration;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let service = ServiceBuilder::new()
//!     .layer(TimeoutLayer::new(
//!         TimeoutConfig::new()
//!             .with_attempt(Duration::from_secs(120))
//!             .with_idle(Duration::from_secs(30))
//!             .with_first_event(Duration::from_secs(60)),
//!     ))
//!     .service(service_fn(|request: Request<SentBody<Full<Bytes>>>| async move {
//!         request.into_body().collect().await?; // a client that sends the request and then hears nothing
//!         std::future::pending::<()>().await;
//!         Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::new())))
//!     }));
//!
//! let mut request = Request::new(Full::from("{\"stream\": true}"));
//! request.extensions_mut().insert(Streaming(true));
//! let error = service.oneshot(request).await.unwrap_err();
//!
//! let error = error.downcast_ref::<TimeoutError>().unwrap();
//! assert_eq!((error.kind(), error.after()), (TimeoutKind::Idle, Duration::from_secs(30)));
//! # }
//! ```

mod body;
mod config;
mod error;
mod extension;
mod future;
mod layer;
mod sent;
mod service;
mod watch;
mod write_idle;

#[cfg(test)]
mod tests;

pub use self::body::TimeoutBody;
pub use self::config::TimeoutConfig;
pub use self::error::{Phase, TimeoutError, TimeoutKind};
pub use self::extension::{Progress, Streaming};
pub use self::future::ResponseFuture;
pub use self::layer::TimeoutLayer;
pub use self::sent::SentBody;
pub use self::service::Timeout;
pub use self::write_idle::WriteIdle;

/// Whether `headers` announce a stream of events, as this layer understands it; gRPC is not among them.
pub fn announces_events(headers: &http::HeaderMap) -> bool {
    crate::media::Media::of(headers) == crate::media::Media::Events
}
