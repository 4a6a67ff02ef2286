//! HTTP/2 by prior knowledge, against the `h2` crate's own server.

use super::{super::*, server::*, *};
use ::h2::{Reason, server};
use http::Version;
use http_body_util::StreamBody;
use mainstay_layers::classify::{Class, Sent, Vote};
use std::{collections::HashSet, future::poll_fn, net::SocketAddr, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{Notify, mpsc},
};

fn h2_client() -> Client {
    builder().protocol(Protocol::Http2).build().unwrap()
}

/// Heads at once, bodies that never end, at most two streams per connection.
async fn endless() -> SocketAddr {
    listen(|_, socket| async move {
        let mut connection: server::Connection<_, Bytes> =
            server::Builder::new().max_concurrent_streams(2).handshake(socket).await.unwrap();
        let mut open = Vec::new();
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            open.push(respond.send_response(Response::new(()), false).unwrap());
        }
    })
    .await
}

#[tokio::test]
async fn pitfall_45_no_call_waits_for_another_where_there_are_connections_enough() {
    let addr = endless().await;
    let client = builder().protocol(Protocol::Http2).h2_connections(4).h2_streams(2).build().unwrap();
    let calls: Vec<_> =
        (0..6).map(|_| tokio::spawn(client.request(get(format!("http://{addr}/"))))).collect();
    let mut open = Vec::new();
    let mut connections = HashSet::new();
    for call in calls {
        let response = soon(call).await.unwrap().unwrap();
        assert_eq!(response.version(), Version::HTTP_2);
        connections.insert(connection(&response).id());
        open.push(response);
    }
    assert_eq!(connections.len(), 3, "no more connections than it takes");

    // A body that was dropped gives its place back.
    let freed = connection(&open[0]).id();
    drop(open.remove(0));
    let next = soon(client.request(get(format!("http://{addr}/")))).await.unwrap();
    assert_eq!(connection(&next).id(), freed);
}

#[tokio::test]
async fn one_connection_makes_calls_wait_for_the_servers_limit() {
    let addr = endless().await;
    let client = builder().protocol(Protocol::Http2).h2_connections(1).build().unwrap();
    let mut open = Vec::new();
    for _ in 0..2 {
        open.push(soon(client.request(get(format!("http://{addr}/")))).await.unwrap());
    }
    let third = tokio::spawn(client.request(get(format!("http://{addr}/"))));
    settle().await;
    assert!(!third.is_finished());
    open.clear();
    soon(third).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_refused_stream_was_not_sent() {
    let addr = listen(|_, socket| async move {
        let mut connection = server::handshake(socket).await.unwrap();
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            respond.send_reset(Reason::REFUSED_STREAM);
        }
    })
    .await;
    let error = h2_client().request(get(format!("http://{addr}/"))).await.unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ClientErrorKind::NotSent, Sent::No), "{}", everything(&error));
    assert_eq!(error.to_string(), format!("the server refused the stream ({addr})"));
}

#[tokio::test]
async fn a_stream_reset_by_the_server_may_have_been_acted_on() {
    let addr = listen(|_, socket| async move {
        let mut connection = server::handshake(socket).await.unwrap();
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            respond.send_reset(Reason::INTERNAL_ERROR);
        }
    })
    .await;
    let error = h2_client().request(get(format!("http://{addr}/"))).await.unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ClientErrorKind::Reset, Sent::Maybe), "{}", everything(&error));
    assert!(!error.is_stale());
}

#[tokio::test]
async fn a_kept_connection_that_dies_without_a_frame_is_stale() {
    let addr = listen(|_, socket| async move {
        let mut connection = server::handshake(socket).await.unwrap();
        let (_, mut respond) = connection.accept().await.unwrap().unwrap();
        respond.send_response(Response::new(()), true).unwrap();
        // The second request is read, and the socket dropped.
        let second = connection.accept().await;
        assert!(matches!(second, Some(Ok(_))));
    })
    .await;
    let client = h2_client();
    text(client.request(get(format!("http://{addr}/"))).await.unwrap()).await;
    settle().await;
    let error = client.request(get(format!("http://{addr}/"))).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Reset, "{}", everything(&error));
    assert!(error.is_stale(), "{}", everything(&error));
    assert_eq!(error.verdict().vote(), Vote::Neutral);
}

#[tokio::test]
async fn a_broken_stream_is_a_broken_body() {
    let read = Arc::new(Notify::new());
    let go_on = Arc::clone(&read);
    let addr = listen(move |_, socket| {
        let go_on = Arc::clone(&go_on);
        async move {
            let mut connection = server::handshake(socket).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                let mut body = respond.send_response(Response::new(()), false).unwrap();
                body.send_data("half".into(), false).unwrap();
                let go_on = Arc::clone(&go_on);
                tokio::spawn(async move {
                    go_on.notified().await;
                    body.send_reset(Reason::INTERNAL_ERROR);
                });
            }
        }
    })
    .await;
    let mut body = h2_client().request(get(format!("http://{addr}/"))).await.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "half");
    read.notify_one();
    let error = soon(body.frame()).await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.verdict().class), (ClientErrorKind::Body, Class::Transport));
    assert!(body.frame().await.is_none());
}

/// Speaks so much HTTP/2 that a request is sent: the preface and SETTINGS. Reads up to the first HEADERS.
async fn read_headers(socket: &mut TcpStream) {
    socket.read_exact(&mut [0; 24]).await.unwrap();
    socket.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        socket.read_exact(&mut vec![0; length]).await.unwrap();
        if head[3] == 1 {
            return;
        }
    }
}

#[tokio::test]
async fn a_stream_that_goaway_leaves_out_was_not_sent_and_is_no_vote() {
    let addr = listen(|_, mut socket| async move {
        read_headers(&mut socket).await;
        // Last stream: 0. Error: none.
        socket.write_all(&[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await.unwrap();
        let _ = socket.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let error = soon(h2_client().request(get(format!("http://{addr}/")))).await.unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ClientErrorKind::NotSent, Sent::No), "{}", everything(&error));
    assert_eq!((error.is_stale(), error.verdict().vote()), (true, Vote::Neutral));
}

#[tokio::test]
async fn a_connection_that_answers_no_ping_is_given_up() {
    let addr = listen(|_, mut socket| async move {
        read_headers(&mut socket).await;
        let _ = socket.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let client = builder()
        .protocol(Protocol::Http2)
        .h2_keep_alive(Duration::from_millis(50), Duration::from_millis(50))
        .build()
        .unwrap();
    let error = soon(client.request(get(format!("http://{addr}/")))).await.unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ClientErrorKind::Reset, Sent::Maybe), "{}", everything(&error));
    assert!(!error.is_stale());
}

#[tokio::test]
async fn dropping_the_body_resets_the_stream() {
    let (told, mut reset) = mpsc::channel(1);
    let addr = listen(move |_, socket| {
        let told = told.clone();
        async move {
            let mut connection = server::handshake(socket).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                let mut body = respond.send_response(Response::new(()), false).unwrap();
                let told = told.clone();
                tokio::spawn(async move {
                    let reason = poll_fn(|cx| body.poll_reset(cx)).await.unwrap();
                    told.send(reason).await.unwrap();
                });
            }
        }
    })
    .await;
    drop(h2_client().request(get(format!("http://{addr}/"))).await.unwrap());
    assert_eq!(soon(reset.recv()).await, Some(Reason::CANCEL));
}

#[tokio::test]
async fn a_body_that_fails_is_the_callers_own() {
    let addr = listen(|_, socket| async move {
        let mut connection = server::handshake(socket).await.unwrap();
        let mut open = Vec::new();
        while let Some(Ok(stream)) = connection.accept().await {
            open.push(stream);
        }
    })
    .await;
    let body = StreamBody::new(Fails(Some("caller left")));
    let request = http::Request::post(format!("http://{addr}/")).body(body).unwrap();
    let error = soon(h2_client().request(request)).await.unwrap_err();
    assert_eq!((error.kind(), error.verdict().class), (ClientErrorKind::RequestBody, Class::Cancelled));
}

/// A stream that fails at once.
struct Fails(Option<&'static str>);

impl futures_core::Stream for Fails {
    type Item = Result<http_body::Frame<Bytes>, &'static str>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.take().map(Err))
    }
}

#[tokio::test]
async fn a_server_that_speaks_http1_alone_is_a_failure_of_the_protocol() {
    let addr =
        listen(|_, socket| answer_all(socket, "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")).await;
    let error = soon(h2_client().request(get(format!("http://{addr}/")))).await.unwrap_err();
    assert!(
        matches!(error.kind(), ClientErrorKind::Protocol | ClientErrorKind::Connect),
        "{}",
        everything(&error)
    );
}
