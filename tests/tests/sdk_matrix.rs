//! The official Python SDKs of OpenAI, Anthropic and Google against each kind of provider, through the gateway.
//!
//! Rows are uses of an SDK (`sdk/rows_*.py`), columns kinds of providers (`src/scripted/columns.rs`). A cell passes, or is a 400
//! that names the field it is for (`sdk/refusals.py`). `sdk.rs` says how the environment is made; without it this test prints
//! that it was skipped, and passes.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use mainstay_testkit::ScriptedProvider;
use mainstay_tests::{
    gateway::{Gateway, free_port},
    scripted::{COLUMNS, REFUSED},
};
use std::{collections::BTreeMap, env, fmt::Write, path::Path, process::Stdio, time::Duration};
use tokio::{process::Command, time::timeout};

/// What a model's name ends with, and what is to happen there; see `mainstay_tests::scripted`.
const ENDINGS: [&str; 8] =
    ["", "-status-401", "-status-404", "-status-429", "-status-500", "-status-503", "-late-error", "-silent"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_sdk_works_with_every_kind_of_provider() {
    let Some(python) = env::var("MAINSTAY_SDK_PYTHON").ok().filter(|python| !python.is_empty()) else {
        println!("skipped: MAINSTAY_SDK_PYTHON does not name a python that has tests/sdk/requirements.txt");
        return;
    };
    let port = free_port().await.unwrap();
    // One try: what is under test is what arrives, not how failures are avoided. No breaker: errors come in rows.
    let mut config = format!(
        "[server]\nlisten = \"127.0.0.1:{port}\"\n[defaults.retry]\nattempts = 1\n[defaults.breaker]\nfailures = 100000\n"
    );
    let mut providers = Vec::new();
    let mut env = BTreeMap::new();
    for column in COLUMNS {
        let provider = ScriptedProvider::answering(column.answer).await.unwrap();
        let (kind, url, base) = (column.kind, provider.url(), column.base);
        let (credentials, variables) = column.credentials();
        env.extend(variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
        writeln!(config, "[providers.{kind}]\nkind = \"{kind}\"\nbase_url = \"{url}{base}\"\n{credentials}")
            .unwrap();
        for ending in ENDINGS {
            let target = column.model.map_or(kind.to_owned(), |model| format!("{kind}/{model}{ending}"));
            writeln!(config, "[[routes]]\nmodels = [\"m-{kind}{ending}\"]\ntargets = [\"{target}\"]")
                .unwrap();
        }
        providers.push(provider);
    }
    let gateway = Gateway::start(&config, port, &env).await.unwrap();
    let gateway = gateway.unwrap_or_else(|refused| panic!("the gateway did not start: {refused:?}"));

    let kinds: Vec<_> = COLUMNS.iter().map(|column| column.kind).collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/matrix.py");
    let mut command = Command::new(python);
    command.arg(script).args(["--url", &gateway.url(), "--columns", &kinds.join(",")]);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    let output = command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null()).kill_on_drop(true).output();
    let output = timeout(Duration::from_secs(600), output).await.expect("the SDKs took too long").unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{printed}{errors}");
    gateway.stop().await;
    assert!(output.status.success(), "the SDKs met what they did not expect:\n{printed}{errors}");
    assert!(
        !printed.contains(&format!("Error code: {REFUSED}")),
        "a provider refused what was written for it"
    );
    for (column, provider) in COLUMNS.iter().zip(&providers) {
        let sent = provider.requests();
        assert!(sent.len() > 40, "{}: the calls went elsewhere: {}", column.kind, sent.len());
        let caller =
            sent.iter().flat_map(|request| &request.headers).filter(|(_, value)| value.contains("sk-caller"));
        assert_eq!(caller.count(), 0, "{}: the caller's key reached the provider", column.kind);
    }
}
