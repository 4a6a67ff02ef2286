//! What can go wrong between the request and the head of the reply.

use super::{super::*, server::*, *};
use http::{Request, Version};
use http_body_util::StreamBody;
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, Failed, HttpClassifier, Sent, Verdict, Vote},
};
use std::io;
use tokio::io::AsyncWriteExt;
use tower_service::Service;

#[tokio::test]
async fn the_request_goes_out_with_no_header_of_our_own() {
    let (addr, seen) = once(|mut socket| async move {
        let seen = read_request(&mut socket).await.unwrap();
        socket.write_all(OK.as_bytes()).await.unwrap();
        seen
    })
    .await;
    let mut request = post(format!("http://{addr}/v1/x?y=1"), "hello");
    // As it came in to a gateway.
    *request.version_mut() = Version::HTTP_2;
    client().request(request).await.unwrap();
    assert_eq!(
        seen.await.unwrap(),
        format!("POST /v1/x?y=1 HTTP/1.1\r\nhost: {addr}\r\ncontent-length: 5\r\n\r\nhello")
    );
}

#[tokio::test]
async fn a_reset_after_sending_may_have_been_acted_on() {
    let addr = listen(|_, mut socket| async move {
        read_request(&mut socket).await.unwrap();
        socket.set_zero_linger().unwrap();
    })
    .await;
    let error = client().request(post(format!("http://{addr}/"), "hello")).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Reset, "{}", everything(&error));
    assert_eq!((error.sent(), error.is_stale()), (Sent::Maybe, false));
    assert_eq!((error.verdict().class, error.verdict().vote()), (Class::Transport, Vote::Failure));
}

#[tokio::test]
async fn a_fresh_connection_that_closes_without_a_byte_is_not_stale() {
    let addr = listen(|_, mut socket| async move { drop(read_request(&mut socket).await) }).await;
    let error = client().request(post(format!("http://{addr}/"), "hello")).await.unwrap_err();
    assert_eq!((error.kind(), error.is_stale()), (ClientErrorKind::Reset, false));
    assert_eq!(error.to_string(), format!("connection closed before a reply ({addr})"));
}

/// Answers the first request on a connection, reads the second, and ends with `last` in place of an answer.
async fn closes_on_the_second(last: &'static str, reset: bool) -> std::net::SocketAddr {
    listen(move |_, mut socket| async move {
        read_request(&mut socket).await.unwrap();
        socket.write_all(OK.as_bytes()).await.unwrap();
        read_request(&mut socket).await.unwrap();
        socket.write_all(last.as_bytes()).await.unwrap();
        if reset {
            socket.set_zero_linger().unwrap();
        }
    })
    .await
}

#[tokio::test]
async fn a_kept_connection_that_closes_without_a_byte_is_stale_and_no_vote() {
    for reset in [false, true] {
        let addr = closes_on_the_second("", reset).await;
        let client = client();
        let first = client.request(post(format!("http://{addr}/"), "one")).await.unwrap();
        assert_eq!(text(first).await, "ok");
        settle().await;

        let error = client.request(post(format!("http://{addr}/"), "two")).await.unwrap_err();
        assert_eq!((error.kind(), error.is_stale()), (ClientErrorKind::Reset, true), "reset: {reset}");
        let verdict = HttpClassifier::new().error(&error);
        assert_eq!((verdict.stale, verdict.sent, verdict.vote()), (true, Sent::Maybe, Vote::Neutral));
    }
}

#[tokio::test]
async fn a_kept_connection_that_began_to_answer_is_not_stale() {
    let addr = closes_on_the_second("HTTP/1.1 2", false).await;
    let client = client();
    assert_eq!(text(client.request(get(format!("http://{addr}/"))).await.unwrap()).await, "ok");
    settle().await;
    let error = client.request(get(format!("http://{addr}/"))).await.unwrap_err();
    assert_eq!((error.kind(), error.is_stale()), (ClientErrorKind::Reset, false), "{}", everything(&error));
}

#[tokio::test]
async fn garbage_is_a_failure_of_the_protocol() {
    let addr = listen(|_, socket| answer_all(socket, "220 smtp ready\r\n\r\n")).await;
    let error = client().request(get(format!("http://{addr}/"))).await.unwrap_err();
    assert_eq!((error.kind(), error.verdict().class), (ClientErrorKind::Protocol, Class::Malformed));
    assert_eq!(error.verdict().code.as_deref(), Some("upstream_malformed"));
}

/// A body of one frame and then `error`.
fn failing(error: impl Into<BoxError>) -> StreamBody<futures_list::List> {
    StreamBody::new(futures_list::List::new([Ok(Bytes::from_static(b"part")), Err(error.into())]))
}

/// A stream of what is there, without a crate for it.
mod futures_list {
    use super::*;
    use http_body::Frame;
    use std::{
        pin::Pin,
        task::{Context, Poll},
    };

    pub(super) struct List(std::vec::IntoIter<Result<Bytes, BoxError>>);

    impl List {
        pub(super) fn new(items: impl IntoIterator<Item = Result<Bytes, BoxError>>) -> Self {
            Self(items.into_iter().collect::<Vec<_>>().into_iter())
        }
    }

    impl futures_core::Stream for List {
        type Item = Result<Frame<Bytes>, BoxError>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            Poll::Ready(self.0.next().map(|item| item.map(Frame::data)))
        }
    }
}

#[tokio::test]
async fn a_body_that_fails_is_the_callers_own_and_no_vote() {
    let addr = listen(|_, socket| answer_all(socket, OK)).await;
    let request = Request::post(format!("http://{addr}/")).body(failing("caller left")).unwrap();
    let error = client().request(request).await.unwrap_err();
    assert_eq!((error.kind(), error.verdict().class), (ClientErrorKind::RequestBody, Class::Cancelled));
    assert!(everything(&error).contains("caller left"));
}

#[tokio::test]
async fn the_verdict_in_a_bodys_own_error_stands() {
    let addr = listen(|_, socket| answer_all(socket, OK)).await;
    let judged: BoxError = Failed::new(Verdict::new(Class::Transport), "judged").into();
    for (error, class) in [
        (judged, Class::Transport),
        (io::Error::other(Failed::new(Verdict::new(Class::Timeout), "late")).into(), Class::Timeout),
    ] {
        let request = Request::post(format!("http://{addr}/")).body(failing(error)).unwrap();
        let error = client().request(request).await.unwrap_err();
        assert_eq!((error.kind(), error.verdict().class), (ClientErrorKind::RequestBody, class));
        assert_eq!(HttpClassifier::new().error(&error).class, class);
    }
}

#[tokio::test]
async fn a_streamed_body_arrives_whole_and_bodies_of_all_types_share_the_pool() {
    let addr = listen(|_, mut socket| async move {
        while let Some(request) = read_request(&mut socket).await {
            // A chunked body may come in pieces after the head.
            let mut request = request;
            while request.contains("chunked") && !request.ends_with("0\r\n\r\n") {
                let mut more = [0; 64];
                let n = tokio::io::AsyncReadExt::read(&mut socket, &mut more).await.unwrap();
                request.push_str(std::str::from_utf8(&more[..n]).unwrap());
            }
            let body = request.split_once("\r\n\r\n").unwrap().1.replace("\r\n", "|");
            let reply = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            socket.write_all(reply.as_bytes()).await.unwrap();
        }
    })
    .await;
    let mut client = client();
    let url = format!("http://{addr}/");

    let parts = ["one", "two"].map(|part| Ok::<_, BoxError>(Bytes::from(part)));
    let streamed = StreamBody::new(futures_list::List::new(parts));
    let first = client.call(Request::post(&url).body(streamed).unwrap()).await.unwrap();
    let id = connection(&first).id();
    assert_eq!(text(first).await, "3|one|3|two|0||");
    settle().await;

    let second = client.call(Request::post(&url).body("text".to_owned()).unwrap()).await.unwrap();
    assert_eq!((connection(&second).id(), connection(&second).replies()), (id, 2));
    // Its length was known, and so it was announced.
    assert_eq!(text(second).await, "text");
}
