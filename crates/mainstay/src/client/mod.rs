//! The HTTP client: hyper with a pool, TLS, proxies, and errors that say what happened.
//!
//! It is a [`tower_service::Service`] for requests with any body, always ready, and cheap to clone. It does what has to
//! do with connections and nothing else: it adds no headers but those that HTTP needs, follows no redirect, decompresses
//! nothing, and has no timer but for connecting. Retries, timeouts, limits and the rest are layers around it.
//!
//! | setting | default |
//! | --- | --- |
//! | protocol | HTTP/2 where the server agrees (ALPN), else HTTP/1.1; HTTP/1.1 on cleartext |
//! | HTTP/2 connections per origin | up to 4, a further one when those before have 100 calls in flight |
//! | connect timeout (DNS, TCP, proxy, TLS together) | 5 s |
//! | idle connections | kept for 90 s, 256 per host |
//! | runtimes | one pool for each that the client is used on |
//! | TLS | 1.2 and 1.3, ring, Mozilla's roots |
//! | proxy | `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` |
//! | TCP | `TCP_NODELAY`; keep-alive after 60 s |
//! | HTTP/2 pings | every 30 s while calls are in flight, answered within 10 s |
//!
//! # Errors
//!
//! [`ClientError`] tells what happened before the request was sent (safe to repeat, whatever it does) from what happened
//! after, and carries a [`Verdict`](mainstay_layers::classify::Verdict) for the layers. A kept connection that the server
//! closed just as the request was on its way is marked [stale](ClientError::is_stale); what was certainly not written is
//! sent again on another connection without anyone noticing.
//!
//! # Bodies
//!
//! One pool serves requests of every body type. A `Full<Bytes>` and an empty body go as they are; any other costs one box.
//! A reply is in flight until its [`ResponseBody`] has ended; dropping that cancels the call.
//!
//! ```
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::{BodyExt, Full};
//! use mainstay::client::{Client, ClientErrorKind};
//! use mainstay_layers::classify::Sent;
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder().connect_timeout(Duration::from_secs(2)).no_proxy().build()?;
//! # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! # let url = format!("http://{}/v1/models", listener.local_addr()?);
//! # drop(listener);
//! let request = Request::post(url).body(Full::<Bytes>::from("{}"))?;
//! match client.request(request).await {
//!     Ok(reply) => println!("{} bytes", reply.into_body().collect().await?.to_bytes().len()),
//!     // Nothing listens on that port; and so it is safe to ask again.
//!     Err(error) => {
//!         assert_eq!(error.kind(), ClientErrorKind::Refused);
//!         assert_eq!(error.sent(), Sent::No);
//!     }
//! }
//! # Ok(()) }
//! ```

mod body;
mod build_error;
mod builder;
mod connect;
mod error;
mod future;
mod http1;
mod load;
mod per_runtime;
mod proxy;
mod request_body;
mod service;
mod tls;

#[cfg(test)]
mod tests;

pub use self::body::ResponseBody;
pub use self::build_error::BuildError;
pub use self::builder::{ClientBuilder, Protocol};
pub use self::connect::ConnectionInfo;
pub use self::error::{ClientError, ClientErrorKind};
pub use self::future::ResponseFuture;
pub use self::proxy::Proxy;
pub use self::service::Client;
