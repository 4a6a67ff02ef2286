//! Played over real sockets. Time is paused: a script's waits cost none.

use super::{Chunk, ClosedPort, End, HeaderValues, ScriptedProvider, Step};
use crate::bodies;
use serde_json::json;
use std::{io, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::Instant,
};

const POST: &str = "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}";

async fn connect(provider: &ScriptedProvider) -> TcpStream {
    TcpStream::connect(provider.address()).await.unwrap()
}

/// Sends, then reads until the connection ends. The error is what the read met, after what came before it.
async fn say(provider: &ScriptedProvider, bytes: &str) -> (String, Option<io::ErrorKind>) {
    let mut stream = connect(provider).await;
    stream.write_all(bytes.as_bytes()).await.unwrap();
    rest(&mut stream).await
}

async fn rest(stream: &mut TcpStream) -> (String, Option<io::ErrorKind>) {
    let mut got = Vec::new();
    let error = stream.read_to_end(&mut got).await.err().map(|error| error.kind());
    (got.into_iter().map(char::from).collect(), error)
}

/// A POST after whose reply the connection ends.
fn once(body: &str) -> String {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn eventually(what: impl Fn() -> bool) {
    tokio::time::timeout(Duration::from_secs(60), async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
    .expect("it should have come to that");
}

#[tokio::test(start_paused = true)]
async fn request_i_gets_step_i_and_the_last_step_serves_the_rest() {
    let provider =
        ScriptedProvider::start([Step::json(503, json!({"n": 1})), Step::json(200, json!({"n": 2}))])
            .await
            .unwrap();
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(say(&provider, &once("{}")).await.0[9..12].to_owned());
    }
    assert_eq!(statuses, ["503", "200", "200", "200"]);
    assert_eq!(provider.calls(), 4);
    provider.restart();
    assert!(say(&provider, &once("{}")).await.0.starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_whole_http() {
    let provider = ScriptedProvider::start([Step::json(200, json!({"a": "é"}))]).await.unwrap();
    let (got, error) = say(&provider, &once("{}")).await;
    let body = r#"{"a":"é"}"#;
    let bytes: String = body.bytes().map(char::from).collect();
    let length = body.len();
    assert_eq!(
        got,
        format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\ncontent-type: application/json\r\n\r\n{bytes}"
        )
    );
    assert_eq!(error, None);
}

#[tokio::test(start_paused = true)]
async fn what_arrived_is_kept_as_it_was() {
    let provider = ScriptedProvider::start([Step::default()]).await.unwrap();
    say(&provider, "POST /v1/x?y=1 HTTP/1.1\r\nX-One:  a \r\nconnection: close\r\ncontent-length: 11\r\n\r\n{\"model\":1}").await;
    let request = provider.last_request().unwrap();
    assert_eq!(
        (request.method.as_str(), request.path.as_str(), request.route()),
        ("POST", "/v1/x?y=1", "/v1/x")
    );
    assert_eq!(request.header("x-one"), Some("a"));
    assert_eq!(request.json(), Some(json!({"model": 1})));
    assert_eq!(request.model(), None, "a model that is no text is none");
    assert!(!request.wants_stream());
}

#[tokio::test(start_paused = true)]
async fn a_chunked_request_is_joined() {
    let provider = ScriptedProvider::start([Step::default()]).await.unwrap();
    let request = "POST / HTTP/1.1\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n\
                   5;x=y\r\nhello\r\nA\r\n, my world\r\n0\r\ntrailer: 1\r\n\r\n";
    say(&provider, request).await;
    assert_eq!(provider.last_request().unwrap().text(), "hello, my world");
}

#[tokio::test(start_paused = true)]
async fn an_expectation_is_met_before_the_body_is_awaited() {
    let provider = ScriptedProvider::start([Step::default()]).await.unwrap();
    let mut stream = connect(&provider).await;
    stream
        .write_all(
            b"POST / HTTP/1.1\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: 2\r\n\r\n",
        )
        .await
        .unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).await.unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{}").await.unwrap();
    assert!(rest(&mut stream).await.0.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test(start_paused = true)]
async fn a_connection_serves_requests_in_turn() {
    let provider =
        ScriptedProvider::start([Step::text(200, "text/plain", "one"), Step::text(200, "text/plain", "two")])
            .await
            .unwrap();
    let (got, _) = say(&provider, &format!("{POST}{}", once("{}"))).await;
    assert!(got.contains("one") && got.ends_with("two"), "{got}");
    assert_eq!(provider.connections(), 1);
    assert_eq!(provider.requests().iter().map(|request| request.connection).collect::<Vec<_>>(), [0, 0]);
    eventually(|| provider.open_connections() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_header_can_be_removed_or_repeated() {
    let step = Step::json(200, json!(1))
        .header("content-type", HeaderValues::None)
        .header("x-two", HeaderValues::Many(vec!["a".into(), "b".into()]));
    let provider = ScriptedProvider::start([step]).await.unwrap();
    let (got, _) = say(&provider, &once("{}")).await;
    assert!(!got.contains("content-type"), "{got}");
    assert!(got.contains("x-two: a\r\nx-two: b\r\n"), "{got}");
}

#[tokio::test(start_paused = true)]
async fn retry_after_can_be_a_date_ahead_and_past() {
    let provider = ScriptedProvider::start([
        Step::default().retry_after_date(90),
        Step::default().retry_after_date(-90),
    ])
    .await
    .unwrap();
    for ahead in [true, false] {
        let (got, _) = say(&provider, &once("{}")).await;
        let value = got.split("retry-after: ").nth(1).unwrap().split("\r\n").next().unwrap();
        let date = httpdate::parse_http_date(value).unwrap();
        assert_eq!(date > std::time::SystemTime::now(), ahead, "{value}");
    }
}

#[tokio::test(start_paused = true)]
async fn chunks_come_in_order_after_their_waits_and_end_properly() {
    let step = Step::sse(["a", "b"]).pace(Duration::from_secs(5)).loops(2);
    let provider = ScriptedProvider::start([step]).await.unwrap();
    let start = Instant::now();
    let (got, error) = say(&provider, &once("{}")).await;
    assert!(got.contains("content-type: text/event-stream\r\n"), "{got}");
    assert!(got.ends_with("\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n"), "{got}");
    assert_eq!(error, None);
    assert!(start.elapsed() >= Duration::from_secs(10));
    assert_eq!(provider.closed_early(), 0);
}

#[tokio::test(start_paused = true)]
async fn chunks_can_be_bytes_repeated_or_a_wait_alone() {
    let step = Step::chunks([
        Chunk::latin1("\u{ff}").times(3),
        Chunk::wait(Duration::from_secs(1)),
        Chunk::new("é"),
        Chunk::new(""),
    ]);
    let provider = ScriptedProvider::start([step]).await.unwrap();
    let (got, _) = say(&provider, &once("{}")).await;
    assert!(got.ends_with("3\r\n\u{ff}\u{ff}\u{ff}\r\n2\r\n\u{c3}\u{a9}\r\n0\r\n\r\n"), "{got}");
}

#[tokio::test(start_paused = true)]
async fn a_reply_can_be_cut_short() {
    let provider = ScriptedProvider::start([Step::sse(["a"]).ending(End::Close)]).await.unwrap();
    let (got, error) = say(&provider, POST).await;
    assert!(got.ends_with("1\r\na\r\n"), "{got}");
    assert_eq!(error, None);
}

#[tokio::test(start_paused = true)]
async fn a_declared_length_can_be_a_lie() {
    let step = Step::chunks(["12345"])
        .header("content-length", "500")
        .header("transfer-encoding", HeaderValues::None);
    let provider = ScriptedProvider::start([step]).await.unwrap();
    let (got, _) = say(&provider, POST).await;
    assert!(got.contains("content-length: 500\r\n") && got.ends_with("\r\n\r\n12345"), "{got}");
}

#[tokio::test(start_paused = true)]
async fn a_reply_can_end_with_a_reset_after_what_was_sent() {
    let provider = ScriptedProvider::start([Step::sse(["a"]).ending(End::Reset)]).await.unwrap();
    let (got, error) = say(&provider, POST).await;
    assert!(got.ends_with("1\r\na\r\n"), "{got}");
    assert_eq!(error, Some(io::ErrorKind::ConnectionReset));
}

#[tokio::test(start_paused = true)]
async fn a_request_can_be_dropped_or_reset_without_a_byte() {
    let provider = ScriptedProvider::start([Step::dropped(), Step::reset()]).await.unwrap();
    assert_eq!(say(&provider, POST).await, (String::new(), None));
    assert_eq!(say(&provider, POST).await, (String::new(), Some(io::ErrorKind::ConnectionReset)));
}

#[tokio::test(start_paused = true)]
async fn raw_bytes_go_out_as_they_are() {
    let provider = ScriptedProvider::start([Step::raw("no http \u{ff}\u{0}")]).await.unwrap();
    assert_eq!(say(&provider, POST).await.0, "no http \u{ff}\u{0}");
}

#[tokio::test(start_paused = true)]
async fn silence_lasts_until_the_client_leaves_and_is_counted() {
    let provider =
        ScriptedProvider::start([Step::stall(), Step::sse(["a"]).ending(End::Hang)]).await.unwrap();
    for gone in 1..=2 {
        let mut stream = connect(&provider).await;
        stream.write_all(POST.as_bytes()).await.unwrap();
        let silent = tokio::time::timeout(Duration::from_secs(3600), rest(&mut stream)).await;
        assert!(silent.is_err());
        assert_eq!(provider.closed_early(), gone - 1);
        drop(stream);
        eventually(|| provider.closed_early() == gone).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_between_chunks_is_noticed_at_once() {
    let step = Step::sse([Chunk::new("a"), Chunk::new("b").after(Duration::from_secs(1_000_000))]);
    let provider = ScriptedProvider::start([step]).await.unwrap();
    let mut stream = connect(&provider).await;
    stream.write_all(POST.as_bytes()).await.unwrap();
    let mut head = [0; 20];
    stream.read_exact(&mut head).await.unwrap();
    drop(stream);
    eventually(|| provider.closed_early() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn requests_at_once_are_counted() {
    let provider = ScriptedProvider::start([Step::default().after(Duration::from_secs(1))]).await.unwrap();
    let request = once("{}");
    tokio::join!(say(&provider, &request), say(&provider, &request), say(&provider, &request));
    say(&provider, &request).await;
    assert_eq!(provider.most_parallel(), 3);
    assert_eq!(provider.connections(), 4);
}

#[tokio::test(start_paused = true)]
async fn each_model_has_its_own_script() {
    let provider = ScriptedProvider::by_model([
        ("a", vec![Step::json(500, json!(1)), Step::json(200, json!(1))]),
        ("b", vec![Step::json(201, json!(1))]),
    ])
    .await
    .unwrap();
    let mut statuses = Vec::new();
    for model in ["a", "b", "a", "c"] {
        statuses
            .push(say(&provider, &once(&json!({ "model": model }).to_string())).await.0[9..12].to_owned());
    }
    assert_eq!(statuses, ["500", "201", "200", "404"]);
}

#[tokio::test(start_paused = true)]
async fn only_the_last_requests_are_kept_but_all_are_counted() {
    let provider = ScriptedProvider::start([Step::default()]).await.unwrap();
    provider.keep(2);
    for _ in 0..5 {
        say(&provider, &once("{}")).await;
    }
    assert_eq!(provider.requests().iter().map(|request| request.number).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(provider.calls(), 5);
    provider.keep(0);
    assert!(provider.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn nonsense_is_not_a_request() {
    let provider = ScriptedProvider::start([Step::default()]).await.unwrap();
    for nonsense in ["\r\n\r\n", "hello\r\n\r\n", "POST / HTTP/1.1\r\ncontent-length: many\r\n\r\n"] {
        assert_eq!(say(&provider, nonsense).await.0, "", "{nonsense:?}");
    }
    assert_eq!(provider.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_what_is_under_way_and_frees_the_port() {
    let provider = ScriptedProvider::start([Step::stall()]).await.unwrap();
    let (address, mut stream) = (provider.address(), connect(&provider).await);
    stream.write_all(POST.as_bytes()).await.unwrap();
    eventually(|| provider.calls() == 1).await;
    provider.shutdown().await;
    assert_eq!(rest(&mut stream).await.0, "");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_closed_port_refuses() {
    let closed = ClosedPort::reserve().unwrap();
    let refused = TcpStream::connect(("127.0.0.1", closed.port())).await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
}

#[tokio::test(start_paused = true)]
async fn the_debug_form_of_a_request_shows_no_secret() {
    let provider = ScriptedProvider::start([Step::default()]).await.unwrap();
    say(&provider, "POST / HTTP/1.1\r\nauthorization: Bearer s3cret\r\nconnection: close\r\ncontent-length: 6\r\n\r\nprompt").await;
    let shown = format!("{:?}", provider.last_request().unwrap());
    assert!(
        shown.contains("authorization") && !shown.contains("s3cret") && !shown.contains("prompt"),
        "{shown}"
    );
}

#[test]
fn a_step_survives_its_json_form() {
    let steps = [
        Step::json(429, bodies::openai_error("x", None, "y"))
            .header("retry-after", "1")
            .after(Duration::from_secs(1)),
        Step::sse(bodies::openai_chunks(["a", "b"]))
            .pace(Duration::from_millis(5))
            .ending(End::Hang)
            .loops(3),
        Step::json(200, json!(null)),
        Step::json(200, json!("text")),
        Step::text(200, "text/html", "<html>").times(3),
        Step::default().header("content-type", HeaderValues::None).retry_after_date(-3),
        Step::stall(),
        Step::reset(),
        Step::dropped(),
        Step::raw("\u{ff}"),
        Step::text(200, "text/plain", "x").times(4).ending(End::Close),
    ];
    for step in steps {
        let text = serde_json::to_string(&step).unwrap();
        assert_eq!(serde_json::from_str::<Step>(&text).unwrap(), step, "{text}");
    }
}

#[test]
fn an_unknown_field_or_end_of_a_step_is_refused() {
    for wrong in [r#"{"stats": 1}"#, r#"{"end": "bang"}"#, r#"{"chunks": [{"dta": ""}]}"#] {
        assert!(serde_json::from_str::<Step>(wrong).is_err(), "{wrong}");
    }
}
