//! A provider that answers at once: a chat completion, or a stream.
//!
//! Of a request that asks for a stream, `max_tokens` says how many events it has and `seed` how many milliseconds lie
//! between them; `seed` 0 leaves it open after the first. `delay` is how many milliseconds pass between the head and the
//! first event. With `flood` it is so many bytes instead, as fast as they are taken; `GET /sent` says how many were.

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use pin_project_lite::pin_project;
use serde_json::Value;
use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    time::{Instant, Sleep, sleep},
};

const ANSWER: &str = r#"{"id":"chatcmpl-9Zk1","object":"chat.completion","created":1732958400,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"message":{"role":"assistant","content":"Titan, found in 1655 by Huygens; Rhea, found in 1672 by Cassini; Iapetus, found in 1671 by Cassini.","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":41,"completion_tokens":33,"total_tokens":74,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}},"system_fingerprint":"fp_1"}"#;
const WORD: &str = "data: {\"id\":\"chatcmpl-9Zk1\",\"object\":\"chat.completion.chunk\",\"created\":1732958400,\"model\":\"gpt-4o-mini\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" Titan\"},\"finish_reason\":null}]}\n\n";
const LAST: &str = "data: {\"id\":\"chatcmpl-9Zk1\",\"object\":\"chat.completion.chunk\",\"created\":1732958400,\"model\":\"gpt-4o-mini\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// How many events of a flood go out together.
const TOGETHER: usize = 64;
/// How many bytes of floods were taken.
static SENT: AtomicU64 = AtomicU64::new(0);

/// Serves for ever.
pub(crate) async fn serve(listener: TcpListener) {
    super::process::accept(listener, answer).await;
}

async fn answer(request: Request<Incoming>) -> Result<Response<Reply>, hyper::Error> {
    if request.uri().path() == "/sent" {
        return Ok(Response::new(Reply::Whole { bytes: SENT.load(Relaxed).to_string().into() }));
    }
    let body = request.into_body().collect().await?.to_bytes();
    let streams = memchr::memmem::find(&body, b"\"stream\":true").is_some();
    let (kind, reply) = match streams {
        false => ("application/json", Reply::whole()),
        true => ("text/event-stream", Reply::stream(&serde_json::from_slice(&body).unwrap_or_default())),
    };
    let mut response = Response::new(reply);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert("openai-processing-ms", HeaderValue::from_static("211"));
    headers.insert("x-ratelimit-remaining-requests", HeaderValue::from_static("9999"));
    headers.insert("x-request-id", HeaderValue::from_static("req_0123456789abcdef"));
    Ok(response)
}

pin_project! {
    #[project = ReplyProj]
    enum Reply {
        Whole { bytes: Bytes },
        Stream { left: u64, first: bool, gap: Option<Duration>, #[pin] sleep: Sleep },
        Flood { left: u64, some: Bytes },
    }
}

impl Reply {
    fn whole() -> Self {
        Self::Whole { bytes: Bytes::from_static(ANSWER.as_bytes()) }
    }

    fn stream(asked: &Value) -> Self {
        let number = |key: &str| asked.get(key).and_then(Value::as_u64).unwrap_or(0);
        if number("flood") > 0 {
            return Self::Flood { left: number("flood"), some: WORD.repeat(TOGETHER).into() };
        }
        let millis = |key| Some(number(key)).filter(|time| *time > 0).map(Duration::from_millis);
        let (gap, delay) = (millis("seed"), millis("delay"));
        let sleep = sleep(delay.unwrap_or_default());
        Self::Stream { left: number("max_tokens").max(1), first: delay.is_none(), gap, sleep }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match self.project() {
            ReplyProj::Whole { bytes } if bytes.is_empty() => return Poll::Ready(None),
            ReplyProj::Whole { bytes } => std::mem::take(bytes),
            ReplyProj::Flood { left, some } if *left > 0 => {
                SENT.fetch_add(some.len() as u64, Relaxed);
                *left = left.saturating_sub(some.len() as u64);
                some.clone()
            }
            ReplyProj::Flood { some, .. } if some.is_empty() => return Poll::Ready(None),
            ReplyProj::Flood { some, .. } => {
                *some = Bytes::new();
                Bytes::from_static(LAST.as_bytes())
            }
            ReplyProj::Stream { left: 0, .. } => return Poll::Ready(None),
            ReplyProj::Stream { left, first, gap, mut sleep } => {
                // A timer that is due at once fires a millisecond later.
                if !std::mem::take(first) {
                    ready!(sleep.as_mut().poll(cx));
                }
                // What is never to come comes in a day.
                let next = gap.unwrap_or(Duration::from_secs(86_400));
                let at = sleep.deadline().max(Instant::now() - next) + next;
                sleep.reset(at);
                *left -= 1;
                Bytes::from_static(if *left == 0 { LAST } else { WORD }.as_bytes())
            }
        };
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { bytes } => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream { .. } | Self::Flood { .. } => SizeHint::default(),
        }
    }
}
