//! Callers that read slowly, or nothing.

use crate::support::*;
use mainstay_testkit::{ScriptedProvider, Step, bodies};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::sleep,
};

/// A provider that streams as fast as it is let, and how much of it went out.
async fn flood() -> (u16, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sent, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, live) = (sent.clone(), open.clone());
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let (count, live) = (count.clone(), live.clone());
            live.fetch_add(1, Relaxed);
            tokio::spawn(async move {
                let _ = socket.read(&mut [0; 4096]).await;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                let _ = socket.write_all(head.as_bytes()).await;
                let text = "x".repeat(4000);
                let event = format!(
                    "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
                );
                while socket.write_all(event.as_bytes()).await.is_ok() {
                    count.fetch_add(event.len(), Relaxed);
                }
                live.fetch_sub(1, Relaxed);
            });
        }
    });
    (port, sent, open)
}

async fn at(port: u16) -> String {
    let provider = ScriptedProvider::start([Step::json(200, bodies::openai_chat("hello"))]).await.unwrap();
    config(&provider, "").replace(&provider.url(), &format!("http://127.0.0.1:{port}"))
}

/// What the buffers of the sockets on the way hold at most.
const BUFFERS: usize = 96 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_reads_nothing_holds_the_provider_back() {
    let (port, sent, _) = flood().await;
    let gateway = Gateway::start(&at(port).await).await;
    let mut socket = gateway.connect().await;
    socket.write_all(&chat(true)).await.unwrap();
    // Until it stands still.
    let mut before = 0;
    loop {
        sleep(Duration::from_millis(500)).await;
        let now = sent.load(Relaxed);
        assert!(now < BUFFERS, "{now} bytes went out to a caller that reads nothing");
        if now == before && now > 0 {
            break;
        }
        before = now;
    }
    // It goes on where the caller does.
    let mut buffer = vec![0; 1 << 20];
    while sent.load(Relaxed) == before {
        socket.read_exact(&mut buffer).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_reads_nothing_for_too_long_is_let_go() {
    let (port, _, open) = flood().await;
    let gateway =
        Gateway::with(&at(port).await, |bounds| bounds.write_idle = Duration::from_millis(500)).await;
    let mut stuck = gateway.connect().await;
    stuck.write_all(&chat(true)).await.unwrap();
    // One that reads a little, often enough, stays.
    let mut slow = gateway.connect().await;
    slow.write_all(&chat(true)).await.unwrap();
    let mut buffer = vec![0; 1 << 20];
    let start = tokio::time::Instant::now();
    while gateway.gauge("mainstay_requests_in_flight").await != 1 || open.load(Relaxed) != 1 {
        assert!(start.elapsed() < LONG, "the caller is still there");
        slow.read_exact(&mut buffer).await.unwrap();
        sleep(Duration::from_millis(50)).await;
    }
    slow.read_exact(&mut buffer).await.unwrap();
    drop(slow);
    gateway.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_reads_the_socket_and_grants_no_window_is_let_go_too() {
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let (port, _, open) = flood().await;
    let gateway =
        Gateway::with(&at(port).await, |bounds| bounds.write_idle = Duration::from_millis(500)).await;
    let io = TokioIo::new(gateway.connect().await);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    let connection = tokio::spawn(connection);
    let body = http_body_util::Full::new(bytes::Bytes::from_static(b"{\"model\":\"m\",\"stream\":true}"));
    let request = http::Request::post(format!("http://gateway{CHAT}")).body(body).unwrap();
    let _unread = sender.send_request(request).await.unwrap();
    // It ends, well or not.
    let _ = tokio::time::timeout(LONG, connection).await.unwrap().unwrap();
    gateway.quiet().await;
    let start = tokio::time::Instant::now();
    while open.load(Relaxed) > 0 {
        assert!(start.elapsed() < LONG);
        sleep(Duration::from_millis(10)).await;
    }
}
