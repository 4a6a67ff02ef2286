//! A gateway inside the test, and a client on a raw socket.

#![allow(unreachable_pub)]

use mainstay_gateway::{
    app::App,
    config::Config,
    server::{Server, ServerConfig},
};
use mainstay_testkit::ScriptedProvider;
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

/// Nothing that is tested takes longer.
pub const LONG: Duration = Duration::from_secs(20);

/// A gateway that serves.
pub struct Gateway {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
}

/// The providers' part of a configuration: `a` is OpenAI's kind, `b` Anthropic's, both at `provider`, without retries.
pub fn config(provider: &ScriptedProvider, server: &str) -> String {
    let url = provider.url();
    format!(
        r#"
[server]
{server}
[defaults.retry]
attempts = 1
[providers.a]
kind = "openai"
base_url = "{url}/v1"
[providers.b]
kind = "anthropic"
base_url = "{url}"
[[routes]]
models = ["claude*"]
targets = ["b"]
[[routes]]
models = ["*"]
targets = ["a"]
"#
    )
}

impl Gateway {
    pub async fn start(config: &str) -> Self {
        Self::with(config, |_| {}).await
    }

    pub async fn with(config: &str, change: impl FnOnce(&mut ServerConfig)) -> Self {
        let config = Config::parse(config, "test.toml", &|_| None).unwrap_or_else(|error| panic!("{error}"));
        let mut bounds = ServerConfig {
            header_timeout: config.server.header_timeout,
            max_connections: config.server.max_connections,
            max_headers: config.server.max_headers,
            drain: config.server.drain,
            ..ServerConfig::default()
        };
        change(&mut bounds);
        let app = App::new(&config).expect("the configuration can be carried out");
        let server = Server::bind(([127, 0, 0, 1], 0).into(), app, bounds).await.expect("a free port");
        let address = server.address().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(server.run(async move {
            // The sender that is gone says stop too.
            let _ = stopped.await;
        }));
        Self { address, stop: Some(stop), running }
    }

    /// Begins the drain.
    pub fn stop(&mut self) {
        self.stop.take();
    }

    /// Waits until it is down.
    pub async fn ended(self) {
        timeout(LONG, self.running).await.expect("it ends").expect("it does not panic");
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("it accepts")
    }

    /// Sends these bytes and reads until the connection ends.
    pub async fn talk(&self, bytes: impl AsRef<[u8]>) -> Reply {
        let mut socket = self.connect().await;
        // It may have heard enough before all was sent.
        let _ = socket.write_all(bytes.as_ref()).await;
        read_all(&mut socket).await
    }

    /// The value of a metric without labels.
    pub async fn gauge(&self, name: &str) -> i64 {
        let metrics = self.talk(get("/metrics")).await.body;
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().expect("a number")
    }

    /// Waits until no request is under way any more.
    pub async fn quiet(&self) {
        let start = Instant::now();
        while self.gauge("mainstay_requests_in_flight").await != 0 {
            assert!(start.elapsed() < LONG, "requests are still in flight");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// What came back on a connection.
#[derive(Debug)]
pub struct Reply {
    /// Zero where there was none.
    pub status: u16,
    /// In lower case.
    pub head: String,
    pub body: String,
    pub raw: Vec<u8>,
    /// The connection was reset before it ended.
    pub reset: bool,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub async fn read_all(socket: &mut TcpStream) -> Reply {
    let mut raw = Vec::new();
    let ended = timeout(LONG, socket.read_to_end(&mut raw)).await.expect("the connection ends");
    reply(raw, ended.is_err())
}

fn reply(raw: Vec<u8>, reset: bool) -> Reply {
    let at = raw.windows(4).position(|four| four == b"\r\n\r\n").map_or(raw.len(), |at| at + 4);
    let (head, body) = raw.split_at(at);
    let head = String::from_utf8_lossy(head).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = if head.contains("transfer-encoding: chunked") { unchunk(body) } else { body.to_vec() };
    Reply { status, head, body: String::from_utf8_lossy(&body).into_owned(), raw, reset }
}

/// The body without its framing; as far as it goes.
pub fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(at) = rest.windows(2).position(|two| two == b"\r\n") {
        let size =
            std::str::from_utf8(&rest[..at]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(size) = size.filter(|size| *size > 0) else { break };
        let end = (at + 2 + size).min(rest.len());
        out.extend_from_slice(&rest[at + 2..end]);
        rest = rest.get(end + 2..).unwrap_or_default();
    }
    out
}

pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
}

pub fn post(path: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut head =
        format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

pub const CHAT: &str = "/v1/chat/completions";

pub fn chat(stream: bool) -> Vec<u8> {
    post(CHAT, &[], format!(r#"{{"model":"m","messages":[],"stream":{stream}}}"#).as_bytes())
}
