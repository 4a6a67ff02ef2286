//! Certificates and ALPN.

use super::{super::*, server::*, *};
use http::Version;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use mainstay_layers::classify::{Class, Sent};
use std::{convert::Infallible, io::Write, net::SocketAddr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A TLS server that answers with the version it was asked in.
async fn https(ca: &Ca, alpn: &[&[u8]]) -> SocketAddr {
    let acceptor = ca.acceptor(alpn);
    listen(move |_, socket| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(tls) = acceptor.accept(socket).await else { return };
            let service = service_fn(|request: http::Request<Incoming>| async move {
                let version = format!("{:?}", request.version());
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(version)))
            });
            let _ =
                auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(tls), service).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_private_ca_is_trusted_when_its_file_is_given_and_alpn_chooses_http2() {
    let ca = Ca::new();
    let addr = https(&ca, &[b"h2", b"http/1.1"]).await;
    let url = format!("https://localhost:{}/", addr.port());
    let trusting = || builder().add_root_pem_file(ca.pem.path());

    let response = trusting().build().unwrap().request(get(&url)).await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    assert_eq!(text(response).await, "HTTP/2.0");

    let http1 = trusting().protocol(Protocol::Http1).webpki_roots(false).build().unwrap();
    assert_eq!(text(http1.request(get(&url)).await.unwrap()).await, "HTTP/1.1");
}

#[tokio::test]
async fn a_server_that_offers_http1_alone_gets_http1() {
    let ca = Ca::new();
    for alpn in [&[b"http/1.1".as_slice()] as &[&[u8]], &[]] {
        let addr = https(&ca, alpn).await;
        let client = builder().add_root_pem_file(ca.pem.path()).build().unwrap();
        let response = client.request(get(format!("https://localhost:{}/", addr.port()))).await.unwrap();
        assert_eq!(text(response).await, "HTTP/1.1");
    }
}

#[tokio::test]
async fn calls_in_parallel_to_a_cold_http2_origin_end_on_one_connection() {
    let ca = Ca::new();
    let addr = https(&ca, &[b"h2"]).await;
    let client = builder().add_root_pem_file(ca.pem.path()).build().unwrap();
    let url = format!("https://localhost:{}/", addr.port());
    let mut used = std::collections::HashSet::new();
    for round in 0..2 {
        used.clear();
        let calls: Vec<_> = (0..10).map(|_| tokio::spawn(client.request(get(&url)))).collect();
        for call in calls {
            let response = soon(call).await.unwrap().unwrap();
            used.insert(connection(&response).id());
            assert_eq!(text(response).await, "HTTP/2.0", "round {round}");
        }
        settle().await;
    }
    assert_eq!(used.len(), 1);
}

#[tokio::test]
async fn a_certificate_is_refused_in_words() {
    let ca = Ca::new();
    let addr = https(&ca, &[]).await;
    let untrusting = client();
    let trusting = builder().add_root_pem_file(ca.pem.path()).build().unwrap();
    for (client, host, said) in [
        (&untrusting, "localhost", "TLS: certificate not trusted: unknown issuer (localhost)"),
        (&trusting, "127.0.0.1", "TLS: certificate is for another name (127.0.0.1)"),
    ] {
        let error = client.request(get(format!("https://{host}:{}/", addr.port()))).await.unwrap_err();
        assert_eq!(error.kind(), ClientErrorKind::Tls, "{error:?}");
        assert_eq!(error.to_string(), said);
        assert_eq!((error.sent(), error.verdict().class), (Sent::No, Class::Transport));
    }
}

#[tokio::test]
async fn tls_to_a_plain_port_says_that_it_is_no_tls() {
    let addr = listen(|_, mut socket| async move {
        let _ = socket.read_u8().await;
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
        let _ = socket.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let error = client().request(get(format!("https://{addr}/"))).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Tls, "{error:?}");
    assert_eq!(error.to_string(), "TLS: the server does not speak TLS (127.0.0.1)");
}

#[tokio::test]
async fn a_connection_that_closes_in_the_handshake_is_a_failure_of_tls() {
    let addr = listen(|_, mut socket| async move {
        // The whole hello, or closing would be a reset.
        let mut header = [0; 5];
        socket.read_exact(&mut header).await.unwrap();
        let mut hello = vec![0; u16::from_be_bytes([header[3], header[4]]).into()];
        socket.read_exact(&mut hello).await.unwrap();
    })
    .await;
    let error = client().request(get(format!("https://{addr}/"))).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Tls, "{}", everything(&error));
    assert_eq!(error.to_string(), "TLS: connection closed in the handshake (127.0.0.1)");
}

#[test]
fn a_root_file_that_cannot_be_used_is_named_with_the_reason() {
    let missing = builder().add_root_pem_file("no/such/ca.pem").build().unwrap_err().to_string();
    assert!(missing.contains("no/such/ca.pem") && missing.contains("No such file"), "{missing}");

    let write = |text: &str| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    };
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let cut = "-----BEGIN CERTIFICATE-----\nAAAA\n";
    for (content, reason) in
        [("", "no certificate"), ("hello", "no certificate"), (garbage, "certificate 1"), (cut, "")]
    {
        let file = write(content);
        let said = builder().add_root_pem_file(file.path()).build().unwrap_err().to_string();
        assert!(said.contains(file.path().to_str().unwrap()) && said.contains(reason), "{said}");
    }
}

#[test]
fn a_client_that_would_trust_nobody_is_refused() {
    assert_eq!(builder().webpki_roots(false).build().unwrap_err(), BuildError::NoRoots);
}

#[cfg(feature = "native-roots")]
#[test]
fn the_systems_roots_load_or_say_why_not() {
    match builder().webpki_roots(false).native_roots(true).build() {
        Ok(_) => {}
        Err(error) => assert!(matches!(error, BuildError::NativeRoots { .. }), "{error}"),
    }
}
