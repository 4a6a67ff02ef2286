//! The official OpenAI and Anthropic Python SDKs against a scripted provider, directly and through the gateway.
//!
//! `MAINSTAY_SDK_PYTHON` names the python of an environment that has `sdk/requirements.txt`:
//!
//!     python3 -m venv target/sdk && target/sdk/bin/pip install -r tests/sdk/requirements.txt
//!     MAINSTAY_SDK_PYTHON=$PWD/target/sdk/bin/python cargo test -p mainstay-tests --test sdk
//!
//! Without it both tests print that they were skipped, and pass.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use mainstay_testkit::{Recorded, ScriptedProvider, Step, bodies, provider::ClosedPort};
use mainstay_tests::gateway::{Gateway, free_port};
use std::{collections::BTreeMap, env, path::Path, process::Stdio, time::Duration};
use tokio::{process::Command, time::timeout};

const SAID: [&str; 4] = ["Hello ", "from ", "the ", "script."];

fn answer(request: &Recorded) -> Step {
    let model = request.model().unwrap_or_default();
    let claude = request.route().starts_with("/v1/messages");
    if let Some(status) = model.split("-status-").nth(1).and_then(|status| status.parse().ok()) {
        return error(status, claude);
    }
    if model.ends_with("-late-error") {
        return late_error(claude);
    }
    let text = SAID.concat();
    let base64 = request.json().is_some_and(|body| body["encoding_format"] == "base64");
    let body = match (request.route(), request.wants_stream()) {
        ("/v1/chat/completions", true) => return Step::sse(bodies::openai_chunks_as(&model, SAID)),
        ("/v1/responses", true) => return Step::sse(bodies::openai_response_events_as(&model, SAID)),
        ("/v1/messages", true) => return Step::sse(bodies::anthropic_events_as(&model, SAID)),
        ("/v1/chat/completions", false) => bodies::openai_chat_as(&model, &text),
        ("/v1/completions", false) => bodies::openai_completion(&model, &text),
        ("/v1/responses", false) => bodies::openai_response_as(&model, &text),
        ("/v1/messages", false) => bodies::anthropic_message_as(&model, &text),
        ("/v1/embeddings", _) => {
            let inputs = request.json().and_then(|body| body["input"].as_array().map(Vec::len)).unwrap_or(1);
            if base64 {
                bodies::openai_embeddings_base64(&model, inputs)
            } else {
                bodies::openai_embeddings(&model, inputs)
            }
        }
        ("/v1/models", _) if request.header("anthropic-version").is_some() => {
            bodies::anthropic_models(["claude-scripted"])
        }
        ("/v1/models", _) => bodies::openai_models(["gpt-scripted"]),
        _ => return error(404, claude),
    };
    Step::json(200, body)
}

fn error(status: u16, claude: bool) -> Step {
    let body = if claude {
        let kind = match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            _ => "api_error",
        };
        bodies::anthropic_error(kind, "the script says so")
    } else {
        bodies::openai_error("scripted_error", Some(&format!("code_{status}")), "the script says so")
    };
    Step::json(status, body)
}

/// One word, then an error.
fn late_error(claude: bool) -> Step {
    let mut events =
        if claude { bodies::anthropic_events(["Hello "]) } else { bodies::openai_chunks(["Hello "]) };
    events.truncate(if claude { 4 } else { 2 });
    events.push(if claude {
        bodies::named_event("error", &bodies::anthropic_error("overloaded_error", "the script says so"))
    } else {
        bodies::event(bodies::openai_error("server_error", Some("server_error"), "the script says so"))
    });
    Step::sse(events)
}

/// Runs the script; panics with what it printed when a check failed.
async fn run(python: &str, url: &str, gateway: bool) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/run.py");
    let mut command = Command::new(python);
    command.arg(script).args(["--url", url]).args(gateway.then_some("--gateway"));
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = timeout(Duration::from_secs(180), output).await.expect("the SDKs took too long").unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{printed}{errors}");
    assert!(output.status.success(), "the SDKs met what they did not expect:\n{printed}{errors}");
}

fn python() -> Option<String> {
    let python = env::var("MAINSTAY_SDK_PYTHON").ok().filter(|python| !python.is_empty());
    if python.is_none() {
        println!("skipped: MAINSTAY_SDK_PYTHON does not name a python that has tests/sdk/requirements.txt");
    }
    python
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sdks_read_what_the_testkit_writes() {
    let Some(python) = python() else { return };
    let provider = ScriptedProvider::answering(answer).await.unwrap();
    run(&python, &provider.url(), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sdks_work_through_the_gateway() {
    let Some(python) = python() else { return };
    let provider = ScriptedProvider::answering(answer).await.unwrap();
    let (closed, port) = (ClosedPort::reserve().unwrap(), free_port().await.unwrap());
    let (url, down) = (provider.url(), closed.url());
    // One try: what is under test is how an error looks, not how it is avoided. No breaker: errors come in rows.
    let config = format!(
        r#"
[server]
listen = "127.0.0.1:{port}"

[defaults.retry]
attempts = 1

[defaults.breaker]
failures = 1000

[providers.openai]
kind = "openai"
base_url = "{url}/v1"
api_key_env = "UP_KEY"

[providers.anthropic]
kind = "anthropic"
base_url = "{url}"
api_key_env = "UP_KEY"

[providers.down]
kind = "openai"
base_url = "{down}/v1"
api_key_env = "UP_KEY"

[[routes]]
models = ["gpt-scripted", "gpt-*"]
targets = ["openai"]

[[routes]]
models = ["claude-scripted", "claude-*"]
targets = ["anthropic"]

[[routes]]
models = ["gpt-down"]
targets = ["down"]
"#
    );
    let env = BTreeMap::from([("UP_KEY".to_owned(), "sk-test-secret-0123456789".to_owned())]);
    let gateway = Gateway::start(&config, port, &env).await.unwrap();
    let gateway = gateway.unwrap_or_else(|refused| panic!("the gateway did not start: {refused:?}"));
    run(&python, &gateway.url(), true).await;
    gateway.stop().await;
    let sent = provider.requests();
    assert!(sent.len() > 20, "the calls went elsewhere: {}", sent.len());
    let caller =
        sent.iter().flat_map(|request| &request.headers).filter(|(_, value)| value.contains("sk-caller"));
    assert_eq!(caller.count(), 0, "the caller's key reached the provider");
}
