//! One case, from its providers to its checks.

use super::{Case, Checks, Start, config::config, matches::regex, providers::at_providers};
use crate::{
    client::{Kept, Reply, Request, play},
    gateway::{Gateway, free_port},
};
use mainstay_testkit::{ScriptedProvider, provider::ClosedPort};
use serde_json::json;
use std::{collections::BTreeMap, io, sync::Arc, time::Duration};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

/// One case, all of its requests: twice what the longest needs.
const CASE: Duration = Duration::from_secs(40);

pub(super) type Providers = BTreeMap<String, ScriptedProvider>;

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
