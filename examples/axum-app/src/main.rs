//! An axum app with routes of its own that calls two providers through its own stack.
//!
//! Shows a classify policy of one's own, a log layer that is there twice (outside the retry it says what became of calls,
//! inside what became of tries), the circuits on `/health`, and errors that become responses in one place. The stack is
//! in `lib.rs`. The providers are those of the demo: `limited` asks every second call to wait for a second, `flaky` fails
//! twice and then answers, `down` has nobody listening.
//!
//! `cargo run -p example-axum-app` prints
//!
//! ```text
//! POST /ask
//!   try limited: rate_limited
//! call limited: rate_limited
//!   try flaky: overloaded
//!   try flaky: overloaded
//!   try flaky: success
//! call flaky: success
//! 200 from flaky: Hello from the demo. You asked demo, and this answer came through.
//! POST /ask, as a stream
//!   try limited: success
//! call limited: success
//! 200 from limited: 15 events
//! GET /health
//! 200 {"circuits":{"flaky":"closed","limited":"closed"}}
//! Two calls more, where the only provider is down
//!   try down: transport
//!   try down: transport
//!   try down: transport
//! call down: transport
//! 502 {"code":"upstream_unreachable"}
//!   try down: transport
//!   try down: transport
//!   try down: rejected
//! call down: transport
//! 502 {"code":"upstream_unreachable"}
//! GET /health
//! 503 {"circuits":{"down":"open"}}
//! ```
//!
//! `cargo run -p example-axum-app -- serve` goes on serving on <http://127.0.0.1:8091>.

use axum::{Router, body::Bytes, http::Request};
use example_axum_app::{Provider, app, log::Sink};
use http_body_util::{BodyExt, Full};
use mainstay::{BoxError, client::Client};
use mainstay_testkit::demo::DemoProviders;
use serde_json::{Value, json};
use std::{net::Ipv4Addr, sync::Arc};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let demo = DemoProviders::start().await?;
    let client = Client::new()?;
    let sink: Sink = Arc::new(|line| println!("{line}"));
    let provider = |name, base_url| Provider::new(name, base_url, client.clone(), &sink);
    let two = app([provider("limited", demo.limited.base_url())?, provider("flaky", demo.flaky.base_url())?]);
    if std::env::args().nth(1).as_deref() == Some("serve") {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 8091)).await?;
        println!("serving on http://{}", listener.local_addr()?);
        return Ok(axum::serve(listener, two).await?);
    }

    let two = start(two).await?;
    println!("POST /ask");
    let (head, answer) = call(&client, format!("{two}/ask"), json!({"question": "hi"})).await?;
    let answer: Value = serde_json::from_str(&answer)?;
    println!(
        "{head}: {}",
        answer.pointer("/choices/0/message/content").and_then(Value::as_str).unwrap_or_default()
    );
    println!("POST /ask, as a stream");
    let (head, answer) =
        call(&client, format!("{two}/ask"), json!({"question": "hi", "stream": true})).await?;
    println!("{head}: {} events", answer.matches("data: ").count());
    println!("GET /health");
    let (head, states) = call(&client, format!("{two}/health"), Value::Null).await?;
    println!("{head} {states}");

    println!("Two calls more, where the only provider is down");
    let one = start(app([provider("down", demo.down.base_url())?])).await?;
    for _ in 0..2 {
        let (head, error) = call(&client, format!("{one}/ask"), json!({"question": "hi"})).await?;
        let error: Value = serde_json::from_str(&error)?;
        println!("{head} {}", json!({"code": error.pointer("/error/code")}));
    }
    println!("GET /health");
    let (head, states) = call(&client, format!("{one}/health"), Value::Null).await?;
    println!("{head} {states}");
    Ok(())
}

/// The app on a free port, in a task of its own.
async fn start(app: Router) -> Result<String, BoxError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(url)
}

/// Someone who uses the app: status and provider, and the body.
async fn call(client: &Client, url: String, body: Value) -> Result<(String, String), BoxError> {
    let method = if body.is_null() { "GET" } else { "POST" };
    let request = Request::builder()
        .method(method)
        .uri(url)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))?;
    let reply = client.request(request).await?;
    let from = reply.headers().get("x-provider").and_then(|name| name.to_str().ok());
    let head = from.map_or(String::new(), |name| format!(" from {name}"));
    let head = format!("{}{head}", reply.status().as_u16());
    let body = reply.into_body().collect().await?.to_bytes();
    Ok((head, String::from_utf8_lossy(&body).into_owned()))
}
