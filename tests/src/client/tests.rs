//! The client against a scripted provider, without a gateway.

use super::{Action, Kept, Reply, Request, play};
use mainstay_testkit::{Chunk, End, ScriptedProvider, Step, bodies, provider::ClosedPort};
use serde_json::json;
use std::time::Duration;

async fn get(provider: &ScriptedProvider, request: &Request) -> Reply {
    play(provider.port(), request, &Kept::default()).await
}

fn chat() -> Request {
    Request::post("/v1/chat/completions", r#"{"model":  "m", "n": 1.50}"#)
}

#[tokio::test]
async fn a_request_is_sent_in_the_bytes_that_it_was_given() {
    let provider = ScriptedProvider::start([Step::json(200, bodies::openai_chat("hi"))]).await.unwrap();
    let reply = get(&provider, &chat()).await;
    assert_eq!(reply.status, Some(200));
    assert!(reply.complete && reply.first_ms.is_some() && reply.elapsed_ms >= reply.first_ms);
    assert_eq!(reply.json().unwrap()["choices"][0]["message"]["content"], "hi");
    let sent = provider.last_request().unwrap();
    assert_eq!(sent.text(), r#"{"model":  "m", "n": 1.50}"#);
    assert_eq!((sent.method.as_str(), sent.header("content-type")), ("POST", Some("application/json")));
}

#[tokio::test]
async fn headers_replace_the_defaults_and_null_removes_one() {
    let provider = ScriptedProvider::start([Step::default()]).await.unwrap();
    let headers = json!({"content-type": null, "host": "elsewhere", "x-n": "@N@"});
    let request = Request { headers: serde_json::from_value(headers).unwrap(), ..chat() };
    get(&provider, &request.numbered(7)).await;
    let sent = provider.last_request().unwrap();
    assert_eq!(sent.header("content-type"), None);
    assert_eq!(sent.header("host"), Some("elsewhere"));
    assert_eq!(sent.header("x-n"), Some("7"));
}

#[tokio::test]
async fn a_body_can_be_padded_chunked_text_or_bytes() {
    let provider = ScriptedProvider::start([Step::default()]).await.unwrap();
    let padded = Request::post("/", r#"{"a": "@PAD@"}"#);
    get(&provider, &Request { pad_bytes: Some(100_000), chunked: true, ..padded }).await;
    let sent = provider.last_request().unwrap();
    assert_eq!(sent.header("content-length"), None);
    assert_eq!(sent.json().unwrap()["a"].as_str().map(str::len), Some(100_000));
    get(&provider, &Request::post("/", r#""{not json""#)).await;
    assert_eq!(provider.last_request().unwrap().text(), "{not json");
    get(&provider, &Request { latin1: Some("\u{ff}\u{0}".into()), ..Request::default() }).await;
    assert_eq!(&provider.last_request().unwrap().body[..], [0xff, 0]);
    get(&provider, &Request::get("/v1/models")).await;
    assert_eq!(provider.last_request().unwrap().method, "GET");
}

#[tokio::test]
async fn raw_bytes_are_sent_as_they_are_with_the_pad_in_place() {
    let provider = ScriptedProvider::start([Step::default()]).await.unwrap();
    let raw = "GET / HTTP/1.1\r\nconnection: close\r\n@PAD@x-b: \u{ff}\r\n\r\n";
    let request = Request {
        raw: Some(raw.into()),
        pad: Some("x-a: 1\r\n".into()),
        pad_bytes: Some(50),
        ..Request::default()
    };
    assert_eq!(get(&provider, &request).await.status, Some(200));
    let sent = provider.last_request().unwrap();
    assert_eq!(sent.headers.iter().filter(|(name, _)| name == "x-a").count(), 50);
    assert_eq!(sent.header("x-b"), Some("\u{ff}"));
}

#[tokio::test]
async fn how_a_reply_ended_is_seen() {
    let sse = || Step::sse(["data: 1\n\n"]);
    for (step, status, complete) in [
        (sse(), Some(200), true),
        (sse().ending(End::Close), Some(200), false),
        (sse().ending(End::Reset), Some(200), false),
        (Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort"), Some(200), false),
        (Step::raw("HTTP/1.1 200 OK\r\n\r\nto the end"), Some(200), true),
        (
            Step::raw("HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 201 Made\r\ncontent-length: 0\r\n\r\n"),
            Some(201),
            true,
        ),
        (Step::raw("nonsense\r\n\r\n"), None, false),
        (Step::dropped(), None, false),
        (Step::reset(), None, false),
    ] {
        let provider = ScriptedProvider::start([step.clone()]).await.unwrap();
        let reply = get(&provider, &chat()).await;
        assert_eq!((reply.status, reply.complete), (status, complete), "{step:?}: {reply:?}");
    }
    let closed = ClosedPort::reserve().unwrap();
    let reply = play(closed.port(), &chat(), &Kept::default()).await;
    assert_eq!((reply.status, reply.elapsed_ms), (None, None));
}

#[tokio::test]
async fn a_named_connection_is_used_again_until_it_closes() {
    let steps = [Step::default(), Step::default().header("connection", "close"), Step::default()];
    let provider = ScriptedProvider::start(steps).await.unwrap();
    let kept = Kept::default();
    let request = Request { via: Some("one".into()), ..chat() };
    for connections in [1, 1, 2] {
        assert!(play(provider.port(), &request, &kept).await.complete);
        assert_eq!(provider.connections(), connections);
    }
}

#[tokio::test]
async fn a_client_can_leave_in_the_middle() {
    let endless = Step::sse([Chunk::new("0123456789").after(Duration::from_millis(1))]).loops(1_000_000);
    let provider = ScriptedProvider::start([endless]).await.unwrap();
    for action in [
        Action { disconnect_after_bytes: Some(25), ..Action::default() },
        Action { disconnect_after_bytes: Some(25), fin: true, ..Action::default() },
        Action { disconnect_after_ms: Some(30), ..Action::default() },
    ] {
        let by_time = action.disconnect_after_ms.is_some();
        let before = provider.closed_early();
        let reply = get(&provider, &Request { action, ..chat() }).await;
        assert_eq!(reply.status, if by_time { None } else { Some(200) });
        assert!(by_time || (25..1000).contains(&reply.body.len()), "{}", reply.body.len());
        assert!(!reply.complete);
        while provider.closed_early() == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

#[tokio::test]
async fn an_answer_that_comes_before_the_upload_has_ended_is_read() {
    // A scripted provider answers nothing before the whole body, so a server of one line does it here.
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        stream
    });
    let request = Request { pad_bytes: Some(50 << 20), ..Request::post("/", r#"{"a": "@PAD@"}"#) };
    let reply = play(port, &request, &Kept::default()).await;
    assert_eq!((reply.status, reply.complete), (Some(413), true));
    drop(server.await.unwrap());
}

#[tokio::test]
async fn a_gzip_reply_is_unpacked_and_a_false_one_left() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"{\"a\": 1}").unwrap();
    let packed: String = packed.finish().unwrap().into_iter().map(char::from).collect();
    let step = |body: &str| Step::chunks([Chunk::latin1(body)]).header("content-encoding", "gzip");
    let provider = ScriptedProvider::start([step(&packed), step("plain")]).await.unwrap();
    assert_eq!(get(&provider, &chat()).await.text(), "{\"a\": 1}");
    assert_eq!(get(&provider, &chat()).await.text(), "plain");
}
