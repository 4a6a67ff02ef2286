//! The layer as a whole, on paused time.

mod bodies;
mod budgets;
mod cancelled;
mod outcomes;
mod replies;
pub(crate) mod script;
mod service;
mod tries;

use self::script::{Probe, Script};
use super::*;
use crate::{
    BoxError,
    classify::{Class, Classify, Failed, Verdict},
};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use std::time::Duration;
use tower::ServiceExt;
use tower_layer::Layer;

type Sent = ReplayBody<Full<Bytes>>;
type Reply = Response<ResponseBody<Script>>;

/// Delays of 1, 2, 4 ... seconds, to the millisecond.
fn exact() -> RetryLayer {
    RetryLayer::new().with_jitter(Jitter::None)
}

fn request() -> Request<Full<Bytes>> {
    Request::new(Full::from("a question"))
}

fn status(status: u16) -> Response<Script> {
    Response::builder().status(status).body(Script::text("sorry")).unwrap()
}

fn failed(verdict: Verdict) -> BoxError {
    Failed::new(verdict, "it failed").into()
}

/// Answers with these statuses, the last one for ever.
fn statuses(codes: &'static [u16]) -> Probe<Sent, Script> {
    Probe::new(move |n, _| async move { Ok(status(*codes.get(n - 1).or(codes.last()).unwrap())) })
}

async fn run<C>(layer: &RetryLayer<C>, probe: &Probe<Sent, Script>) -> Result<Reply, BoxError>
where
    C: Classify + Clone,
{
    layer.layer(probe.clone()).oneshot(request()).await
}

fn outcome(reply: &Reply) -> RetryOutcome {
    *reply.extensions().get().expect("an outcome")
}

fn outcome_of(error: &BoxError) -> RetryOutcome {
    *error.downcast_ref::<RetryError>().expect("a RetryError").outcome()
}

async fn text(reply: Reply) -> Bytes {
    reply.into_body().collect().await.unwrap().to_bytes()
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
