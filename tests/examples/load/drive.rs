//! The callers: each a connection of its own, one request after the other.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use std::{net::SocketAddr, time::Duration};
use tokio::{net::TcpStream, task::JoinHandle, time::Instant};

/// One connection.
pub(crate) struct Caller {
    address: SocketAddr,
    sender: http1::SendRequest<Full<Bytes>>,
    connection: JoinHandle<()>,
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Caller {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).await.expect("a connection");
        socket.set_nodelay(true).expect("no delay");
        let (sender, connection) = http1::handshake(TokioIo::new(socket)).await.expect("a connection");
        let connection = tokio::spawn(async move { drop(connection.await) });
        Self { address, sender, connection }
    }

    /// Sends a call as an SDK does.
    pub(crate) async fn send(&mut self, body: Bytes) -> Response<Incoming> {
        let request = Request::post("/v1/chat/completions")
            .header("host", self.address.to_string())
            .header("accept", "application/json")
            .header("accept-encoding", "gzip, deflate")
            .header("authorization", "Bearer sk-0123456789abcdef0123456789abcdef")
            .header("content-type", "application/json")
            .header("user-agent", "OpenAI/Python 1.99.1")
            .header("x-stainless-arch", "x64")
            .header("x-stainless-lang", "python")
            .header("x-stainless-os", "Linux")
            .header("x-stainless-retry-count", "0")
            .header("x-stainless-runtime", "CPython")
            .body(Full::new(body))
            .expect("a request");
        self.sender.ready().await.expect("a connection that lives");
        let response = self.sender.send_request(request).await.expect("a reply");
        assert_eq!(response.status(), 200);
        response
    }

    /// What stands at a path.
    pub(crate) async fn get(&mut self, path: &str) -> Bytes {
        let request = Request::get(path).header("host", self.address.to_string());
        let request = request.body(Full::default()).expect("a request");
        let reply = self.sender.send_request(request).await.expect("a reply");
        reply.into_body().collect().await.expect("a body").to_bytes()
    }

    /// A whole call; how long it took.
    pub(crate) async fn call(&mut self, body: Bytes) -> Duration {
        let start = Instant::now();
        let reply = self.send(body).await;
        reply.into_body().collect().await.expect("a body");
        start.elapsed()
    }

    /// A whole stream; how long until its first event, and between those that follow.
    pub(crate) async fn stream(&mut self, body: Bytes) -> (Duration, Vec<Duration>) {
        let start = Instant::now();
        let mut body = self.send(body).await.into_body();
        let mut at = start;
        let mut gaps = Vec::new();
        while let Some(frame) = body.frame().await {
            drop(frame.expect("a frame"));
            let now = Instant::now();
            gaps.push(now - at);
            at = now;
        }
        let first = gaps.first().copied().expect("an event");
        // The last two come together, or with the end.
        (first, gaps.drain(1..).collect())
    }
}

/// A call that is no stream.
pub(crate) fn plain() -> Bytes {
    Bytes::from_static(br#"{"messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"Name the three largest moons of Saturn, and say for each when it was found and by whom."}],"model":"gpt-4o-mini","temperature":0.2,"max_tokens":256}"#)
}

/// A stream of so many events, so many milliseconds apart; 0 leaves it open after the first.
pub(crate) fn streaming(events: usize, gap: usize) -> Bytes {
    format!(r#"{{"messages":[{{"role":"user","content":"Name the three largest moons of Saturn."}}],"model":"gpt-4o-mini","stream":true,"max_tokens":{events},"seed":{gap}}}"#).into()
}

/// A stream of a word and an end, a few milliseconds apart, of which the first comes so many milliseconds after the head.
pub(crate) fn delayed(delay: usize) -> Bytes {
    format!(r#"{{"messages":[{{"role":"user","content":"Name the three largest moons of Saturn."}}],"model":"gpt-4o-mini","stream":true,"max_tokens":2,"seed":2,"delay":{delay}}}"#).into()
}

/// A stream of so many bytes, as fast as they are taken.
pub(crate) fn flood(bytes: u64) -> Bytes {
    format!(r#"{{"messages":[{{"role":"user","content":"Count."}}],"model":"gpt-4o-mini","stream":true,"flood":{bytes}}}"#).into()
}

/// The value below which the share `part` of them lies; they are sorted.
pub(crate) fn quantile(sorted: &[Duration], part: f64) -> Duration {
    let at = (sorted.len() as f64 * part) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// The middle one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// In microseconds.
pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
