//! Whatever comes in, there is a clear answer or a closed connection, and the gateway is well afterwards.

use crate::support::*;
use mainstay_testkit::{ScriptedProvider, Step, bodies};
use std::{io::Write, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::Instant,
};

const LIMIT: &str = "max_request_body = \"64KiB\"";

async fn provider() -> ScriptedProvider {
    ScriptedProvider::start([Step::json(200, bodies::openai_chat("hello"))]).await.unwrap()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// It still answers, and nothing is left behind.
async fn is_well(gateway: &Gateway) {
    assert_eq!(gateway.talk(chat(false)).await.status, 200);
    gateway.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nonsense_gets_a_clear_answer_or_a_closed_connection() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, LIMIT)).await;
    let many = |count: usize| (0..count).map(|n| format!("x-{n}: y\r\n")).collect::<String>();
    let body = |text: &str| post(CHAT, &[], text.as_bytes());
    let ok = br#"{"model":"m"}"#;
    for (what, bytes, statuses) in [
        ("not json", body("{oops"), &[400][..]),
        ("empty", body(""), &[400]),
        ("no model", body("{}"), &[400]),
        ("two models", body(r#"{"model":"a","model":"b"}"#), &[400]),
        ("a number for a model", body(r#"{"model":1}"#), &[400]),
        ("deep", body(&format!(r#"{{"model":1,"x":{}"#, "[".repeat(60_000))), &[400]),
        ("100,000 headers", format!("GET / HTTP/1.1\r\n{}\r\n", many(100_000)).into(), &[431]),
        ("101 headers", format!("GET / HTTP/1.1\r\n{}\r\n", many(101)).into(), &[431]),
        (
            "one header of a MiB",
            format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(1 << 20)).into(),
            &[431],
        ),
        (
            "a request line of a MiB",
            format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(1 << 20)).into(),
            &[414, 431],
        ),
        ("garbage", b"\x00\x01\x02\xff\xfe garbage\r\n\r\n".to_vec(), &[400, 0]),
        (
            "TLS",
            b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".to_vec(),
            &[400, 0],
        ),
        (
            "two lengths",
            format!("POST {CHAT} HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello").into(),
            &[400],
        ),
        (
            "a length that is none",
            format!("POST {CHAT} HTTP/1.1\r\ncontent-length: -1\r\n\r\n").into(),
            &[400],
        ),
        (
            "a bad chunk",
            format!("POST {CHAT} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n").into(),
            &[400],
        ),
        ("no such path", get("/nowhere").into(), &[404]),
        ("no such path below /v1", get("/v1/nowhere").into(), &[405]),
        ("OPTIONS", format!("OPTIONS {CHAT} HTTP/1.1\r\nconnection: close\r\n\r\n").into(), &[405]),
        ("OPTIONS *", "OPTIONS * HTTP/1.1\r\nconnection: close\r\n\r\n".into(), &[404]),
        ("CONNECT", "CONNECT a:1 HTTP/1.1\r\nconnection: close\r\n\r\n".into(), &[404]),
        ("an unknown coding", post(CHAT, &["content-encoding: snappy"], ok), &[415]),
        ("no gzip", post(CHAT, &["content-encoding: gzip"], ok), &[400]),
        ("half a gzip", post(CHAT, &["content-encoding: gzip"], &gzip(ok)[..20]), &[400]),
        ("a bomb", post(CHAT, &["content-encoding: gzip"], &gzip(&vec![b' '; 16 << 20])), &[413]),
        ("gzip", post(CHAT, &["content-encoding: gzip"], &gzip(ok)), &[200]),
    ] {
        let reply = gateway.talk(bytes).await;
        assert!(statuses.contains(&reply.status), "{what}: {reply:?}");
        if reply.status != 0 && !matches!(reply.status, 200 | 431) && !reply.body.is_empty() {
            assert!(reply.json()["error"]["message"].is_string(), "{what}: {reply:?}");
            assert!(reply.header("x-request-id").is_some(), "{what}");
        }
        is_well(&gateway).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_upload_can_still_read_why() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, LIMIT)).await;
    let big = vec![b'x'; 5_000_000];
    let chunked = || {
        let mut out = format!("POST {CHAT} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n").into_bytes();
        for piece in big.chunks(16 << 10) {
            out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            out.extend_from_slice(piece);
            out.extend_from_slice(b"\r\n");
        }
        [&out[..], b"0\r\n\r\n"].concat()
    };
    for bytes in [post(CHAT, &[], &big), chunked(), post(CHAT, &["content-encoding: br"], &big)] {
        let reply = gateway.talk(bytes).await;
        // Garbage that calls itself br is told as such if that is seen first.
        assert!(matches!(reply.status, 413 | 400), "{reply:?}");
        assert!(reply.json()["error"]["code"].is_string());
        assert_eq!(reply.header("connection"), Some("close"));
    }
    // One that is a little over the limit is read to its end: no reset at all.
    let reply = gateway.talk(post(CHAT, &[], &vec![b'x'; 500_000])).await;
    assert_eq!((reply.status, reply.reset), (413, false));
    is_well(&gateway).await;
    assert!(provider.requests().iter().all(|request| request.body.len() < 1000), "nothing of it was sent on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exactly_the_limit_passes() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, LIMIT)).await;
    for (length, status) in [(64 << 10, 200), ((64 << 10) + 1, 413)] {
        let head = r#"{"model":"m","x":""#;
        let body = format!("{head}{}\"}}", "x".repeat(length - head.len() - 2));
        assert_eq!(gateway.talk(post(CHAT, &[], body.as_bytes())).await.status, status);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_says_nothing_or_half_is_closed_in_time() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, "header_timeout = \"300ms\"")).await;
    for bytes in [
        "",
        "P",
        "PRI * HTTP/2.0\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-le",
        "\r\n\r\n",
    ] {
        let start = Instant::now();
        let reply = gateway.talk(bytes).await;
        assert!(start.elapsed() < Duration::from_secs(3), "{bytes:?}: {:?}", start.elapsed());
        assert_eq!(reply.status, 0, "{bytes:?}: {reply:?}");
    }
    // A byte now and then does not keep it.
    let mut socket = gateway.connect().await;
    let start = Instant::now();
    for byte in b"GET /healthz HTTP/1.1\r\nx: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
    {
        if socket.write_all(&[*byte]).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(read_all(&mut socket).await.status, 0);
    assert!(start.elapsed() < Duration::from_secs(10));
    // Between two requests too.
    let mut socket = gateway.connect().await;
    socket.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let start = Instant::now();
    assert_eq!(read_all(&mut socket).await.status, 200);
    assert!(start.elapsed() < Duration::from_secs(3));
    assert_eq!(gateway.talk(get("/healthz")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_a_body_and_then_silence_is_told_and_closed() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, "upload_idle = \"200ms\"")).await;
    let mut request = post(CHAT, &[], br#"{"model":"m"}"#);
    request.truncate(request.len() - 5);
    let reply = gateway.talk(request).await;
    assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (408, Some("upload_timeout")));
    is_well(&gateway).await;
    assert_eq!(provider.calls(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deadline_over_everything_holds_for_the_upload_too() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, "deadline = \"200ms\"")).await;
    let mut request = post(CHAT, &[], br#"{"model":"m"}"#);
    request.truncate(request.len() - 5);
    let reply = gateway.talk(request).await;
    assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (504, Some("deadline_exceeded")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_asks_before_it_sends_is_told_to_go_on_or_not() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, LIMIT)).await;
    let body = br#"{"model":"m"}"#;
    let head = |length: usize| {
        format!(
            "POST {CHAT} HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        )
    };
    let mut socket = gateway.connect().await;
    socket.write_all(head(body.len()).as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    socket.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(body).await.unwrap();
    assert_eq!(read_all(&mut socket).await.status, 200);
    assert_eq!(gateway.talk(head(5_000_000)).await.status, 413);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_in_a_row_are_answered_in_order() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, "")).await;
    let body = br#"{"model":"m"}"#;
    let call =
        format!("POST {CHAT} HTTP/1.1\r\nx-request-id: first\r\ncontent-length: {}\r\n\r\n", body.len());
    let last = "GET /healthz HTTP/1.1\r\nx-request-id: second\r\nconnection: close\r\n\r\n";
    let reply = gateway.talk([call.as_bytes(), body, last.as_bytes()].concat()).await;
    let raw = String::from_utf8_lossy(&reply.raw);
    let (first, second) = (raw.find("x-request-id: first"), raw.find("x-request-id: second"));
    assert!(first.is_some() && first < second && raw.ends_with("ok\n"), "{raw}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn head_is_get_without_a_body() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, "")).await;
    for path in ["/healthz", "/readyz", "/metrics", "/v1/models", "/v1/models/gpt"] {
        let whole = gateway.talk(get(path)).await;
        let head = gateway.talk(get(path).replacen("GET", "HEAD", 1)).await;
        assert_eq!((whole.status, head.status, head.body.as_str()), (200, 200, ""), "{path}");
        if path != "/metrics" {
            assert_eq!(whole.header("content-length"), head.header("content-length"), "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_connections_than_there_are_places_wait_their_turn() {
    let provider = provider().await;
    let gateway = Gateway::start(&config(&provider, "max_connections = 2")).await;
    let (mut one, two) = (gateway.connect().await, gateway.connect().await);
    one.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").await.unwrap();
    one.read_exact(&mut [0; 12]).await.unwrap();
    let third = async { gateway.talk(get("/healthz")).await };
    let mut third = std::pin::pin!(third);
    assert!(tokio::time::timeout(Duration::from_millis(200), third.as_mut()).await.is_err());
    drop(two);
    assert_eq!(tokio::time::timeout(LONG, third).await.unwrap().status, 200);
}
