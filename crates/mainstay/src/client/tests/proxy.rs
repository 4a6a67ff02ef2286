//! Requests through proxies, and around them.

use super::{super::*, server::*, *};
use http::Version;
use mainstay_layers::classify::Sent;
use std::net::SocketAddr;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::TcpStream,
    sync::mpsc,
    time::Duration,
};

/// A proxy that reports each CONNECT and opens the tunnel to `target`, whatever was asked for.
async fn tunnels_to(target: SocketAddr) -> (SocketAddr, mpsc::Receiver<String>) {
    let (seen, asked) = mpsc::channel(8);
    let addr = listen(move |_, mut socket| {
        let seen = seen.clone();
        async move {
            seen.send(read_request(&mut socket).await.unwrap()).await.unwrap();
            let mut server = TcpStream::connect(target).await.unwrap();
            socket.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
            let _ = copy_bidirectional(&mut socket, &mut server).await;
        }
    })
    .await;
    (addr, asked)
}

#[tokio::test]
async fn https_goes_through_a_tunnel_with_the_proxys_credentials() {
    let ca = Ca::new();
    let acceptor = ca.acceptor(&[]);
    let server = listen(move |_, socket| {
        let acceptor = acceptor.clone();
        async move {
            let mut tls = acceptor.accept(socket).await.unwrap();
            let request = read_request(&mut tls).await.unwrap();
            assert!(!request.to_lowercase().contains("proxy-authorization"), "{request}");
            tls.write_all(OK.as_bytes()).await.unwrap();
        }
    })
    .await;
    let (proxy, mut asked) = tunnels_to(server).await;
    let client = Client::builder()
        .proxy(Proxy::new(format!("http://Aladdin:opensesame@{proxy}")))
        .add_root_pem_file(ca.pem.path())
        .build()
        .unwrap();

    let response = client.request(get("https://localhost/")).await.unwrap();
    assert!(connection(&response).is_proxied());
    assert_eq!(text(response).await, "ok");
    let connect = asked.recv().await.unwrap();
    assert!(connect.starts_with("CONNECT localhost:443 HTTP/1.1\r\n"), "{connect}");
    assert!(connect.contains("Proxy-Authorization: Basic QWxhZGRpbjpvcGVuc2VzYW1l\r\n"), "{connect}");
}

#[tokio::test]
async fn cleartext_goes_to_the_proxy_in_absolute_form() {
    let (proxy, seen) = once(|mut socket| async move {
        let seen = read_request(&mut socket).await.unwrap();
        socket.write_all(OK.as_bytes()).await.unwrap();
        seen
    })
    .await;
    let client = Client::builder()
        .proxy(Proxy::default().with_http(format!("Aladdin:opensesame@{proxy}")))
        .build()
        .unwrap();
    let response = client.request(get("http://api.invalid/v1/models?x=1")).await.unwrap();
    assert_eq!(text(response).await, "ok");
    let seen = seen.await.unwrap();
    assert!(seen.starts_with("GET http://api.invalid/v1/models?x=1 HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("host: api.invalid\r\n"), "{seen}");
    assert!(seen.contains("proxy-authorization: Basic QWxhZGRpbjpvcGVuc2VzYW1l\r\n"), "{seen}");
}

#[tokio::test]
async fn http2_on_cleartext_goes_through_a_tunnel_to_the_right_port() {
    let server = listen(|_, socket| async move {
        let mut connection = ::h2::server::handshake(socket).await.unwrap();
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            respond.send_response(Response::new(()), true).unwrap();
        }
    })
    .await;
    let (proxy, mut asked) = tunnels_to(server).await;
    let client = Client::builder()
        .protocol(Protocol::Http2)
        .proxy(Proxy::new(format!("http://{proxy}")))
        .build()
        .unwrap();
    let response = client.request(get("http://api.invalid/")).await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    assert!(asked.recv().await.unwrap().starts_with("CONNECT api.invalid:80 "));
}

#[tokio::test]
async fn who_is_exempt_is_reached_directly_and_without_credentials() {
    let (server, seen) = once(|mut socket| async move {
        let seen = read_request(&mut socket).await.unwrap();
        socket.write_all(OK.as_bytes()).await.unwrap();
        seen
    })
    .await;
    let nobody = closed_port().await;
    let proxy = Proxy::new(format!("http://user:secret@{nobody}"));
    let client = Client::builder().proxy(proxy.with_no_proxy("other.corp, 127.0.0.0/8")).build().unwrap();
    let response = client.request(get(format!("http://{server}/"))).await.unwrap();
    assert!(!connection(&response).is_proxied());
    assert_eq!(text(response).await, "ok");
    let seen = seen.await.unwrap();
    assert!(seen.starts_with("GET / ") && !seen.contains("proxy-auth"), "{seen}");
}

#[tokio::test]
async fn a_proxy_that_is_not_there_or_refuses_is_named_without_its_credentials() {
    let closed = closed_port().await;
    let strict = listen(|_, socket| {
        answer_all(socket, "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
    })
    .await;
    for (proxy, reason) in [(closed, "connection refused"), (strict, "proxy authorization required")] {
        let client =
            Client::builder().proxy(Proxy::new(format!("http://user:secret@{proxy}"))).build().unwrap();
        let error = client.request(get("https://api.invalid/")).await.unwrap_err();
        assert_eq!((error.kind(), error.sent()), (ClientErrorKind::Proxy, Sent::No), "{error:?}");
        let said = everything(&error);
        assert!(error.to_string().starts_with(&format!("proxy {proxy}: ")), "{said}");
        assert!(said.contains(reason) && !said.contains("secret"), "{said}");
    }
}

#[tokio::test]
async fn a_proxy_that_never_opens_the_tunnel_is_given_up_in_time() {
    let silent = listen(|_, mut socket| async move {
        let _ = socket.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let client = Client::builder()
        .proxy(Proxy::new(format!("http://{silent}")))
        .connect_timeout(Duration::from_millis(200))
        .build()
        .unwrap();
    let error = soon(client.request(get("https://api.invalid/"))).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::ConnectTimeout, "{error:?}");
}

#[tokio::test]
async fn a_socks_proxy_resolves_the_name() {
    let (proxy, asked) = once(|mut socket| async move {
        let mut hello = [0; 3];
        socket.read_exact(&mut hello).await.unwrap();
        assert_eq!(hello, [5, 1, 0]);
        socket.write_all(&[5, 0]).await.unwrap();
        let mut head = [0; 5];
        socket.read_exact(&mut head).await.unwrap();
        assert_eq!(head[..4], [5, 1, 0, 3], "a name, not an address");
        let mut name = vec![0; head[4].into()];
        socket.read_exact(&mut name).await.unwrap();
        let port = socket.read_u16().await.unwrap();
        socket.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
        let request = read_request(&mut socket).await.unwrap();
        socket.write_all(OK.as_bytes()).await.unwrap();
        (String::from_utf8(name).unwrap(), port, request)
    })
    .await;
    let client = Client::builder().proxy(Proxy::new(format!("socks5://{proxy}"))).build().unwrap();
    assert_eq!(text(client.request(get("http://api.invalid/")).await.unwrap()).await, "ok");
    let (name, port, request) = soon(asked).await.unwrap();
    assert_eq!((name.as_str(), port), ("api.invalid", 80));
    assert!(request.starts_with("GET / HTTP/1.1\r\n"), "{request}");
}
