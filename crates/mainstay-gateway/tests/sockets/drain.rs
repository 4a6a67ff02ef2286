//! The end: unready at once, told to leave, given time, and then gone.

use crate::support::*;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mainstay_testkit::{ScriptedProvider, Step, bodies};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep},
};

async fn slow(time: Duration) -> ScriptedProvider {
    ScriptedProvider::start([Step::json(200, bodies::openai_chat("hello")).after(time)]).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_asks_while_it_drains_hears_no_and_running_calls_end_well() {
    let provider = slow(Duration::from_secs(2)).await;
    let mut gateway = Gateway::start(&config(&provider, "drain = \"20s\"")).await;
    assert_eq!(gateway.talk(get("/readyz")).await.status, 200);
    let mut call = gateway.connect().await;
    call.write_all(&chat(false)).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    let start = Instant::now();
    gateway.stop();
    sleep(Duration::from_millis(100)).await;
    for _ in 0..3 {
        // Kept alive or not.
        let asked = if start.elapsed().as_millis() % 2 == 0 {
            get("/readyz")
        } else {
            get("/readyz").replace("close", "keep-alive")
        };
        let reply = gateway.talk(asked).await;
        assert_eq!((reply.status, reply.header("connection")), (503, Some("close")), "{reply:?}");
    }
    assert_eq!(read_all(&mut call).await.json(), bodies::openai_chat("hello"));
    gateway.ended().await;
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "it is away when the last call is: {:?}",
        start.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_say_nothing_do_not_hold_the_drain_up() {
    let provider = slow(Duration::ZERO).await;
    let mut gateway = Gateway::start(&config(&provider, "drain = \"20s\"")).await;
    let _silent = gateway.connect().await;
    let mut half = gateway.connect().await;
    half.write_all(b"GET /healthz HT").await.unwrap();
    let mut kept = gateway.connect().await;
    kept.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").await.unwrap();
    kept.read_exact(&mut [0; 12]).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    let start = Instant::now();
    gateway.stop();
    gateway.ended().await;
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_connection_that_speaks_only_now_is_answered_and_told_to_close() {
    let provider = slow(Duration::from_millis(100)).await;
    let mut gateway = Gateway::start(&config(&provider, "drain = \"20s\"")).await;
    let mut socket = gateway.connect().await;
    sleep(Duration::from_millis(100)).await;
    gateway.stop();
    sleep(Duration::from_millis(200)).await;
    let request = String::from_utf8(chat(false)).unwrap().replace("connection: close\r\n", "");
    socket.write_all(request.as_bytes()).await.unwrap();
    let reply = read_all(&mut socket).await;
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")), "{reply:?}");
    gateway.ended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_the_end_of_the_drain_what_runs_is_told_and_ended() {
    let provider = ScriptedProvider::start([Step::stall()]).await.unwrap();
    let mut gateway = Gateway::start(&config(&provider, "drain = \"300ms\"")).await;
    let mut call = gateway.connect().await;
    call.write_all(&chat(false)).await.unwrap();
    // One in the middle of its upload.
    let mut upload = gateway.connect().await;
    let request = chat(false);
    upload.write_all(&request[..request.len() - 3]).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    let start = Instant::now();
    gateway.stop();
    for socket in [&mut call, &mut upload] {
        let reply = read_all(socket).await;
        assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (503, Some("shutting_down")));
    }
    gateway.ended().await;
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

/// Whoever is connected when the last call ends has been told by nobody that nobody listens any more.
#[tokio::test]
async fn connections_that_were_not_accepted_yet_hear_no_as_well() {
    let provider = slow(Duration::ZERO).await;
    let mut gateway = Gateway::start(&config(&provider, "drain = \"20s\"")).await;
    // Connected by the system alone: on its one thread this test gives the gateway no turn in between.
    let connect = || {
        let socket = std::net::TcpStream::connect(gateway.address).unwrap();
        socket.set_nonblocking(true).unwrap();
        TcpStream::from_std(socket).unwrap()
    };
    let (mut http1, http2) = (connect(), connect());
    gateway.stop();
    http1.write_all(get("/readyz").as_bytes()).await.unwrap();
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(http2)).await.unwrap();
    let connection = tokio::spawn(connection);
    let readyz = Request::get("http://gateway/readyz").body(Full::<Bytes>::default()).unwrap();
    assert_eq!(sender.send_request(readyz).await.unwrap().status(), 503);
    assert_eq!(read_all(&mut http1).await.status, 503);
    gateway.ended().await;
    connection.await.unwrap().unwrap();
}
