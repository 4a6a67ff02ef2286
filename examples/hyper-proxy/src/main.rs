//! A reverse proxy on hyper that has all the layers, in front of the scripted providers of the demo.
//!
//! Shows the layers between a server and a client, neither of which knows them: `proxy.rs` is all there is to it. The
//! provider `flaky` fails twice before it answers, and `down` has nobody listening.
//!
//! `cargo run -p example-hyper-proxy` prints
//!
//! ```text
//! flaky: 200, asked 3 times: Hello from the demo. You asked demo, and this answer came through.
//! down, call 1: 502 after 3 tries, attempts
//! down, call 2: 502 after 2 tries, rejected
//! down, call 3: 503 after 0 tries, rejected
//! ```
//!
//! With a URL it goes on serving, in front of whatever speaks OpenAI's API there:
//! `cargo run -p example-hyper-proxy -- http://127.0.0.1:8000/v1`.

mod proxy;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use mainstay::{BoxError, client::Client};
use mainstay_testkit::demo::DemoProviders;
use std::net::Ipv4Addr;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    if let Some(upstream) = std::env::args().nth(1) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 8090)).await?;
        println!("http://{} is a proxy for {upstream}", listener.local_addr()?);
        return proxy::serve(listener, &upstream.parse()?).await;
    }

    let demo = DemoProviders::start().await?;
    let flaky = start(demo.flaky.base_url()).await?;
    let (status, answer) = ask(&flaky).await?;
    let answer: serde_json::Value = serde_json::from_str(&answer)?;
    let words = answer.pointer("/choices/0/message/content").and_then(|words| words.as_str());
    println!("flaky: {status}, asked {} times: {}", demo.flaky.calls(), words.unwrap_or_default());

    let down = start(demo.down.base_url()).await?;
    for call in 1..=3 {
        let (status, words) = ask(&down).await?;
        // "... (after 3 tries, attempts)", and where the circuit is open how long that lasts.
        let (_, tries) = words.rsplit_once('(').unwrap_or_default();
        let end = tries.find(", asked").or(tries.find(')')).unwrap_or(tries.len());
        println!("down, call {call}: {status} {}", tries.get(..end).unwrap_or_default());
    }
    Ok(())
}

/// A proxy on a free port, in a task of its own.
async fn start(upstream: &str) -> Result<String, BoxError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let upstream = upstream.parse()?;
    tokio::spawn(async move { proxy::serve(listener, &upstream).await });
    Ok(url)
}

/// A caller that knows nothing of all this.
async fn ask(proxy: &str) -> Result<(u16, String), BoxError> {
    let body = r#"{"model": "demo", "messages": [{"role": "user", "content": "hi"}]}"#;
    let request = Request::post(format!("{proxy}/v1/chat/completions"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(body.as_bytes())))?;
    let reply = Client::new()?.request(request).await?;
    let status = reply.status().as_u16();
    let answer = reply.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8_lossy(&answer).into_owned()))
}
