//! The service at the bottom: it reads the request and replies from memory.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use mainstay::{
    BoxError,
    body::RequestBody,
    peek::{Call, peek},
};
use pin_project_lite::pin_project;
use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tower_service::Service;

/// How many events a stream has.
pub(crate) const EVENTS: u32 = 1000;

/// A request as an SDK sends it.
pub(crate) const ASKED: &[u8] = br#"{"messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"Name the three largest moons of Saturn, and say for each when it was found and by whom."}],"model":"gpt-4o-mini","temperature":0.2,"max_tokens":256}"#;
pub(crate) const ASKED_STREAM: &[u8] = br#"{"messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"Name the three largest moons of Saturn, and say for each when it was found and by whom."}],"model":"gpt-4o-mini","stream":true,"max_tokens":256}"#;
/// A reply as OpenAI writes it.
pub(crate) const ANSWER: &str = r#"{"id":"chatcmpl-9Zk1","object":"chat.completion","created":1732958400,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"message":{"role":"assistant","content":"Titan, found in 1655 by Huygens; Rhea, found in 1672 by Cassini; Iapetus, found in 1671 by Cassini.","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":41,"completion_tokens":33,"total_tokens":74,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}},"system_fingerprint":"fp_1"}"#;
const ROLE: &str = "data: {\"id\":\"chatcmpl-9Zk1\",\"object\":\"chat.completion.chunk\",\"created\":1732958400,\"model\":\"gpt-4o-mini\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n";
const WORD: &str = "data: {\"id\":\"chatcmpl-9Zk1\",\"object\":\"chat.completion.chunk\",\"created\":1732958400,\"model\":\"gpt-4o-mini\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" Titan\"},\"finish_reason\":null}]}\n\n";
const LAST: &str = "data: {\"id\":\"chatcmpl-9Zk1\",\"object\":\"chat.completion.chunk\",\"created\":1732958400,\"model\":\"gpt-4o-mini\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// The head of an SDK's request.
pub(crate) fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "localhost:8080"),
        ("accept", "application/json"),
        ("accept-encoding", "gzip, deflate"),
        ("authorization", "Bearer sk-0123456789abcdef0123456789abcdef"),
        ("content-type", "application/json"),
        ("user-agent", "OpenAI/Python 1.99.1"),
        ("x-stainless-arch", "x64"),
        ("x-stainless-lang", "python"),
        ("x-stainless-os", "Linux"),
        ("x-stainless-retry-count", "0"),
        ("x-stainless-runtime", "CPython"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
}

/// Requests of which only the body's type is known to layers: what any user of theirs sends.
pub(crate) fn plain(path: &'static str, body: &'static [u8]) -> impl Fn() -> Request<Full<Bytes>> + Clone {
    let headers = headers();
    move || {
        let mut request = Request::post(path).body(Full::new(Bytes::from_static(body))).expect("a request");
        *request.headers_mut() = headers.clone();
        request
    }
}

/// Requests as a router gets them: with what was peeked.
pub(crate) fn routed(body: &'static [u8]) -> impl Fn() -> Request<RequestBody> + Clone {
    const PATH: &str = "/v1/chat/completions";
    let headers = headers();
    let call = Call::new(PATH, peek(body).expect("a call"));
    move || {
        let mut request = Request::post(PATH).body(()).expect("a request");
        *request.headers_mut() = headers.clone();
        call.clone().into_request(request, Bytes::from_static(body))
    }
}

/// Replies once the request's body is read.
#[derive(Clone)]
pub(crate) struct Provider {
    // Shared: some layers clone the service below for each call, and that is to cost what a client's clone does.
    headers: Arc<HeaderMap>,
    reply: Reply,
}

impl Provider {
    /// Whole replies.
    pub(crate) fn whole() -> Self {
        Self::new("application/json", Reply::Whole(Bytes::from_static(ANSWER.as_bytes())))
    }

    /// Streams; `late`: each frame is pending once.
    pub(crate) fn stream(late: bool) -> Self {
        Self::new("text/event-stream", Reply::Stream { sent: 0, late, pending: late })
    }

    fn new(kind: &'static str, reply: Reply) -> Self {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("date", "Sat, 30 Nov 2024 09:20:00 GMT"),
            ("openai-organization", "org-1"),
            ("openai-processing-ms", "211"),
            ("x-ratelimit-limit-requests", "10000"),
            ("x-ratelimit-remaining-requests", "9999"),
            ("x-request-id", "req_0123456789abcdef"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        Self { headers: Arc::new(headers), reply }
    }
}

impl<B> Service<Request<B>> for Provider
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Response = Response<Reply>;
    type Error = BoxError;
    type Future = Replying<B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Replying<B> {
        let mut response = Response::new(self.reply.clone());
        *response.headers_mut() = (*self.headers).clone();
        Replying { body: request.into_body(), response: Some(response) }
    }
}

pin_project! {
    /// The future of [`Provider`].
    pub(crate) struct Replying<B> {
        #[pin]
        body: B,
        response: Option<Response<Reply>>,
    }
}

impl<B> Future for Replying<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Output = Result<Response<Reply>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        while !this.body.is_end_stream() {
            match ready!(this.body.as_mut().poll_frame(cx)) {
                Some(frame) => drop(frame.map_err(Into::into)?),
                None => break,
            }
        }
        Poll::Ready(Ok(this.response.take().expect("polled once")))
    }
}

/// A reply's body.
#[derive(Clone)]
pub(crate) enum Reply {
    Whole(Bytes),
    Stream { sent: u32, late: bool, pending: bool },
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => None,
            Self::Whole(bytes) => Some(std::mem::take(bytes)),
            Self::Stream { pending: pending @ true, .. } => {
                *pending = false;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Self::Stream { sent, late, pending } => {
                *pending = *late;
                *sent += 1;
                match *sent {
                    1 => Some(Bytes::from_static(ROLE.as_bytes())),
                    n if n < EVENTS => Some(Bytes::from_static(WORD.as_bytes())),
                    EVENTS => Some(Bytes::from_static(LAST.as_bytes())),
                    _ => None,
                }
            }
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream { .. } => SizeHint::default(),
        }
    }
}

/// A name that no layer changes.
pub(crate) fn target() -> Arc<mainstay::route::TargetName> {
    Arc::new(mainstay::route::TargetName::parse("openai"))
}
