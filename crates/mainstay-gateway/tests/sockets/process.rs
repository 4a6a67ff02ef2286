//! The binary itself: what it logs, what it holds, how it ends.

use crate::support::*;
use mainstay_testkit::{End, ScriptedProvider, Step, bodies};
use serde_json::Value;
use std::{
    net::SocketAddr,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

struct Process {
    child: Child,
    address: SocketAddr,
    folder: TempDir,
}

impl Process {
    async fn start(config: &str, env: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mainstay.toml");
        std::fs::write(&file, config).unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_mainstay"))
            .args(["--log-format", "json", "--listen", "127.0.0.1:0", "--config"])
            .arg(file)
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut process = Self { child, address: ([127, 0, 0, 1], 0).into(), folder };
        let start = Instant::now();
        process.address = loop {
            let lines = process.lines();
            if let Some(line) = lines.iter().find(|line| line["fields"]["message"] == "listening") {
                break line["fields"]["address"].as_str().unwrap().parse().unwrap();
            }
            assert!(start.elapsed() < LONG, "it does not start: {}", process.log());
            sleep(Duration::from_millis(20)).await;
        };
        process
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path()).unwrap()).into_owned()
    }

    fn lines(&self) -> Vec<Value> {
        self.log().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The one line of each request, by the id that it was given.
    fn request(&self, id: &str) -> Value {
        let mut found: Vec<Value> = self.lines();
        found.retain(|line| line["target"] == "mainstay::request" && line["fields"]["id"] == id);
        assert_eq!(found.len(), 1, "{id}: {found:?}");
        found.remove(0)["fields"].clone()
    }

    async fn talk(&self, bytes: impl AsRef<[u8]>) -> Reply {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        // It may have heard enough before all was sent.
        let _ = socket.write_all(bytes.as_ref()).await;
        read_all(&mut socket).await
    }

    /// The most memory that it ever held, in MiB; Linux only.
    fn peak_mib(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
    }

    #[cfg(unix)]
    async fn signal(&self, signal: &str) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().await.unwrap().success());
    }

    #[cfg(unix)]
    async fn terminate(&mut self) -> ExitStatus {
        self.signal("-TERM").await;
        timeout(LONG, self.child.wait()).await.expect("it ends").unwrap()
    }
}

const SECRETS: [&str; 4] =
    ["our-own-key-1", "the-callers-key-2", "a-word-of-the-prompt-3", "a-word-of-the-answer-4"];

/// A call with everything secret in it.
fn call(id: &str, path: &str, model: &str, stream: bool) -> Vec<u8> {
    let [_, key, prompt, _] = SECRETS;
    let body = format!(
        r#"{{"model":"{model}","max_tokens":1,"messages":[{{"role":"user","content":"{prompt}"}}],"stream":{stream}}}"#
    );
    let id = format!("x-request-id: {id}");
    let (bearer, other) = (format!("authorization: Bearer {key}"), format!("cookie: {key}"));
    post(&format!("{path}?key={key}"), &[&id, &bearer, &other], body.as_bytes())
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_prompt_or_answer_is_in_any_log_and_each_request_has_its_line() {
    let [own, key, prompt, answer] = SECRETS;
    let error = |status| {
        Step::json(
            status,
            bodies::openai_error("auth", Some("bad_key"), &format!("{own} {key} {prompt} {answer}")),
        )
    };
    let chunks = bodies::openai_chunks([answer, answer]);
    let cut = chunks[..2].to_vec();
    let told = [
        cut.clone(),
        vec![format!("data: {{\"error\":{{\"message\":\"{own} {key} {answer}\",\"code\":500}}}}\n\n")],
    ]
    .concat();
    let provider = ScriptedProvider::by_model([
        ("whole", vec![Step::json(200, bodies::openai_chat(answer)).header("x-request-id", "theirs-1")]),
        ("stream", vec![Step::sse(chunks)]),
        ("cut", vec![Step::sse(cut).ending(End::Close)]),
        ("told", vec![Step::sse(told)]),
        ("refused", vec![error(401)]),
        ("ill", vec![error(503)]),
        ("page", vec![Step::text(200, "text/html", format!("<html>{answer}</html>"))]),
        ("silent", vec![Step::stall()]),
        ("claude", vec![Step::json(200, bodies::anthropic_message(answer))]),
    ])
    .await
    .unwrap();
    let config = config(&provider, "").replacen(
        "kind = \"openai\"",
        "kind = \"openai\"\napi_key_env = \"OUR_KEY\"",
        1,
    );
    let mut process = Process::start(&config, &[("OUR_KEY", own), ("RUST_LOG", "trace")]).await;

    for (id, model, stream, status, outcome) in [
        ("whole", "whole", false, 200, "success"),
        ("stream", "stream", true, 200, "success"),
        ("cut", "cut", true, 200, "stream_truncated"),
        ("told", "told", true, 200, "server_error"),
        ("refused", "refused", false, 401, "auth"),
        ("ill", "ill", true, 503, "overloaded"),
        ("page", "page", false, 502, "upstream_malformed"),
    ] {
        let reply = process.talk(call(id, CHAT, model, stream)).await;
        assert_eq!(reply.status, status, "{id}: {reply:?}");
        for known in [own, key] {
            assert!(!reply.body.contains(known), "{id}: {}", reply.body);
        }
        let line = process.request(id);
        assert_eq!(
            (line["status"].as_u64(), line["outcome"].as_str()),
            (Some(status.into()), Some(outcome)),
            "{line}"
        );
        assert_eq!((line["tries"].as_u64(), line["model"].as_str()), (Some(1), Some(model)), "{line}");
        assert_eq!(line["stream"], stream, "{line}");
        assert_eq!(line["path"], CHAT, "{line}");
        assert!(line["ms"].is_u64() && line["head_ms"].is_u64(), "{line}");
    }
    let line = process.request("whole");
    assert_eq!(
        (line["provider"].as_str(), line["their_id"].as_str()),
        (Some("a"), Some("theirs-1")),
        "{line}"
    );
    assert!(line["tokens_in"].is_u64() && line["tokens_out"].is_u64(), "{line}");

    assert_eq!(process.talk(call("claude", "/v1/messages", "claude", false)).await.status, 200);
    assert_eq!(process.request("claude")["outcome"], "success");
    for (id, body, outcome) in [
        ("json", format!("{{\"model\": \"m\", {prompt}"), "invalid_request"),
        ("type", format!("{{\"model\": [\"{prompt}\"]}}"), "invalid_request"),
        ("value", format!("{{\"model\": \"m\", \"stream\": \"{prompt}\"}}"), "invalid_request"),
    ] {
        let id_header = format!("x-request-id: {id}");
        let reply = process.talk(post(CHAT, &[&id_header], body.as_bytes())).await;
        assert_eq!(reply.status, 400);
        assert_eq!(process.request(id)["outcome"], outcome);
    }
    let mut socket = TcpStream::connect(process.address).await.unwrap();
    socket.write_all(&call("left", CHAT, "silent", true)).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    drop(socket);
    let start = Instant::now();
    while !process.log().contains("\"left\"") {
        assert!(start.elapsed() < LONG);
        sleep(Duration::from_millis(20)).await;
    }
    let line = process.request("left");
    assert_eq!((line["status"].as_u64(), line["outcome"].as_str()), (Some(499), Some("cancelled")), "{line}");

    let metrics = process.talk(get("/metrics")).await.body;
    assert_eq!(process.terminate().await.code(), Some(0));
    let log = process.log();
    assert!(log.contains("TRACE") && log.contains("draining"), "everything was logged");
    for secret in SECRETS {
        assert!(!log.contains(secret), "{secret} is in the log");
        assert!(!metrics.contains(secret), "{secret} is in the metrics");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn floods_and_callers_that_read_nothing_do_not_make_it_grow() {
    let content = bodies::openai_chunks(["x".repeat(4000)]).remove(1);
    let endless = Step::sse([content]).loops(1_000_000);
    let provider = ScriptedProvider::start([endless]).await.unwrap();
    let process = Process::start(&config(&provider, ""), &[("RUST_LOG", "warn,mainstay=info")]).await;
    let before = process.peak_mib();
    let mut stuck = Vec::new();
    for _ in 0..20 {
        let mut socket = TcpStream::connect(process.address).await.unwrap();
        socket.write_all(&chat(true)).await.unwrap();
        stuck.push(socket);
    }
    let headers: String = (0..100_000).map(|n| format!("x-{n}: y\r\n")).collect();
    for _ in 0..20 {
        assert_eq!(process.talk(format!("GET / HTTP/1.1\r\n{headers}\r\n")).await.status, 431);
        assert_eq!(process.talk(post(CHAT, &["content-encoding: gzip"], &[0x1f; 100_000])).await.status, 400);
    }
    sleep(Duration::from_secs(2)).await;
    if let (Some(before), Some(after)) = (before, process.peak_mib()) {
        println!("{before} MiB before, {after} MiB after");
        assert!(after - before < 48.0, "{before} MiB before, {after} MiB after");
    }
    assert!(!process.log().contains("panicked"));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_the_drain_at_once() {
    let provider = ScriptedProvider::start([Step::stall()]).await.unwrap();
    let mut process = Process::start(&config(&provider, "drain = \"60s\""), &[]).await;
    let mut call = TcpStream::connect(process.address).await.unwrap();
    call.write_all(&chat(false)).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    process.signal("-INT").await;
    sleep(Duration::from_millis(300)).await;
    assert!(process.child.try_wait().unwrap().is_none(), "the call runs on");
    assert_eq!(process.terminate().await.code(), Some(0));
    let reply = read_all(&mut call).await;
    assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (503, Some("shutting_down")));
}
