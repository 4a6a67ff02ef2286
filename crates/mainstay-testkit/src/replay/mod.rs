//! Records real calls to a file, without keys, and plays them offline.
//!
//! [`RecordLayer`] goes around a client and writes each exchange as one line of JSON when the reply's body has ended,
//! failed or was dropped. [`ReplayService`] reads such a file and answers from it: the first exchange that was not
//! used yet with the same method, path and query, and the same body (as JSON where both are JSON); used ones again
//! when no fresh one is left. A call that was never recorded is an error that names it.
//!
//! What is left out: the values of `authorization`, `proxy-authorization`, `x-api-key`, `api-key`, `x-goog-api-key`,
//! `cookie` and `set-cookie`, and of `key` and `api_key` in a query. **Bodies are written as they are**, so a
//! recording of real prompts is as private as they were.
//!
//! Limits: 16 MiB of each body are recorded; an exchange that has more is marked `cut` and is not replayed. Trailers
//! are not recorded. Not for load: lines are written where the body ends, synchronously.
//!
//! ```
//! use http::Request;
//! use http_body_util::BodyExt;
//! use mainstay_testkit::{
//!     bodies,
//!     memory::{FaultBody, Reply, ScriptedService},
//!     replay::{RecordLayer, ReplayService},
//! };
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("calls.jsonl");
//! let body = || FaultBody::from(r#"{"model":"m"}"#);
//! let request = || Request::post("https://api.example.com/v1/chat/completions").body(body());
//!
//! // With a network, once. A real client takes the place of the script.
//! let client = ScriptedService::new([Reply::json(200, &bodies::openai_chat("hello"))]);
//! let recording = ServiceBuilder::new().layer(RecordLayer::append(&file)?).service(client);
//! recording.oneshot(request()?).await?.into_body().collect().await?;
//!
//! // Without one, ever after.
//! let replay = ReplayService::open(&file)?;
//! let reply = replay.oneshot(request()?).await?.into_body().collect().await?.to_bytes();
//! assert!(reply.windows(5).any(|bytes| bytes == b"hello"));
//! # Ok(())
//! # }
//! ```

mod body;
mod entry;
mod record;
mod service;

#[cfg(test)]
mod tests;

pub use body::RecordBody;
pub use record::{Record, RecordFuture, RecordLayer};
pub use service::{NotRecorded, ReplayFuture, ReplayService};
