//! What a translation costs: a request of 1 MiB with ten images, and an event of a stream.
//!
//! `cargo run --release -p mainstay --example translate_cost`

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use mainstay::{
    BoxError,
    body::RequestBody,
    peek::{Call, peek},
    provider::Kind,
    translate::TranslateLayer,
};
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tokio::time::Instant;
use tower::{Layer, ServiceExt, service_fn};

const ROUNDS: u32 = 50;
const EVENTS: u32 = 200_000;

const EVENT: &[u8] = br#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" some words"},"finish_reason":null}]}

"#;

/// The same event again and again.
struct Events(u32);

impl futures_core::Stream for Events {
    type Item = Result<Frame<Bytes>, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(left) = self.0.checked_sub(1) else { return Poll::Ready(None) };
        self.0 = left;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(EVENT)))))
    }
}

async fn call(path: &str, body: &Bytes, kind: Kind, events: u32) -> Result<usize, BoxError> {
    let provider = service_fn(move |_: Request<RequestBody>| async move {
        let mut reply = Response::new(StreamBody::new(Events(events)));
        reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        Ok::<_, BoxError>(reply)
    });
    let request = Call::new(path, peek(body)?).into_request(Request::post(path).body(())?, body.clone());
    let mut reply = TranslateLayer::new(kind).layer(provider).oneshot(request).await?.into_body();
    let mut written = 0;
    while let Some(frame) = reply.frame().await {
        written += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(written)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let image = "iVBORw0KGgo".repeat(9_000);
    let images: Vec<String> = (0..10)
        .map(|_| format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{image}"}}}}"#))
        .collect();
    let words = "Once upon a time,\\nin \\\"a\\\" land. ".repeat(1_800);
    let body = Bytes::from(format!(
        r#"{{"model":"m","stream":true,"messages":[{{"role":"user","content":[{{"type":"text","text":"{words}"}},{}]}}]}}"#,
        images.join(",")
    ));
    let since = Instant::now();
    for _ in 0..ROUNDS {
        call("/v1/chat/completions", &body, Kind::Anthropic, 0).await?;
    }
    let each = since.elapsed() / ROUNDS;
    let rate = body.len() as f64 / each.as_secs_f64() / 1e6;
    println!("a request of {} KiB: {each:?}, {rate:.0} MB/s, peek included", body.len() / 1024);

    let small = Bytes::from_static(
        br#"{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#,
    );
    let since = Instant::now();
    let written = call("/v1/messages", &small, Kind::OpenAi, EVENTS).await?;
    println!(
        "an event of a stream: {:?} ({} bytes each)",
        since.elapsed() / EVENTS,
        written / EVENTS as usize
    );
    Ok(())
}
