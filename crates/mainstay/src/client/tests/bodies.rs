//! Replies' bodies.

use super::{super::*, server::*, *};
use http_body::Body;
use mainstay_layers::classify::{Class, Sent};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn a_cut_body_is_an_error_once_and_then_the_end() {
    let addr = listen(|_, mut socket| async move {
        read_request(&mut socket).await.unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await.unwrap();
    })
    .await;
    let mut body = client().request(get(format!("http://{addr}/"))).await.unwrap().into_body();
    assert_eq!(body.size_hint().exact(), Some(10));
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "half");

    let error = body.frame().await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ClientErrorKind::Body, Sent::Maybe));
    assert_eq!(error.verdict().class, Class::Transport);
    assert_eq!(error.to_string(), "connection closed in the middle of the reply");
    assert!(body.is_end_stream());
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_reset_in_the_body_is_a_broken_body_too() {
    let (read, go_on) = tokio::sync::oneshot::channel::<()>();
    let (addr, server) = once(|mut socket| async move {
        read_request(&mut socket).await.unwrap();
        socket
            .write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n")
            .await
            .unwrap();
        // A reset overtakes what is unread.
        go_on.await.unwrap();
        socket.set_zero_linger().unwrap();
    })
    .await;
    let mut body = client().request(get(format!("http://{addr}/"))).await.unwrap().into_body();
    assert_eq!(body.size_hint().exact(), None);
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "half");
    read.send(()).unwrap();
    let error = body.frame().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Body);
    assert!(error.to_string().starts_with("reply broken off: "), "{error}");
    assert!(body.frame().await.is_none());
    server.await.unwrap();
}

#[tokio::test]
async fn trailers_and_the_end_are_passed_on() {
    let addr = listen(|_, socket| {
        answer_all(
            socket,
            "HTTP/1.1 200 OK\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-sum: 7\r\n\r\n",
        )
    })
    .await;
    let request =
        Request::get(format!("http://{addr}/")).header("te", "trailers").body(Empty::<Bytes>::new()).unwrap();
    let body = client().request(request).await.unwrap().into_body().collect().await.unwrap();
    assert_eq!(body.trailers().unwrap()["x-sum"], "7");
    assert_eq!(body.to_bytes(), "ok");
}

#[tokio::test]
async fn a_reply_without_a_body_is_at_its_end_at_once() {
    let addr = listen(|_, socket| answer_all(socket, "HTTP/1.1 204 No Content\r\n\r\n")).await;
    let body = client().request(get(format!("http://{addr}/"))).await.unwrap().into_body();
    assert!(body.is_end_stream());
    assert_eq!(body.size_hint().exact(), Some(0));
}

#[tokio::test]
async fn dropping_the_body_closes_the_connection() {
    let (addr, closed) = once(|mut socket| async move {
        read_request(&mut socket).await.unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await.unwrap();
        socket.read(&mut [0; 1]).await.map_or(0, |n| n)
    })
    .await;
    let mut body = client().request(get(format!("http://{addr}/"))).await.unwrap().into_body();
    body.frame().await.unwrap().unwrap();
    drop(body);
    assert_eq!(soon(closed).await.unwrap(), 0);
}

#[tokio::test]
async fn dropping_the_call_closes_the_connection() {
    let (asked, heard) = tokio::sync::oneshot::channel();
    let (addr, closed) = once(|mut socket| async move {
        read_request(&mut socket).await.unwrap();
        asked.send(()).unwrap();
        socket.read(&mut [0; 1]).await.map_or(0, |n| n)
    })
    .await;
    let client = client();
    let call = tokio::spawn(client.request(get(format!("http://{addr}/"))));
    heard.await.unwrap();
    call.abort();
    assert_eq!(soon(closed).await.unwrap(), 0);
}
