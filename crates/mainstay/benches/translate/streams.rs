//! Streams of one word an event.

use super::Api;
use allocation_counter::measure;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderValue, Request, Response, header};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use mainstay::{body::RequestBody, translate::TranslateLayer};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::time::Instant;
use tower::{Layer, ServiceExt, service_fn};

const ROUNDS: u32 = 5;
const EVENTS: u32 = 100_000;

/// What an event costs.
pub(crate) struct Cost {
    pub(crate) nanos: f64,
    /// How many bytes are written for it.
    pub(crate) bytes: usize,
    pub(crate) allocations: f64,
}

pub(crate) fn cost(from: Api, to: Api) -> Cost {
    let mut written = 0;
    let info = measure(|| written = translated(from, to));
    let best = (0..ROUNDS)
        .map(|_| {
            let since = Instant::now();
            translated(from, to);
            since.elapsed()
        })
        .min()
        .expect("rounds");
    Cost {
        nanos: best.as_secs_f64() * 1e9 / f64::from(EVENTS),
        bytes: written / EVENTS as usize,
        allocations: info.count_total as f64 / f64::from(EVENTS),
    }
}

/// Reads a stream to its end: how many bytes it had. `from` is the caller's dialect.
fn translated(from: Api, to: Api) -> usize {
    let provider = service_fn(move |_: Request<RequestBody>| async move {
        let mut reply = Response::new(Words { left: EVENTS, word: word(to) });
        reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        Ok::<_, Infallible>(reply)
    });
    let asked = match from {
        Api::Chat => r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#,
        Api::Responses => r#"{"model":"m","stream":true,"input":"hi"}"#,
        Api::Messages => {
            r#"{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#
        }
        Api::Gemini => r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#,
    };
    let call = TranslateLayer::new(to.kind())
        .layer(provider)
        .oneshot(from.call(&Bytes::from_static(asked.as_bytes())));
    let mut body = call.now_or_never().expect("all is there").expect("a stream").into_body();
    let mut written = 0;
    while let Some(frame) = body.frame().now_or_never().expect("all is there") {
        written += frame.expect("an event").data_ref().map_or(0, Bytes::len);
    }
    written
}

/// The same event again and again.
struct Words {
    left: u32,
    word: &'static [u8],
}

impl Body for Words {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(left) = self.left.checked_sub(1) else { return Poll::Ready(None) };
        self.left = left;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(self.word)))))
    }
}

fn word(api: Api) -> &'static [u8] {
    match api {
        Api::Chat => b"data: {\"id\":\"chatcmpl-9Zk1\",\"object\":\"chat.completion.chunk\",\"created\":1732958400,\"model\":\"gpt-4o-mini\",\"system_fingerprint\":\"fp_1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" Titan\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n",
        Api::Responses => b"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":7,\"item_id\":\"msg_67c9fdcf37fc8190ba82116e33fb28c5\",\"output_index\":0,\"content_index\":0,\"delta\":\" Titan\",\"logprobs\":[],\"obfuscation\":\"xyz\"}\n\n",
        Api::Messages => b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" Titan\"}}\n\n",
        Api::Gemini => b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" Titan\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":9,\"totalTokenCount\":9},\"modelVersion\":\"gemini-3\",\"responseId\":\"r1\"}\n\n",
    }
}
