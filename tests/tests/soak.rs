//! After a long load of good and bad calls, streams that were cut and callers who left, nothing of it is left: no call that
//! counts as running, no connection of a caller, no memory that grows with what went through.
//!
//! The long form, on a release build: `cargo run --release -p mainstay-tests --example load -- soak`.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "in a test that is an assertion")]

use mainstay_testkit::{End, ScriptedProvider, Step, bodies};
use mainstay_tests::gateway::{Gateway, free_port};
use std::{collections::BTreeMap, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep},
};

/// What the provider does is the model's name.
fn provide(model: &str) -> Step {
    match model {
        "stream" => Step::sse(bodies::openai_chunks(["The ", "main", "stay."])),
        "cut" => Step::sse(bodies::openai_chunks(["The ", "main"]).into_iter().take(3)).ending(End::Reset),
        "hang" => Step::sse(bodies::openai_chunks(["The ", "main"]).into_iter().take(3)).ending(End::Hang),
        "refused" => Step::json(400, bodies::openai_error("invalid_request_error", None, "no")),
        "silent" => Step::stall(),
        _ => Step::json(200, bodies::openai_chat("The mainstay.")),
    }
}

/// One call on a connection of its own. Of what would never end it reads the beginning, and leaves.
async fn call(port: u16, model: &str) {
    let body = format!(
        r#"{{"model":"{model}","stream":{},"messages":[{{"role":"user","content":"hi"}}]}}"#,
        matches!(model, "stream" | "cut" | "hang" | "silent"),
    );
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut socket = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
    socket.write_all(format!("{head}{body}").as_bytes()).await.expect("sent");
    match model {
        "silent" => sleep(Duration::from_millis(5)).await,
        "hang" => drop(socket.read(&mut [0; 4096]).await),
        _ => drop(socket.read_to_end(&mut Vec::new()).await),
    }
}

async fn load(port: u16, rounds: usize) {
    const MODELS: [&str; 8] = ["plain", "stream", "plain", "cut", "plain", "hang", "refused", "silent"];
    let mut callers = JoinSet::new();
    for caller in 0..8 {
        callers.spawn(async move {
            for round in 0..rounds {
                for at in 0..MODELS.len() {
                    let model = MODELS.get((caller + round + at) % MODELS.len()).copied().unwrap_or("plain");
                    call(port, model).await;
                }
            }
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller.expect("a caller");
    }
}

/// How many calls count as running, at all targets.
async fn in_flight(gateway: &Gateway) -> u64 {
    let status = gateway.get("/status.json").await;
    let status = status.json().expect("JSON");
    let targets = status.get("targets").and_then(serde_json::Value::as_array).expect("targets");
    targets.iter().filter_map(|target| target.get("in_flight")?.as_u64()).sum()
}

/// Waits until nothing runs and the connections of callers are gone; ten seconds are a day here.
async fn settled(gateway: &Gateway, files: usize) {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let (running, open) = (in_flight(gateway).await, gateway.open_files().expect("files"));
        if running == 0 && open <= files {
            return;
        }
        assert!(Instant::now() < until, "{running} calls still run, {open} files are open, {files} are due");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_long_load() {
    let provider = ScriptedProvider::answering(|request| provide(&request.model().unwrap_or_default())).await;
    let provider = provider.expect("a provider");
    provider.keep(10);
    let port = free_port().await.expect("a port");
    // The circuit stays out of it: what is measured is the way through.
    let config = format!(
        r#"
[server]
listen = "127.0.0.1:{port}"
[providers.one]
kind = "openai"
base_url = "{}/v1"
proxy = "off"
retry.attempts = 1
breaker.failures = 1000000
[[routes]]
models = ["*"]
targets = ["one"]
"#,
        provider.url()
    );
    let gateway = Gateway::start(&config, port, &BTreeMap::new()).await.unwrap().unwrap();
    let idle = gateway.open_files().expect("files");

    load(port, 10).await;
    // Connections to the provider may be kept, one for each caller and some.
    settled(&gateway, idle + 20).await;
    let plateau = gateway.resident_mib().expect("memory");

    load(port, 40).await;
    settled(&gateway, idle + 20).await;
    let after = gateway.resident_mib().expect("memory");
    assert!(after < plateau * 1.2, "{after} MiB after 2560 calls more, {plateau} MiB before");
}
