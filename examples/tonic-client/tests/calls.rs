//! A tonic client through the layers, against a real tonic server; over memory instead of a socket where time matters,
//! so that it can be paused.

use bytes::Bytes;
use example_tonic_client::{
    search::{Answer, Question},
    server::{Act, Scripted},
    stack::{Client, Options, client},
};
use hyper_util::rt::TokioIo;
use mainstay_layers::{
    breaker::{CircuitBreaker, State},
    deadline::{Deadline, grpc_timeout},
    retry::RetryConfig,
};
use std::{io, time::Duration};
use tokio::{io::duplex, sync::mpsc, time::Instant};
use tokio_stream::{StreamExt, wrappers::ReceiverStream};
use tonic::{
    Code, Request, Status, Streaming,
    metadata::{MetadataMap, MetadataValue},
    transport::{Channel, Endpoint},
};
use tower::service_fn;

const SECOND: Duration = Duration::from_secs(1);

/// A channel to a server in memory.
fn channel(server: &Scripted) -> Channel {
    let (connect, connections) = mpsc::channel(8);
    server.serve(ReceiverStream::new(connections).map(Ok));
    Endpoint::from_static("http://search").connect_with_connector_lazy(service_fn(move |_| {
        let connect = connect.clone();
        async move {
            let (ours, theirs) = duplex(1 << 16);
            connect.send(theirs).await.map_err(|_| io::ErrorKind::ConnectionRefused)?;
            Ok::<_, io::Error>(TokioIo::new(ours))
        }
    }))
}

fn connect_with(server: &Scripted, options: &Options) -> (Client, CircuitBreaker) {
    let breaker = CircuitBreaker::new("search");
    (client(channel(server), breaker.clone(), options), breaker)
}

fn connect(server: &Scripted) -> Client {
    connect_with(server, &Options::default()).0
}

fn question() -> Question {
    Question { text: "where?".into() }
}

fn busy() -> Act {
    Act::Fail(Status::unavailable("busy"))
}

fn pushed_back(code: Code, pushback: &'static str) -> Act {
    let mut metadata = MetadataMap::new();
    metadata.insert("grpc-retry-pushback-ms", MetadataValue::from_static(pushback));
    Act::Fail(Status::with_metadata(code, "slow down", metadata))
}

/// All words, and the status that the stream ended with if it was not OK.
async fn all(mut stream: Streaming<Answer>) -> (String, Option<Status>) {
    let mut words = Vec::new();
    loop {
        match stream.message().await {
            Ok(Some(answer)) => words.push(answer.text),
            Ok(None) => return (words.join(" "), None),
            Err(status) => return (words.join(" "), Some(status)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn unavailable_in_a_reply_of_trailers_only_is_tried_again() {
    let server = Scripted::new([busy(), busy(), Act::Answer("found it", None)]);
    assert_eq!(connect(&server).ask(question()).await.unwrap().into_inner().text, "found it");
    assert_eq!(server.calls(), 3);

    let server = Scripted::new([busy(), busy(), Act::Answer("found it", None)]);
    let reply = connect(&server).stream(question()).await.unwrap();
    assert_eq!(all(reply.into_inner()).await.0, "found it");
    assert_eq!(server.calls(), 3);
}

#[tokio::test]
async fn over_a_real_socket_as_well() {
    let server = Scripted::new([busy(), Act::Answer("found it", None)]);
    let channel = Endpoint::from_shared(server.listen().await.unwrap()).unwrap().connect().await.unwrap();
    let mut client = client(channel, CircuitBreaker::new("search"), &Options::default());
    assert_eq!(client.ask(question()).await.unwrap().into_inner().text, "found it");
    let reply = client.stream(question()).await.unwrap();
    assert_eq!(all(reply.into_inner()).await.0, "found it");
    assert_eq!(server.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn when_the_tries_are_used_up_the_last_status_is_the_servers_own() {
    let server = Scripted::new([busy()]);
    let status = connect(&server).ask(question()).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "busy"));
    assert_eq!(server.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_another_try_does_not_cure_is_not_tried_again() {
    for code in
        [Code::InvalidArgument, Code::NotFound, Code::PermissionDenied, Code::DataLoss, Code::Cancelled]
    {
        let server = Scripted::new([Act::Fail(Status::new(code, "no"))]);
        assert_eq!(connect(&server).ask(question()).await.unwrap_err().code(), code);
        assert_eq!(server.calls(), 1, "{code:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn pushback_sets_the_delay_and_a_negative_or_unreadable_one_ends_the_tries() {
    let server = Scripted::new([pushed_back(Code::Unavailable, "700"), Act::Answer("found", None)]);
    let start = Instant::now();
    connect(&server).ask(question()).await.unwrap();
    assert_eq!(server.calls(), 2);
    assert!((700..750).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());

    for pushback in ["-1", "later"] {
        let server = Scripted::new([pushed_back(Code::Unavailable, pushback)]);
        assert_eq!(connect(&server).ask(question()).await.unwrap_err().code(), Code::Unavailable);
        assert_eq!(server.calls(), 1, "{pushback}");
    }
}

#[tokio::test(start_paused = true)]
async fn resource_exhausted_is_tried_again_only_where_the_server_says_when() {
    let exhausted = Act::Fail(Status::resource_exhausted("quota"));
    let server = Scripted::new([exhausted]);
    assert_eq!(connect(&server).ask(question()).await.unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(server.calls(), 1);

    let server = Scripted::new([pushed_back(Code::ResourceExhausted, "50"), Act::Answer("found", None)]);
    connect(&server).ask(question()).await.unwrap();
    assert_eq!(server.calls(), 2);

    // google.rpc.Status { code: 8, details: [Any { RetryInfo { retry_delay { seconds: 2 } } }] }
    let url = b"type.googleapis.com/google.rpc.RetryInfo";
    let any = [&[0x0a, url.len() as u8], &url[..], &[0x12, 4, 0x0a, 2, 0x08, 2]].concat();
    let details = [&[0x08, 8, 0x1a, any.len() as u8], &any[..]].concat();
    let told = Status::with_details(Code::ResourceExhausted, "quota", Bytes::from(details));
    let server = Scripted::new([Act::Fail(told), Act::Answer("found", None)]);
    let start = Instant::now();
    connect(&server).ask(question()).await.unwrap();
    assert_eq!(server.calls(), 2);
    assert!((2000..2050).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn after_the_first_message_nothing_is_repeated() {
    let server = Scripted::new([
        Act::Answer("one two", Some(Status::unavailable("gone"))),
        Act::Answer("never asked for", None),
    ]);
    let reply = connect(&server).stream(question()).await.unwrap();
    let (words, status) = all(reply.into_inner()).await;
    assert_eq!((words.as_str(), status.unwrap().code()), ("one two", Code::Unavailable));
    assert_eq!(server.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_try_tells_the_server_what_is_left_and_how_many_there_were() {
    let server = Scripted::new([busy(), busy(), Act::Answer("found", None)]);
    let options = Options { base_delay: SECOND, ..Options::default() };
    let (mut client, _) = connect_with(&server, &options);
    let mut request = Request::new(question());
    request.set_timeout(8 * SECOND);
    client.ask(request).await.unwrap();
    let left: Vec<_> = server
        .header("grpc-timeout")
        .into_iter()
        .map(|value| grpc_timeout::parse(value.unwrap()).unwrap().as_millis())
        .collect();
    // Delays of one and two seconds.
    for (left, expected) in left.iter().zip([8000, 7000, 5000]) {
        assert!((expected - 50..=expected).contains(left), "{left:?}");
    }
    let tries = server.header("grpc-previous-rpc-attempts");
    assert_eq!(tries, [None, Some("1".into()), Some("2".into())]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_deadline_exceeded_to_the_caller() {
    let server = Scripted::new([Act::Hang("")]);
    let status = connect(&server).ask(question()).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(status.message().contains("idle timeout"), "{}", status.message());
    assert_eq!(server.calls(), 3);

    let server = Scripted::new([Act::Hang("one two")]);
    let reply = connect(&server).stream(question()).await.unwrap();
    let (words, status) = all(reply.into_inner()).await;
    assert_eq!((words.as_str(), status.unwrap().code()), ("one two", Code::DeadlineExceeded));
    assert_eq!(server.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_layer_caller_or_extension_is_deadline_exceeded_whoever_notices_it_first() {
    let options = Options { idle: Duration::ZERO, deadline: 5 * SECOND, ..Options::default() };
    for (timeout, extension, ends) in [(None, None, 5), (Some(2), None, 2), (Some(9), Some(3), 3)] {
        for words in ["", "one two"] {
            let server = Scripted::new([Act::Hang(words)]);
            let (mut client, breaker) = connect_with(&server, &options);
            let mut request = Request::new(question());
            if let Some(seconds) = timeout {
                request.set_timeout(seconds * SECOND);
            }
            if let Some(seconds) = extension {
                request.extensions_mut().insert(Deadline::after(seconds * SECOND));
            }
            let start = Instant::now();
            let status = match client.stream(request).await {
                Ok(reply) => all(reply.into_inner()).await.1.unwrap(),
                Err(status) => status,
            };
            assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
            let took = start.elapsed().as_millis();
            assert!((ends as u128 * 1000 - 5..ends as u128 * 1000 + 5).contains(&took), "{took} ms");
            assert_eq!((server.calls(), breaker.state()), (1, State::Closed));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_circuit_opens_by_the_status_in_the_trailers() {
    let broken = Act::Answer("one", Some(Status::unavailable("gone")));
    let refused = Act::Answer("one", Some(Status::not_found("gone")));
    let good = Act::Answer("one", None);
    let mut acts = vec![broken.clone(); 4];
    acts.extend([good, refused]);
    acts.extend(vec![broken; 5]);
    let server = Scripted::new(acts);
    let (mut client, breaker) = connect_with(&server, &Options::default());
    for call in 1..=11 {
        assert_eq!(breaker.state(), State::Closed, "call {call}");
        let reply = client.stream(question()).await.unwrap();
        all(reply.into_inner()).await;
    }
    // Four, a success in between and one that is no vote, then five in a row.
    assert_eq!(breaker.state(), State::Open);
    let status = client.ask(question()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("circuit `search` is open"), "{}", status.message());
    assert!(status.metadata().get("grpc-retry-pushback-ms").is_some());
    assert_eq!(server.calls(), 11);
}

#[tokio::test(start_paused = true)]
async fn trailers_pass_all_layers_as_they_came() {
    let mut metadata = MetadataMap::new();
    metadata.insert("x-shard", MetadataValue::from_static("7"));
    metadata.insert_bin("x-trace-bin", MetadataValue::from_bytes(b"\x00\xff"));
    let status = Status::with_details_and_metadata(
        Code::FailedPrecondition,
        "caf\u{e9} 100 %",
        Bytes::from("why"),
        metadata,
    );
    for act in [Act::Answer("one two", Some(status.clone())), Act::Fail(status)] {
        let server = Scripted::new([act]);
        let status = match connect(&server).stream(question()).await {
            Ok(reply) => all(reply.into_inner()).await.1.unwrap(),
            Err(status) => status,
        };
        assert_eq!((status.code(), status.message()), (Code::FailedPrecondition, "caf\u{e9} 100 %"));
        assert_eq!(status.details(), b"why");
        assert_eq!(status.metadata().get("x-shard").unwrap(), "7");
        assert_eq!(status.metadata().get_bin("x-trace-bin").unwrap().to_bytes().unwrap(), &b"\x00\xff"[..]);
    }

    let server = Scripted::new([Act::Answer("one two", None)]);
    let mut stream = connect(&server).stream(question()).await.unwrap().into_inner();
    assert_eq!(stream.trailers().await.unwrap().unwrap().get("grpc-status").unwrap(), "0");
}

#[tokio::test(start_paused = true)]
async fn a_reply_over_the_limit_is_resource_exhausted_and_no_vote() {
    let server = Scripted::new([Act::Answer("a much too long answer", None)]);
    let (mut client, breaker) = connect_with(&server, &Options { reply_bytes: 16, ..Options::default() });
    let status = client.ask(question()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(server.calls(), 1);
    assert_eq!(breaker.metrics().failures_in_a_row, 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_reached_is_tried_again_and_is_unavailable() {
    let tries = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = tries.clone();
    let channel = Endpoint::from_static("http://search").connect_with_connector_lazy(service_fn(move |_| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async {
            Err::<TokioIo<tokio::io::DuplexStream>, _>(io::Error::from(io::ErrorKind::ConnectionRefused))
        }
    }));
    let breaker = CircuitBreaker::new("search");
    let mut client = client(channel, breaker.clone(), &Options::default());
    assert_eq!(client.ask(question()).await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(tries.load(std::sync::atomic::Ordering::SeqCst), 3);
    assert_eq!(breaker.metrics().failures_in_a_row, 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_can_bring_its_own_settings() {
    let server = Scripted::new([busy()]);
    let mut request = Request::new(question());
    request.extensions_mut().insert(RetryConfig::off());
    assert_eq!(connect(&server).ask(request).await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(server.calls(), 1);
}
