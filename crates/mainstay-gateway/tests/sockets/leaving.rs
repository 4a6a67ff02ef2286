//! Callers that leave: nothing goes on for them, and nothing is left behind.

use crate::support::*;
use mainstay_testkit::{Chunk, End, ScriptedProvider, Step, bodies};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, sleep},
};

fn endless() -> Step {
    let text = bodies::openai_chunks(["Hi"]).remove(0);
    let content = bodies::openai_chunks(["Hi"]).remove(1);
    Step::sse([Chunk::new(text), Chunk::new(content).after(Duration::from_millis(20))])
        .loops(10_000)
        .ending(End::Hang)
}

/// Waits until the provider's connections are gone, too.
async fn let_go(provider: &ScriptedProvider, open: usize) {
    let start = Instant::now();
    while provider.open_connections() > open {
        assert!(start.elapsed() < LONG, "{} connections are left", provider.open_connections());
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_may_leave_at_any_byte_of_its_request() {
    let provider = ScriptedProvider::start([Step::json(200, bodies::openai_chat("hello"))]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    let request = chat(false);
    for bytes in 0..=request.len() {
        let mut socket = gateway.connect().await;
        socket.write_all(&request[..bytes]).await.unwrap();
        if bytes % 2 == 0 {
            socket.set_zero_linger().unwrap();
        }
        drop(socket);
    }
    gateway.quiet().await;
    assert_eq!(gateway.talk(chat(false)).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_leaves_while_it_waits_lets_the_provider_go() {
    let provider = ScriptedProvider::start([Step::stall()]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    for stream in [false, true] {
        let mut socket = gateway.connect().await;
        socket.write_all(&chat(stream)).await.unwrap();
        sleep(Duration::from_millis(100)).await;
        assert_eq!(gateway.gauge("mainstay_requests_in_flight").await, 1);
        drop(socket);
        gateway.quiet().await;
        let_go(&provider, 0).await;
    }
    assert_eq!(provider.calls(), 2, "nobody was asked again");
    let metrics = gateway.talk(get("/metrics")).await.body;
    assert!(metrics.contains("status=\"499\""), "{metrics}");
    assert!(metrics.contains("class=\"cancelled\"} 2"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_that_leave_in_mid_stream_leave_nothing() {
    let provider = ScriptedProvider::start([endless()]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    let mut callers = Vec::new();
    for _ in 0..20 {
        let mut socket = gateway.connect().await;
        socket.write_all(&chat(true)).await.unwrap();
        let mut start = [0; 200];
        socket.read_exact(&mut start).await.unwrap();
        assert!(start.starts_with(b"HTTP/1.1 200"));
        callers.push(socket);
    }
    assert_eq!(gateway.gauge("mainstay_requests_in_flight").await, 20);
    for (n, socket) in callers.into_iter().enumerate() {
        if n % 2 == 0 {
            socket.set_zero_linger().unwrap();
        }
    }
    let start = Instant::now();
    gateway.quiet().await;
    let_go(&provider, 0).await;
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_nobody_judges_and_that_breaks_ends_in_one_error_event_too() {
    let provider =
        ScriptedProvider::start([Step::sse(["event: x\ndata: 1\n\n", "data: {\"ha"]).ending(End::Reset)])
            .await
            .unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    let reply = gateway.talk(post("/v1/runs", &[], br#"{"model":"m","stream":true}"#)).await;
    assert!(
        reply.body.starts_with("event: x\ndata: 1\n\ndata: {\"ha\n\ndata: {\"error\":"),
        "{}",
        reply.body
    );
    assert!(reply.body.contains("stream_truncated") && reply.raw.ends_with(b"0\r\n\r\n"), "{}", reply.body);
}
