//! HTTP/2 without TLS, by prior knowledge.

use crate::support::*;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mainstay_testkit::{ScriptedProvider, Step, bodies};
use std::time::Duration;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

type Sender = http2::SendRequest<Full<Bytes>>;

async fn connect(gateway: &Gateway) -> (Sender, JoinHandle<hyper::Result<()>>) {
    let io = TokioIo::new(gateway.connect().await);
    let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    (sender, tokio::spawn(connection))
}

fn call(body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(format!("http://gateway{CHAT}")).body(Full::new(body.into())).unwrap()
}

fn model(stream: bool) -> Request<Full<Bytes>> {
    call(format!(r#"{{"model":"m","messages":[],"stream":{stream}}}"#))
}

async fn text(response: Response<Incoming>) -> String {
    let all = timeout(LONG, response.into_body().collect()).await.unwrap().unwrap().to_bytes();
    String::from_utf8(all.to_vec()).unwrap()
}

fn chunks() -> Vec<String> {
    bodies::openai_chunks(["Hel", "lo", "!"])
}

async fn provider() -> ScriptedProvider {
    ScriptedProvider::answering(|request| {
        if request.wants_stream() {
            Step::sse(chunks()).pace(Duration::from_millis(200))
        } else {
            Step::json(200, bodies::openai_chat("hello"))
        }
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_and_streams_share_a_connection() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, "")).await;
    let (mut sender, _connection) = connect(&gateway).await;
    let mut running = Vec::new();
    for n in 0..50 {
        running.push((n, tokio::spawn(sender.send_request(model(n % 2 == 0)))));
        sender.ready().await.unwrap();
    }
    for (n, reply) in running {
        let response = timeout(LONG, reply).await.unwrap().unwrap().unwrap();
        assert_eq!(response.status(), 200);
        let expected = if n % 2 == 0 { chunks().concat() } else { bodies::openai_chat("hello").to_string() };
        assert_eq!(text(response).await, expected);
    }
    gateway.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_upload_can_still_read_why_and_the_connection_lives() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, "max_request_body = \"64KiB\"")).await;
    let (mut sender, _connection) = connect(&gateway).await;
    for _ in 0..3 {
        let response =
            timeout(LONG, sender.send_request(call(vec![b'x'; 5_000_000]))).await.unwrap().unwrap();
        assert_eq!(response.status(), 413);
        assert!(text(response).await.contains("request_too_large"));
        let response = sender.send_request(model(false)).await.unwrap();
        assert_eq!(response.status(), 200);
    }
    gateway.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_reset_lets_the_provider_go_and_leaves_the_others_alone() {
    let provider = ScriptedProvider::by_model([
        ("silent", vec![Step::stall()]),
        ("m", vec![Step::json(200, bodies::openai_chat("hello"))]),
    ])
    .await
    .unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    let (mut sender, _connection) = connect(&gateway).await;
    let waiting = tokio::spawn(sender.send_request(call(r#"{"model":"silent"}"#)));
    sender.ready().await.unwrap();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(gateway.gauge("mainstay_requests_in_flight").await, 1);
    waiting.abort();
    gateway.quiet().await;
    let start = Instant::now();
    while provider.closed_early() == 0 {
        assert!(start.elapsed() < LONG);
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(sender.send_request(model(false)).await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_streams_finish_while_it_drains_and_then_the_connection_ends() {
    let provider = provider().await;
    let mut gateway = Gateway::start(&config(&provider, "drain = \"20s\"")).await;
    let (mut sender, connection) = connect(&gateway).await;
    let response = sender.send_request(model(true)).await.unwrap();
    let start = Instant::now();
    gateway.stop();
    // A new connection hears that it is not ready, and holds nothing up.
    let (mut other, other_connection) = connect(&gateway).await;
    let readyz = Request::get("http://gateway/readyz").body(Full::default()).unwrap();
    assert_eq!(other.send_request(readyz).await.unwrap().status(), 503);
    assert_eq!(text(response).await, chunks().concat());
    gateway.ended().await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    for ended in [connection, other_connection] {
        timeout(LONG, ended).await.unwrap().unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_much_of_a_head_is_refused() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, "")).await;
    let (mut sender, _connection) = connect(&gateway).await;
    let mut request = model(false);
    for n in 0..3000 {
        let name = http::HeaderName::try_from(format!("x-{n}")).unwrap();
        request
            .headers_mut()
            .insert(name, http::HeaderValue::from_static("yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"));
    }
    let outcome = timeout(LONG, sender.send_request(request)).await.unwrap();
    assert!(outcome.is_err() || outcome.is_ok_and(|response| response.status() == 431));
    assert_eq!(gateway.talk(get("/healthz")).await.status, 200);
    gateway.quiet().await;
}
