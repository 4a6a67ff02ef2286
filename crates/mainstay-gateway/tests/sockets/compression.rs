//! Replies are compressed for who asks, and streams never are.

use crate::support::*;
use mainstay_testkit::{ScriptedProvider, Step, bodies};
use std::io::Read;

fn gunzip(reply: &Reply) -> String {
    let at = reply.raw.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let mut out = String::new();
    let body = unchunk(&reply.raw[at..]);
    flate2::read::GzDecoder::new(&body[..]).read_to_string(&mut out).unwrap();
    out
}

async fn gateway(step: Step) -> Gateway {
    let provider = ScriptedProvider::start([step]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    // Kept for as long as the test runs.
    std::mem::forget(provider);
    gateway
}

fn ask(stream: bool, accept: &str) -> Vec<u8> {
    let body = format!(r#"{{"model":"m","messages":[],"stream":{stream}}}"#);
    post(CHAT, &[&format!("accept-encoding: {accept}")], body.as_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_answer_is_compressed_for_who_asks_and_its_headers_say_so() {
    let answer = bodies::openai_chat(&"hello ".repeat(1000));
    let gateway = gateway(Step::json(200, answer.clone())).await;
    let reply = gateway.talk(ask(false, "gzip")).await;
    assert_eq!((reply.status, reply.header("content-encoding")), (200, Some("gzip")));
    assert_eq!(reply.header("content-length"), None);
    assert_eq!(reply.header("vary"), Some("accept-encoding"));
    assert_eq!(serde_json::from_str::<serde_json::Value>(&gunzip(&reply)).unwrap(), answer);
    assert!(reply.raw.len() < 2000);
    for accept in ["br", "zstd", "gzip, deflate, br, zstd"] {
        assert!(gateway.talk(ask(false, accept)).await.header("content-encoding").is_some(), "{accept}");
    }
    // Not asked for, or asked for what there is not: as it is, with its length.
    for accept in ["identity", "deflate", "x-unknown", "gzip;q=0", "identity;q=0", "*;q=0"] {
        let reply = gateway.talk(ask(false, accept)).await;
        assert_eq!((reply.status, reply.header("content-encoding")), (200, None), "{accept}");
        assert_eq!(reply.header("content-length"), Some(answer.to_string().len().to_string().as_str()));
        assert_eq!(reply.json(), answer);
    }
    let reply = gateway.talk(chat(false)).await;
    assert_eq!((reply.header("content-encoding"), reply.json()), (None, answer));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_answer_is_not_worth_it() {
    let gateway = gateway(Step::json(200, bodies::openai_chat("hello"))).await;
    let reply = gateway.talk(ask(false, "gzip")).await;
    assert_eq!(reply.header("content-encoding"), None);
    assert!(reply.header("content-length").is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_never_compressed() {
    let chunks = bodies::openai_chunks(vec!["hello "; 200]);
    let gateway = gateway(Step::sse(chunks.clone())).await;
    let reply = gateway.talk(ask(true, "gzip, br, zstd")).await;
    assert_eq!((reply.status, reply.header("content-encoding")), (200, None));
    assert_eq!(reply.body, chunks.concat());
}
