//! Judges over scripted replies, on paused time.

mod clocks;
mod drops;
mod ends;
mod hold;
mod slices;
mod whole;

use super::{ErrorBody, JudgeBody, JudgeConfig, JudgeLayer, ReplyError, UsageCell};
use crate::{
    peek::{Call, Peeked},
    provider::Kind,
};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, Failed, Head, HttpClassifier, Verdict},
    error::find_cause,
};
use std::{
    collections::VecDeque,
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::Sleep;
use tower::{Layer, ServiceExt, service_fn};

pub(super) const ROLE: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
pub(super) const HI: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
pub(super) const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
pub(super) const DONE: &str = "data: [DONE]\n\n";
pub(super) const ERROR: &str = "data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\n\n";
pub(super) const PING: &str = ": ping\n\n";
pub(super) const ANSWER: &str = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;

/// A judged body, where it can be polled by hand.
pub(super) type Judged = Pin<Box<JudgeBody<Script>>>;

/// What a scripted body does next.
#[derive(Debug)]
pub(super) enum Act {
    Data(Bytes),
    Wait(Duration),
    Fail(BoxError),
    /// Silence for ever.
    Hang,
    /// The same bytes for ever, always at once.
    Flood(Bytes),
}

pub(super) fn data(text: &str) -> Act {
    Act::Data(Bytes::copy_from_slice(text.as_bytes()))
}

pub(super) fn reset() -> Act {
    Act::Fail(io::Error::from(io::ErrorKind::ConnectionReset).into())
}

/// A body that plays its acts and ends, and counts how many of its kind are alive.
#[derive(Debug)]
pub(super) struct Script {
    acts: VecDeque<Act>,
    sleep: Option<Pin<Box<Sleep>>>,
    alive: Alive,
    pub(super) polls: Arc<AtomicUsize>,
}

#[derive(Debug)]
pub(super) struct Alive(pub(super) Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Script {
    pub(super) fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        let alive = Alive(Arc::new(AtomicUsize::new(1)));
        Self { acts: acts.into_iter().collect(), sleep: None, alive, polls: Arc::default() }
    }

    /// How many are alive: one, until it is dropped.
    pub(super) fn alive(&self) -> Arc<AtomicUsize> {
        self.alive.0.clone()
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.polls.fetch_add(1, Relaxed);
        loop {
            if let Some(sleep) = &mut self.sleep {
                ready!(sleep.as_mut().poll(cx));
                self.sleep = None;
            }
            return match self.acts.pop_front() {
                Some(Act::Data(data)) => Poll::Ready(Some(Ok(Frame::data(data)))),
                Some(Act::Wait(time)) => {
                    self.sleep = Some(Box::pin(tokio::time::sleep(time)));
                    continue;
                }
                Some(Act::Fail(error)) => Poll::Ready(Some(Err(error))),
                Some(Act::Hang) => {
                    self.acts.push_front(Act::Hang);
                    Poll::Pending
                }
                Some(Act::Flood(data)) => {
                    self.acts.push_front(Act::Flood(data.clone()));
                    Poll::Ready(Some(Ok(Frame::data(data))))
                }
                None => Poll::Ready(None),
            };
        }
    }
}

/// A judged call: what is asked, and what comes back.
pub(super) struct Play {
    pub(super) kind: Kind,
    pub(super) path: &'static str,
    /// What the caller asked for; `None`: nobody has looked.
    pub(super) stream: Option<bool>,
    pub(super) status: u16,
    pub(super) content_type: Option<&'static str>,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) config: JudgeConfig,
    pub(super) usage: UsageCell,
}

impl Default for Play {
    fn default() -> Self {
        Self {
            kind: Kind::OpenAi,
            path: "/v1/chat/completions",
            stream: None,
            status: 200,
            content_type: Some("text/event-stream"),
            headers: Vec::new(),
            config: JudgeConfig::default(),
            usage: UsageCell::default(),
        }
    }
}

pub(super) fn json() -> Play {
    Play { content_type: Some("application/json"), ..Play::default() }
}

impl Play {
    pub(super) fn request(&self) -> Request<()> {
        let mut request = Request::new(());
        *request.uri_mut() = self.path.parse().unwrap();
        request.extensions_mut().insert(self.usage.clone());
        if let Some(stream) = self.stream {
            let peeked = Peeked { model: "m".into(), model_range: 0..0, stream };
            request.extensions_mut().insert(Call::new(self.path, peeked));
        }
        request
    }

    pub(super) fn response(&self, body: Script) -> Response<Script> {
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap();
        for (name, value) in self.content_type.map(|kind| ("content-type", kind)).iter().chain(&self.headers)
        {
            response.headers_mut().insert(*name, value.parse().unwrap());
        }
        response
    }

    pub(super) fn call(
        &self,
        body: Script,
    ) -> impl Future<Output = Result<Response<Judged>, BoxError>> + use<> {
        let mut response = Some(self.response(body));
        let below = service_fn(move |_: Request<()>| {
            let response = response.take();
            async move { response.ok_or_else(|| BoxError::from("asked twice")) }
        });
        let layer = JudgeLayer::new(self.kind).with_config(self.config);
        let call = layer.layer(below).oneshot(self.request());
        async move { Ok(call.await?.map(Box::pin)) }
    }

    pub(super) async fn acts(
        &self,
        acts: impl IntoIterator<Item = Act>,
    ) -> Result<Response<Judged>, BoxError> {
        self.call(Script::new(acts)).await
    }

    pub(super) async fn texts(&self, texts: &[&str]) -> Result<Response<Judged>, BoxError> {
        self.acts(texts.iter().map(|text| data(text))).await
    }
}

/// All that a body gives: its frames, and the error that it ended with.
pub(super) async fn drain<B>(body: B) -> (Vec<Bytes>, Option<BoxError>)
where
    B: Body<Data = Bytes, Error = BoxError>,
{
    let (mut body, mut frames, mut error) = (Box::pin(body), Vec::new(), None);
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => frames.push(frame.into_data().unwrap()),
            Err(found) => {
                assert!(error.is_none(), "an error is told once");
                error = Some(found);
            }
        }
    }
    assert!(body.is_end_stream());
    (frames, error)
}

pub(super) fn text(frames: &[Bytes]) -> String {
    String::from_utf8(frames.concat()).unwrap()
}

/// What a caller of a stream gets: its bytes, and whether it ended in an error.
pub(super) async fn read(play: &Play, texts: &[&str]) -> (String, Option<Failed>) {
    let response = play.texts(texts).await.unwrap();
    let (frames, error) = drain(response.into_body()).await;
    (text(&frames), error.map(failed))
}

pub(super) fn failed(error: BoxError) -> Failed {
    *error.downcast::<Failed>().unwrap()
}

/// The judgement that the layers above read.
pub(super) fn verdict<B>(outcome: &Result<Response<B>, BoxError>) -> Verdict {
    match outcome {
        Ok(response) => HttpClassifier::new().head(Head::of(response)),
        Err(error) => HttpClassifier::new().error(&**error),
    }
}

pub(super) fn cause<T>(outcome: &Result<Response<T>, BoxError>) -> ReplyError {
    let error = outcome.as_ref().err().unwrap();
    find_cause::<ReplyError>(&**error).unwrap().clone()
}
