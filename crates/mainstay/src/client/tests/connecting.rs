//! What can go wrong before there is a connection.

use super::{super::*, server::*, *};
use http::Request;
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, HttpClassifier, Sent, Vote},
};
use tokio::{
    io::AsyncReadExt,
    time::{Duration, Instant},
};

#[tokio::test]
async fn refused_says_so_and_nothing_was_sent() {
    let addr = closed_port().await;
    let error = client().request(get(format!("http://{addr}/"))).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Refused);
    assert_eq!(error.to_string(), format!("connection refused ({addr})"));
    assert_eq!(error.sent(), Sent::No);

    let boxed: BoxError = error.into();
    let verdict = HttpClassifier::new().error(&*boxed);
    assert_eq!((verdict.class, verdict.sent, verdict.vote()), (Class::Transport, Sent::No, Vote::Failure));
    assert_eq!(verdict.code.as_deref(), Some("upstream_unreachable"));
    assert_eq!(verdict.status.unwrap(), 502);
}

#[tokio::test]
async fn a_name_that_is_not_resolved_is_named() {
    let client = builder().connect_timeout(None).build().unwrap();
    let error = client.request(get("https://nosuch.invalid/v1?key=secret")).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Dns, "{}", everything(&error));
    assert_eq!(error.to_string(), "name not resolved: nosuch.invalid");
    assert_eq!(error.sent(), Sent::No);
}

#[tokio::test]
async fn no_error_says_the_path_or_the_query() {
    let addr = closed_port().await;
    let hung_up = listen(|_, mut socket| async move { drop(read_request(&mut socket).await) }).await;
    for url in [
        format!("http://{addr}/private?key=secret"),
        format!("https://{addr}/private?key=secret"),
        format!("http://{hung_up}/private?key=secret"),
        "http://user:secret@127.0.0.1/private".to_owned(),
        "/private?key=secret".to_owned(),
    ] {
        let error = client().request(get(&url)).await.unwrap_err();
        let said = everything(&error);
        assert!(!said.contains("secret") && !said.contains("private"), "{url}: {said}");
    }
}

#[tokio::test]
async fn a_peer_that_never_answers_tls_is_given_up_in_time() {
    let (addr, peer) = once(|mut socket| async move {
        let mut first = [0; 1];
        socket.read_exact(&mut first).await.unwrap();
        // Until the client gives up; then what the rest of its hello was.
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest).await;
        first[0]
    })
    .await;
    let client = builder().connect_timeout(Duration::from_millis(200)).build().unwrap();
    let begun = Instant::now();
    let error = client.request(get(format!("https://{addr}/"))).await.unwrap_err();
    let took = begun.elapsed();

    assert_eq!(error.kind(), ClientErrorKind::ConnectTimeout);
    assert_eq!(error.to_string(), format!("no connection within 200ms ({addr})"));
    assert!(took >= Duration::from_millis(200) && took < Duration::from_secs(5), "{took:?}");
    assert_eq!(soon(peer).await.unwrap(), 0x16, "it was in the TLS handshake");

    let verdict = HttpClassifier::new().error(&error);
    assert_eq!((verdict.class, verdict.sent), (Class::Timeout, Sent::No));
    assert_eq!((verdict.status.unwrap().as_u16(), verdict.code.as_deref()), (504, Some("connect_timeout")));
}

#[tokio::test]
async fn the_connect_timeout_does_not_run_on_after_the_connection() {
    let (addr, server) = once(|mut socket| async move {
        read_request(&mut socket).await.unwrap();
        tokio::time::sleep(Duration::from_millis(400)).await;
        tokio::io::AsyncWriteExt::write_all(&mut socket, OK.as_bytes()).await.unwrap();
    })
    .await;
    let client = builder().connect_timeout(Duration::from_millis(200)).build().unwrap();
    let response = client.request(get(format!("http://{addr}/"))).await.unwrap();
    assert_eq!(text(response).await, "ok");
    server.await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_without_a_connection() {
    let refused = [
        Request::get("/relative"),
        Request::get("ftp://127.0.0.1/"),
        Request::get("http://user:password@127.0.0.1/"),
        Request::builder().method("CONNECT").uri("127.0.0.1:9"),
    ];
    for request in refused {
        let error = client().request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ClientErrorKind::InvalidRequest, "{error}");
        assert_eq!(error.verdict().class, Class::InvalidRequest);
        assert_eq!(error.sent(), Sent::No);
    }
}

#[test]
fn numbers_out_of_range_are_refused_by_name() {
    for (name, built) in
        [("h2_connections", builder().h2_connections(0)), ("h2_streams", builder().h2_streams(0))]
    {
        assert!(built.build().unwrap_err().to_string().starts_with(name));
    }
}
