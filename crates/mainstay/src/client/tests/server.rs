//! Servers for the tests.

use super::super::connect::ConnectionInfo;
use http::Response;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls_pki_types::PrivateKeyDer;
use std::{future::Future, io::Write, net::SocketAddr, sync::Arc};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Accepts for ever; each connection is given to `serve` with its number, from 0.
pub(super) async fn listen<F>(serve: impl Fn(usize, TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for n in 0.. {
            let (socket, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(n, socket));
        }
    });
    addr
}

/// Accepts one connection and returns what `serve` makes of it.
pub(super) async fn once<T, F>(
    serve: impl FnOnce(TcpStream) -> F + Send + 'static,
) -> (SocketAddr, JoinHandle<T>)
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let done = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        serve(socket).await
    });
    (addr, done)
}

/// A port on which nothing listens.
pub(super) async fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// Reads a request with its body (by `content-length`); `None` at the end of the connection.
pub(super) async fn read_request(socket: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                return Some(text);
            }
        }
        match socket.read_buf(&mut read).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// Answers every request on the connection with `reply`.
pub(super) async fn answer_all(mut socket: TcpStream, reply: &'static str) {
    while read_request(&mut socket).await.is_some() {
        if socket.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

pub(super) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

pub(super) fn connection<B>(response: &Response<B>) -> ConnectionInfo {
    response.extensions().get::<ConnectionInfo>().unwrap().clone()
}

/// A private CA with one certificate for `localhost`.
pub(super) struct Ca {
    pub(super) pem: NamedTempFile,
    server: rustls::ServerConfig,
}

impl Ca {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf =
            CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &ca).unwrap();

        let mut pem = NamedTempFile::new().unwrap();
        pem.write_all(ca.pem().as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
            .unwrap();
        Self { pem, server }
    }

    pub(super) fn acceptor(&self, alpn: &[&[u8]]) -> tokio_rustls::TlsAcceptor {
        let mut config = self.server.clone();
        config.alpn_protocols = alpn.iter().map(|p| p.to_vec()).collect();
        Arc::new(config).into()
    }
}
