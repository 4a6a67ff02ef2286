//! What the targets of the translation share: a call through the layer, over a provider that replies from memory.
//!
//! A case begins with two letters, the caller's dialect and the provider's: `c` chat completions, `r` Responses, `m` Messages,
//! `g` Gemini; for a provider also `o` Ollama's own, `h` Cohere's, `b` Bedrock's Converse.

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use mainstay::{
    BoxError,
    body::RequestBody,
    peek::{Call, peek},
    provider::Kind,
    translate::{Lenient, TranslateLayer},
};
use serde::de::IgnoredAny;
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};
use tower_layer::Layer;
use tower_service::Service;

/// The letters of caller and provider, and what follows them; any other byte is one of the letters too.
pub(crate) fn letters(line: &[u8]) -> Option<(u8, u8, &[u8])> {
    let letter =
        |byte: u8, of: &[u8]| if of.contains(&byte) { byte } else { of[usize::from(byte) % of.len()] };
    match line {
        &[caller, target, ref rest @ ..] => Some((letter(caller, b"crmg"), letter(target, b"crmgohb"), rest)),
        _ => None,
    }
}

/// Whether a call between the two passes untouched.
pub(crate) fn passes(caller: u8, target: u8) -> bool {
    caller == target || caller == b'r' && target == b'c'
}

/// The caller's path, and the path of a stream.
pub(crate) fn paths(letter: u8) -> (&'static str, &'static str) {
    match letter {
        b'r' => ("/v1/responses", "/v1/responses"),
        b'm' => ("/v1/messages", "/v1/messages"),
        b'g' => ("/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent?alt=sse"),
        _ => ("/v1/chat/completions", "/v1/chat/completions"),
    }
}

pub(crate) fn kind(letter: u8) -> Kind {
    match letter {
        b'r' => Kind::OpenAiResponses,
        b'm' => Kind::Anthropic,
        b'g' => Kind::Gemini,
        b'o' => Kind::OllamaNative,
        b'h' => Kind::CohereV2,
        b'b' => Kind::BedrockConverse,
        _ => Kind::OpenAi,
    }
}

/// A request in the caller's dialect that asks for one word.
pub(crate) fn hello(letter: u8, stream: bool) -> String {
    let stream = if stream { ",\"stream\":true" } else { "" };
    match letter {
        b'r' => {
            format!(r#"{{"model":"m","input":"hi","reasoning":{{"effort":"low","summary":"auto"}}{stream}}}"#)
        }
        b'm' => format!(
            r#"{{"model":"m","max_tokens":9,"thinking":{{"type":"adaptive"}},"messages":[{{"role":"user","content":"hi"}}]{stream}}}"#
        ),
        b'g' => r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],
            "generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW","includeThoughts":true}}}"#
            .to_owned(),
        _ => {
            let usage = if stream.is_empty() { "" } else { r#","stream_options":{"include_usage":true}"# };
            format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}]{stream}{usage}}}"#)
        }
    }
}

/// What became of a call.
pub(crate) struct Outcome {
    /// What the provider was asked, if it was.
    pub(crate) written: Option<Bytes>,
    /// The reply: its bytes, and whether it ended without an error.
    pub(crate) reply: Result<(Bytes, bool), BoxError>,
}

/// Makes a call; `None` where the body is no call.
pub(crate) fn call(
    path: &str,
    kind: Kind,
    lenient: bool,
    body: &[u8],
    (status, content_type, pieces): (u16, &'static str, Vec<Bytes>),
) -> Option<Outcome> {
    let call = match Call::of_path(path) {
        Some(call) => call,
        None => Call::new(path, peek(body).ok()?),
    };
    let request = Request::post(path).body(()).expect("a path");
    let mut request = call.into_request(request, Bytes::copy_from_slice(body));
    if lenient {
        request.extensions_mut().insert(Lenient);
    }
    let asked = Arc::new(Mutex::new(None));
    let provider = Provider { asked: asked.clone(), status, content_type, pieces };
    let mut service = TranslateLayer::new(kind).layer(provider);
    let reply = service.call(request).now_or_never().expect("everything is there");
    let reply = reply.map(|reply| {
        let mut body = reply.into_body();
        let (mut bytes, mut whole) = (Vec::new(), true);
        while let Some(frame) = body.frame().now_or_never().expect("everything is there") {
            match frame {
                Ok(frame) => bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..])),
                Err(_) => whole = false,
            }
        }
        (Bytes::from(bytes), whole)
    });
    let written = asked.lock().expect("no panic held it").take();
    Some(Outcome { written, reply })
}

/// Remembers what it is asked, and replies.
#[derive(Clone)]
struct Provider {
    asked: Arc<Mutex<Option<Bytes>>>,
    status: u16,
    content_type: &'static str,
    pieces: Vec<Bytes>,
}

type Pieces = futures_util::stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>;

impl Service<Request<RequestBody>> for Provider {
    type Response = Response<StreamBody<Pieces>>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        *self.asked.lock().expect("no panic held it") = Some(request.body().to_bytes());
        let frames: Vec<_> = self.pieces.iter().cloned().map(|piece| Ok(Frame::data(piece))).collect();
        let reply = Response::builder().status(self.status).header(header::CONTENT_TYPE, self.content_type);
        std::future::ready(Ok(reply
            .body(StreamBody::new(futures_util::stream::iter(frames)))
            .expect("a reply")))
    }
}

/// Whether it is one document of JSON. Halves of characters are, as they are for the crate.
pub(crate) fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

/// Every event of a stream holds JSON, or is `[DONE]`.
pub(crate) fn assert_events(stream: &[u8]) {
    let text = std::str::from_utf8(stream).expect("a stream of UTF-8");
    for line in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
        assert!(line == "[DONE]" || is_json(line.as_bytes()), "{line}");
    }
}
