//! `server.keepalive`: signs of life for a caller that waits for a stream.

use crate::support::*;
use mainstay_testkit::{Chunk, End, ScriptedProvider, Step, bodies};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::Instant,
};

const ON: &str = "keepalive = \"150ms\"";
const SIGN: &str = ": waiting\n\n";

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_head_goes_out_with_a_comment_before_anyone_has_answered() {
    let chunks = bodies::openai_chunks(["Hel", "lo"]);
    let provider = ScriptedProvider::start([Step::sse(chunks.clone()).after(ms(2000))]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, ON)).await;
    let mut socket = gateway.connect().await;
    let start = Instant::now();
    socket.write_all(&chat(true)).await.unwrap();
    let mut first = [0; 12];
    socket.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    assert!(start.elapsed() < ms(1800), "{:?}", start.elapsed());
    let rest = read_all(&mut socket).await;
    assert!(rest.head.contains("content-type: text/event-stream"), "{}", rest.head);
    assert!(rest.head.contains("cache-control: no-cache"));
    let signs = rest.body.matches(SIGN).count();
    assert!((2..=13).contains(&signs), "{}", rest.body);
    assert_eq!(rest.body.replace(SIGN, ""), chunks.concat());
    gateway.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_after_the_head_is_the_streams_one_error_event() {
    let failing = Step::json(503, bodies::openai_error("server_error", Some("busy"), "come back later"));
    let provider = ScriptedProvider::start([failing.after(ms(1000))]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, ON)).await;
    let reply = gateway.talk(chat(true)).await;
    assert_eq!(reply.status, 200);
    let events: Vec<&str> = reply.body.split("\n\n").filter(|event| event.starts_with("data:")).collect();
    assert_eq!(events.len(), 1, "{}", reply.body);
    let error: serde_json::Value = serde_json::from_str(&events[0]["data: ".len()..]).unwrap();
    assert_eq!(error["error"]["code"], "busy");
    assert_eq!(error["error"]["message"], "come back later");
    assert_eq!(error["error"]["attempts"][0]["class"], "overloaded");
    assert!(reply.raw.ends_with(b"0\r\n\r\n"), "the message ends as HTTP demands");
    gateway.quiet().await;

    // In time it is what it is: its own status.
    let provider =
        ScriptedProvider::start([Step::json(503, bodies::openai_error("server_error", None, "x"))])
            .await
            .unwrap();
    let gateway = Gateway::start(&config(&provider, ON)).await;
    assert_eq!(gateway.talk(chat(true)).await.status, 503);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_within_a_stream_is_filled_between_events_and_messages_get_pings() {
    let chunks = bodies::anthropic_events(["Hel", "lo"]);
    let provider = ScriptedProvider::start([Step::sse(chunks.clone()).pace(ms(200))]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, ON)).await;
    let body = br#"{"model":"claude-x","max_tokens":1,"messages":[],"stream":true}"#;
    let reply = gateway.talk(post("/v1/messages", &[], body)).await;
    let ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
    assert!(reply.body.matches(ping).count() >= 2, "{}", reply.body);
    assert_eq!(reply.body.replace(ping, ""), chunks.concat().replace(ping, ""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_for_no_stream_gets_no_signs() {
    let provider = ScriptedProvider::start([Step::json(200, bodies::openai_chat("hello")).after(ms(400))])
        .await
        .unwrap();
    let gateway = Gateway::start(&config(&provider, ON)).await;
    let reply = gateway.talk(chat(false)).await;
    assert_eq!((reply.status, reply.json()), (200, bodies::openai_chat("hello")));
    // Refusals are refusals.
    assert_eq!(gateway.talk(post(CHAT, &[], b"{\"stream\":true}")).await.status, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_leaves_while_signs_go_out_lets_the_provider_go() {
    let provider = ScriptedProvider::start([Step::stall()]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, ON)).await;
    let mut socket = gateway.connect().await;
    socket.write_all(&chat(true)).await.unwrap();
    socket.read_exact(&mut [0; 200]).await.unwrap();
    drop(socket);
    gateway.quiet().await;
    let start = Instant::now();
    while provider.open_connections() > 0 {
        assert!(start.elapsed() < LONG);
        tokio::time::sleep(ms(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_drains_end_is_told_to_whoever_still_waits() {
    let provider =
        ScriptedProvider::start([Step::sse([Chunk::wait(ms(60_000))]).ending(End::Hang)]).await.unwrap();
    let mut gateway = Gateway::start(&config(&provider, &format!("{ON}\ndrain = \"500ms\""))).await;
    let mut socket = gateway.connect().await;
    socket.write_all(&chat(true)).await.unwrap();
    socket.read_exact(&mut [0; 12]).await.unwrap();
    gateway.stop();
    let rest = read_all(&mut socket).await;
    assert!(rest.body.contains("shutting_down") && !rest.body.contains("[DONE]"), "{}", rest.body);
    gateway.ended().await;
}
