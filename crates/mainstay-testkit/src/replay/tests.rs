//! On paused time.

use super::{NotRecorded, RecordLayer, ReplayService};
use crate::memory::{FaultBody, Reply, ScriptedError, ScriptedService};
use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body_util::{BodyExt, Full};
use mainstay_layers::error::find_cause;
use parking_lot::Mutex;
use serde_json::json;
use std::{io::Write, sync::Arc, time::Duration};
use tokio::time::Instant;
use tower::{ServiceBuilder, ServiceExt};

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Memory {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

fn post(path: &str, body: &'static str) -> Request<Full<Bytes>> {
    Request::post(path).header("authorization", "Bearer s3cret").body(Full::from(body)).unwrap()
}

/// Records one call to that reply, read to its end; the recording.
async fn recorded(reply: Reply, request: Request<Full<Bytes>>) -> String {
    let memory = Memory::default();
    let layer = RecordLayer::new(memory.clone());
    let service = ServiceBuilder::new().layer(layer.clone()).service(ScriptedService::new([reply]));
    if let Ok(reply) = service.oneshot(request).await {
        let mut body = reply.into_body();
        while let Some(Ok(_)) = body.frame().await {}
    }
    assert!(layer.take_error().is_none());
    memory.text()
}

#[tokio::test(start_paused = true)]
async fn a_recording_plays_the_same_reply() {
    let reply = Reply::ok(FaultBody::new().data("a").wait(Duration::from_secs(2)).data(vec![0xff, 0]))
        .with_status(201)
        .header(header::CONTENT_TYPE, HeaderValue::from_static("text/x"));
    let text = recorded(reply, post("/v1/x?a=1", "{\"m\": 1}")).await;
    for (paced, seconds) in [(false, 0), (true, 2)] {
        let mut replay = ReplayService::read(&text).unwrap();
        if paced {
            replay = replay.paced();
        }
        let start = Instant::now();
        let reply = replay.oneshot(post("http://elsewhere/v1/x?a=1", "{\"m\":1}")).await.unwrap();
        assert_eq!(
            (reply.status().as_u16(), &reply.headers()["content-type"]),
            (201, &HeaderValue::from_static("text/x"))
        );
        assert_eq!(&reply.into_body().collect().await.unwrap().to_bytes()[..], b"a\xff\0");
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
}

#[tokio::test(start_paused = true)]
async fn no_secret_is_written_and_calls_are_found_without_them() {
    let secret = HeaderValue::from_static("s3cret");
    let mut request = post("/v1/x?key=s3cret&b=2", "{}");
    for name in ["x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization"] {
        request.headers_mut().insert(name, secret.clone());
    }
    let mut marked = secret.clone();
    marked.set_sensitive(true);
    request.headers_mut().insert("x-own", marked);
    let text = recorded(Reply::status(200).header(header::SET_COOKIE, secret), request).await;
    assert!(!text.contains("s3cret") && text.contains("x-goog-api-key"), "{text}");
    let replay = ReplayService::read(&text).unwrap();
    replay.oneshot(post("/v1/x?key=another&b=2", "{}")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn failures_are_recorded_where_they_came() {
    let text = recorded(Reply::fail("refused"), post("/", "{}")).await;
    let error = ReplayService::read(&text).unwrap().oneshot(post("/", "{}")).await.unwrap_err();
    assert_eq!(find_cause::<ScriptedError>(&*error), Some(&ScriptedError::new("refused")));

    let text = recorded(Reply::ok(FaultBody::new().data("a").fail("reset")), post("/", "{}")).await;
    let mut body = ReplayService::read(&text).unwrap().oneshot(post("/", "{}")).await.unwrap().into_body();
    body.frame().await.unwrap().unwrap();
    assert_eq!(body.frame().await.unwrap().unwrap_err().to_string(), "reset");
}

#[tokio::test(start_paused = true)]
async fn the_same_call_gets_its_replies_in_turn_and_then_again() {
    let one = recorded(Reply::json(200, &json!(1)), post("/", "{}")).await;
    let two = recorded(Reply::json(200, &json!(2)), post("/", "{}")).await;
    let replay = ReplayService::read(&format!("{one}\n{two}")).unwrap();
    let mut got = Vec::new();
    for _ in 0..3 {
        let reply = replay.clone().oneshot(post("/", "{}")).await.unwrap();
        got.push(reply.into_body().collect().await.unwrap().to_bytes());
    }
    assert_eq!(got, ["1", "2", "1"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_not_recorded_is_an_error_that_names_it() {
    let text = recorded(Reply::status(200), post("/v1/x", "{}")).await;
    for other in [post("/v1/y", "{}"), post("/v1/x", "{\"a\": 1}"), post("/v1/x", "text")] {
        let error = ReplayService::read(&text).unwrap().oneshot(other).await.unwrap_err();
        assert!(find_cause::<NotRecorded>(&*error).is_some());
        assert!(error.to_string().contains("POST /v1/"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_was_not_read_to_its_end_is_marked_and_not_replayed() {
    let memory = Memory::default();
    let script = ScriptedService::new([Reply::ok(FaultBody::new().data("a").silence())]);
    let service = ServiceBuilder::new().layer(RecordLayer::new(memory.clone())).service(script);
    let mut body = service.oneshot(post("/", "{}")).await.unwrap().into_body();
    body.frame().await.unwrap().unwrap();
    assert_eq!(memory.text(), "", "nothing is written while the exchange is under way");
    drop(body);
    assert!(memory.text().contains("\"cut\":true"), "{}", memory.text());
    assert!(ReplayService::read(&memory.text()).unwrap().oneshot(post("/", "{}")).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_body_over_the_bound_is_passed_on_and_marked() {
    let memory = Memory::default();
    let big = FaultBody::new().data(vec![b'x'; 16 << 20]).data("y");
    let script = ScriptedService::new([Reply::ok(big)]);
    let service = ServiceBuilder::new().layer(RecordLayer::new(memory.clone())).service(script);
    let body = service.oneshot(post("/", "{}")).await.unwrap().into_body().collect().await.unwrap();
    assert_eq!(body.to_bytes().len(), (16 << 20) + 1);
    assert!(memory.text().ends_with("\"cut\":true}\n"));
}

#[test]
fn a_line_that_is_no_exchange_is_refused_by_its_number() {
    let error = ReplayService::read("\n{\"method\": 1}").unwrap_err();
    assert!(error.to_string().starts_with("line 2:"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_file_is_kept_and_fails_no_call() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let layer = RecordLayer::new(Full);
    let service =
        ServiceBuilder::new().layer(layer.clone()).service(ScriptedService::new([Reply::status(200)]));
    drop(service.oneshot(post("/", "{}")).await.unwrap());
    assert_eq!(layer.take_error().map(|error| error.kind()), Some(std::io::ErrorKind::StorageFull));
    assert!(layer.take_error().is_none());
}
