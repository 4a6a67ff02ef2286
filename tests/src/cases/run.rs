//! One case, from its providers to its checks.

use super::{Case, Checks, Start, matches::regex};
use crate::{
    client::{Kept, Reply, Request, play},
    gateway::{Gateway, free_port},
};
use mainstay_testkit::{ScriptedProvider, provider::ClosedPort};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::Arc,
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

/// One case, all of its requests: twice what the longest needs.
const CASE: Duration = Duration::from_secs(40);

type Providers = BTreeMap<String, ScriptedProvider>;

/// Plays the case with a gateway of its own; what failed, one line a check. Empty: it passed.
pub async fn run(case: &Case) -> Vec<String> {
    let mut checks = Checks::default();
    if let Err(error) = all(case, &mut checks).await {
        checks.fail(format!("the case could not be played: {error}"));
    }
    checks.failures
}

async fn all(case: &Case, checks: &mut Checks) -> io::Result<()> {
    let mut providers = Providers::new();
    for (name, steps) in &case.upstreams {
        providers.insert(name.clone(), ScriptedProvider::start(steps.iter().cloned()).await?);
    }
    let closed = ClosedPort::reserve()?;
    let port = free_port().await?;
    let mut ports: BTreeMap<&str, u16> = BTreeMap::from([("closed", closed.port()), ("listen", port)]);
    ports.extend(providers.iter().map(|(name, provider)| (name.as_str(), provider.port())));
    let config = config(case, port, &ports)?;

    let mut env = BTreeMap::from([
        ("RUST_LOG".to_owned(), case.log.clone().unwrap_or_else(|| "debug".into())),
        ("UP_KEY".to_owned(), "sk-test-secret-0123456789".to_owned()),
    ]);
    env.extend(case.env.clone());
    let log = match (Gateway::start(&config, port, &env).await?, case.start) {
        (Err(refused), Start::Fails) => {
            match refused.status {
                Some(status) if status.success() => {
                    checks.fail("the gateway ended with 0 on a bad configuration")
                }
                Some(_) => {}
                None => checks.fail("the gateway neither refused the configuration nor became ready"),
            }
            refused.log
        }
        (Err(refused), Start::Ok) => {
            checks.fail(format!("the gateway did not become ready (GET /readyz): {:?}", refused.status));
            refused.log
        }
        (Ok(gateway), Start::Fails) => {
            checks.fail("the gateway started on a bad configuration");
            gateway.stop().await
        }
        (Ok(mut gateway), Start::Ok) => {
            if timeout(CASE, talk(case, &mut gateway, &providers, checks)).await.is_err() {
                checks.fail(format!("no end within {CASE:?}"));
            }
            gateway.stop().await
        }
    };
    checks.text("log", &log, &case.expect.log_contains, &case.expect.log_lacks);
    if let Some((_, panic)) = log.split_once("panicked at") {
        checks.fail(format!("the gateway panicked at{}", panic.chars().take(200).collect::<String>()));
    }
    if !checks.failures.is_empty() {
        let skip = log.chars().count().saturating_sub(600);
        let tail: String = log.chars().skip(skip).collect();
        checks.fail(format!("end of its log: {}", tail.trim().replace('\n', " | ")));
    }
    Ok(())
}

/// The file's text: `${name}` is a provider's port.
pub(super) fn config(case: &Case, port: u16, ports: &BTreeMap<&str, u16>) -> io::Result<String> {
    if let Some(text) = &case.config_text {
        return Ok(fill(text, ports));
    }
    let mut config = match &case.config {
        Value::Null => json!({}),
        given => given.clone(),
    };
    fill_all(&mut config, ports);
    let server = config.as_object_mut().map(|all| all.entry("server").or_insert_with(|| json!({})));
    let server =
        server.and_then(Value::as_object_mut).ok_or_else(|| io::Error::other("config is no object"))?;
    server.insert("listen".into(), format!("127.0.0.1:{port}").into());
    toml::to_string(&config).map_err(io::Error::other)
}

fn fill(text: &str, ports: &BTreeMap<&str, u16>) -> String {
    ports
        .iter()
        .fold(text.to_owned(), |text, (name, port)| text.replace(&format!("${{{name}}}"), &port.to_string()))
}

fn fill_all(value: &mut Value, ports: &BTreeMap<&str, u16>) {
    match value {
        Value::String(text) => *text = fill(text, ports),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_all(item, ports)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill_all(field, ports)),
        _ => {}
    }
}

async fn talk(case: &Case, gateway: &mut Gateway, providers: &Providers, checks: &mut Checks) {
    let before = gateway.peak_mib();
    let (replies, signalled) = requests(case, gateway, checks).await;
    let want = &case.expect;
    let last = replies.last().cloned().unwrap_or_default();
    checks.reply("", want, &last);
    let statuses: Vec<_> = replies.iter().map(|reply| reply.status).collect();
    checks.if_given("statuses", want.statuses.as_ref(), json!(statuses));
    sleep(Duration::from_millis(case.settle_ms)).await;
    at_providers(case, providers, checks);
    if let (Some(want), Some(before)) = (&want.peak_mib, before) {
        checks.that("peak MiB", want, gateway.peak_mib().unwrap_or(before) - before);
    }
    if !want.metrics.is_empty() || !want.metrics_count.is_empty() {
        let reply = gateway.get("/metrics").await;
        let text = reply.text();
        for pattern in want.metrics.iter().filter(|pattern| !regex(pattern, true).is_match(&text)) {
            checks.fail(format!("/metrics lacks {pattern:?}"));
        }
        for (pattern, count) in &want.metrics_count {
            let found = regex(pattern, true).find_iter(&text).count();
            checks.that(&format!("lines of /metrics with {pattern:?}"), count, found);
        }
    }
    if let (Some(want), Some(signalled)) = (&want.exit, signalled) {
        match gateway.ended_within(Duration::from_secs(10)).await {
            Some(status) => {
                checks.that("exit code", want.code.as_ref().unwrap_or(&json!(0)), status.code());
                checks.if_given(
                    "exit after ms",
                    want.ms.as_ref(),
                    signalled.elapsed().as_secs_f64() * 1000.0,
                );
            }
            None => checks.fail("the gateway did not end"),
        }
    }
}

/// Plays the client; its replies in the order of the requests, and when the gateway got its signal.
async fn requests(case: &Case, gateway: &Gateway, checks: &mut Checks) -> (Vec<Reply>, Option<Instant>) {
    let kept = Arc::new(Kept::default());
    let (mut running, mut replies, mut signalled) = (JoinSet::new(), BTreeMap::new(), None);
    for (number, request) in case.client.iter().enumerate() {
        sleep(Duration::from_millis(request.sleep_ms)).await;
        if let Some(signal) = request.signal {
            if let Err(error) = gateway.signal(signal).await {
                checks.fail(format!("the signal could not be sent: {error}"));
            }
            signalled = Some(Instant::now());
        } else if request.background {
            let (port, request, kept) = (gateway.port(), request.clone(), Arc::clone(&kept));
            running.spawn(async move { (number, copies(port, &request, &kept).await) });
        } else {
            let got = copies(gateway.port(), request, &kept).await;
            at_client(case, number, &got, checks);
            replies.insert(number, got);
        }
    }
    while let Some(done) = running.join_next().await {
        match done {
            Ok((number, got)) => {
                at_client(case, number, &got, checks);
                replies.insert(number, got);
            }
            Err(error) => checks.fail(format!("a client failed: {error}")),
        }
    }
    (replies.into_values().flatten().collect(), signalled)
}

/// A request's own checks, at once: when a later one never ends they may say why.
fn at_client(case: &Case, number: usize, got: &[Reply], checks: &mut Checks) {
    let label = if case.client.len() > 1 { format!("request {number}: ") } else { String::new() };
    for (reply, request) in got.iter().zip(case.client.get(number).into_iter().cycle()) {
        checks.reply(&label, &request.expect, reply);
    }
}

/// The request as often as it says: so many at once, then the rest one by one.
async fn copies(port: u16, request: &Request, kept: &Arc<Kept>) -> Vec<Reply> {
    let mut at_once = JoinSet::new();
    for number in 0..request.concurrent.unwrap_or(1) {
        let (request, kept) = (request.numbered(number), Arc::clone(kept));
        at_once.spawn(async move { (number, play(port, &request, &kept).await) });
    }
    let mut got: Vec<_> = at_once.join_all().await;
    got.sort_by_key(|(number, _)| *number);
    let mut got: Vec<_> = got.into_iter().map(|(_, reply)| reply).collect();
    for number in 1..request.repeat.unwrap_or(1) {
        got.push(play(port, &request.numbered(number), kept).await);
    }
    got
}

fn at_providers(case: &Case, providers: &Providers, checks: &mut Checks) {
    let want = &case.expect;
    let mut count = |what: &str, want: &BTreeMap<String, Value>, of: fn(&ScriptedProvider) -> Value| {
        for (name, want) in want {
            match providers.get(name) {
                Some(provider) => checks.that(&format!("{what} {name}"), want, of(provider)),
                None => checks.fail(format!("the case has no provider {name}")),
            }
        }
    };
    count("calls to", &want.calls, |provider| provider.calls().into());
    count("connections to", &want.connections, |provider| provider.connections().into());
    count("calls at once to", &want.parallel, |provider| provider.most_parallel().into());
    count("replies given up of", &want.closed_early, |provider| provider.closed_early().into());
    count("gap at", &want.gap_ms, |provider| match provider.requests().as_slice() {
        [.., last, end] => (end.at.duration_since(last.at).as_secs_f64() * 1000.0).into(),
        _ => Value::Null,
    });
    let requests = |name: &str| providers.get(name).map(ScriptedProvider::requests).unwrap_or_default();
    for (name, want) in &want.sent {
        let Some(request) = requests(name).pop() else {
            checks.fail(format!("nothing was sent to {name}"));
            continue;
        };
        checks.if_given(&format!("path at {name}"), want.path.as_ref(), request.path.as_str());
        for (header, want) in &want.headers {
            checks.that(
                &format!("header {header} at {name}"),
                want,
                request.header(&header.to_ascii_lowercase()),
            );
        }
        let text = request.text();
        checks.text(&format!("body at {name}"), &text, &want.body_contains, &want.body_lacks);
        checks.if_given(&format!("body at {name}"), want.body_equals.as_ref(), &*text);
        if let Some(want) = &want.json {
            checks.json(&format!("body at {name}: "), &text, want);
        }
    }
    for (name, header) in &want.same_header_on_retry {
        let requests = requests(name);
        let values: BTreeSet<_> = requests.iter().map(|request| request.header(header)).collect();
        if values.len() != 1 || values.contains(&None) {
            checks.fail(format!("{header} at {name} differs between requests, or is missing"));
        }
    }
    for name in &want.same_body_on_retry {
        let bodies: BTreeSet<_> = requests(name).into_iter().map(|request| request.body).collect();
        if bodies.len() != 1 {
            checks.fail(format!("{} different bodies were sent to {name}", bodies.len()));
        }
    }
}
