//! `retry`, `timeout`, `breaker` and `limits`: of a provider, of a target, or under `[defaults]`.

use super::super::doc::{Table, Value};
use super::super::settings::{Adaptive, Breaker, Budget, Jitter, Limits, Retry, Safety, Tables, Timeout};

/// Whose tables are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// A provider's, or those that all start from.
    Provider,
    /// A target's, which shares connections and budget with the others of its provider.
    Target,
}

/// `[defaults]`: what a provider starts from.
pub(in super::super) fn defaults(mut t: Table<'_>) -> Tables {
    let mut d = Tables::default();
    four(&mut t, &mut d, Of::Provider);
    t.finish(home);
    d
}

/// Reads the four tables that are there over what is in `d`.
pub(super) fn four(t: &mut Table<'_>, d: &mut Tables, of: Of) {
    if let Some(t) = t.table("retry") {
        retry(t, &mut d.retry, of);
    }
    if let Some(t) = t.table("timeout") {
        timeout(t, &mut d.timeout, of);
    }
    if let Some(t) = t.table("breaker") {
        breaker(t, &mut d.breaker);
    }
    if let Some(t) = t.table("limits") {
        limits(t, &mut d.limits);
    }
}

/// Refuses a key that only a provider has.
fn only_of_a_provider(t: &mut Table<'_>, key: &'static str, why: &str) {
    if let Some(value) = t.get(key) {
        value.refuse::<()>(format!("{key} at a target"), format!("it in the provider's own table: {why}"));
    }
}

/// For a key that was written one level too high: the table that it belongs to.
pub(super) fn home(key: &str) -> Option<String> {
    let table = match key {
        "attempts" | "base_delay" | "max_delay" | "jitter" | "max_wait" | "within" | "safety" | "budget" => {
            "retry"
        }
        "ratio" | "floor" => "retry.budget",
        "connect" | "attempt" | "idle" | "first_event" | "progress" | "error_body" => "timeout",
        "failures" | "open_for" | "probes" | "probe_deadline" | "growth" | "max_open_for"
        | "failure_rate" | "slow_rate" => "breaker",
        "response_body" | "sse_event" | "stream" | "concurrency" | "bytes_in_flight" | "queue_wait"
        | "max_waiting" | "adaptive" => "limits",
        "ceiling" => "limits.adaptive",
        _ => return None,
    };
    Some(format!("{key} in the table `{table}`"))
}

fn retry(mut t: Table<'_>, r: &mut Retry, of: Of) {
    t.set("attempts", &mut r.attempts, |v| v.count(1..=100, "all tries, the first included"));
    t.set("base_delay", &mut r.base_delay, Value::duration);
    t.set("max_delay", &mut r.max_delay, Value::duration);
    let jitters = [("full", Jitter::Full), ("equal", Jitter::Equal), ("none", Jitter::None)];
    t.set("jitter", &mut r.jitter, |v| v.word(&jitters));
    t.set("max_wait", &mut r.max_wait, Value::duration);
    t.set("within", &mut r.within, Value::duration_or_off);
    let safeties = [("always", Safety::Always), ("unsent_only", Safety::UnsentOnly)];
    t.set("safety", &mut r.safety, |v| v.word(&safeties));
    match of {
        Of::Target => only_of_a_provider(&mut t, "budget", "its targets draw from one"),
        Of::Provider => {
            if let Some(t) = t.table("budget") {
                budget(t, &mut r.budget);
            }
        }
    }
    t.finish(home_unless("retry"));
}

fn budget(mut t: Table<'_>, b: &mut Budget) {
    t.set("ratio", &mut b.ratio, |v| v.number(0.0..=100.0, "retries per call"));
    t.set("floor", &mut b.floor, Value::rate);
    t.finish(|_| None);
}

fn timeout(mut t: Table<'_>, c: &mut Timeout, of: Of) {
    match of {
        Of::Target => only_of_a_provider(&mut t, "connect", "its targets share connections"),
        Of::Provider => t.set("connect", &mut c.connect, Value::duration_set),
    }
    t.set("attempt", &mut c.attempt, Value::duration_or_off);
    t.set("idle", &mut c.idle, Value::duration_or_off);
    t.set("first_event", &mut c.first_event, Value::duration_or_off);
    t.set("progress", &mut c.progress, Value::duration_or_off);
    t.set("error_body", &mut c.error_body, Value::duration_set);
    t.finish(home_unless("timeout"));
}

fn breaker(mut t: Table<'_>, b: &mut Breaker) {
    t.set("enabled", &mut b.enabled, Value::bool);
    let off = "failures in a row (enabled = false switches the circuit off)";
    t.set("failures", &mut b.failures, |v| v.count(1..=1_000_000, off));
    t.set("open_for", &mut b.open_for, Value::duration_set);
    t.set("probes", &mut b.probes, |v| v.count(1..=1_000, "calls that may pass while half-open"));
    t.set("probe_deadline", &mut b.probe_deadline, Value::duration_set);
    let factor = "factor on open_for for each relapse; 1 is off";
    t.set("growth", &mut b.growth, |v| v.number(1.0..=10.0, factor));
    t.set("max_open_for", &mut b.max_open_for, Value::duration_set);
    t.set("jitter", &mut b.jitter, |v| v.number(0.0..=1.0, "share of open_for that is added by chance"));
    t.set("failure_rate", &mut b.failure_rate, |v| rate(v, "share of failed calls"));
    t.set("slow_rate", &mut b.slow_rate, |v| rate(v, "share of slow calls"));
    t.set("slow_after", &mut b.slow_after, Value::duration_set);
    t.set("window", &mut b.window, Value::duration_set);
    t.set("min_calls", &mut b.min_calls, |v| v.count(1..=1_000_000, "calls before a rate counts"));
    t.finish(home_unless("breaker"));
}

fn rate(v: &Value<'_>, what: &str) -> Option<Option<f64>> {
    let read = v.number(0.0..=1.0, &format!("the {what} that opens the circuit; 0 is off"))?;
    Some(Some(read).filter(|rate| *rate > 0.0))
}

fn limits(mut t: Table<'_>, l: &mut Limits) {
    t.set("response_body", &mut l.response_body, Value::size_set);
    t.set("sse_event", &mut l.sse_event, Value::size_set);
    t.set("stream", &mut l.stream, Value::size_or_off);
    t.set("concurrency", &mut l.concurrency, |v| {
        let read: usize = v.count(0..=1_000_000, "calls in flight; 0 is off")?;
        Some(Some(read).filter(|&read| read > 0))
    });
    t.set("bytes_in_flight", &mut l.bytes_in_flight, |v| {
        let read = v.size_or_off()?;
        match read.map(u32::try_from) {
            None => Some(None),
            Some(Ok(bytes)) => Some(Some(bytes)),
            Some(Err(_)) => {
                v.wrong("a size of less than 4GiB: the bytes of all requests in flight; 0 is off")
            }
        }
    });
    t.set("queue_wait", &mut l.queue_wait, Value::duration);
    let most = "calls that may wait for a place (queue_wait = \"0s\" lets none wait)";
    t.set("max_waiting", &mut l.max_waiting, |v| v.count(1..=1_000_000, most));
    let there = t.get("adaptive");
    if let Some(t) = there.as_ref().and_then(Value::table) {
        adaptive(t, &mut l.adaptive);
    }
    if let (Some(ceiling), Some(value)) = (l.adaptive.ceiling, &there) {
        if l.adaptive.floor > ceiling {
            let floor = l.adaptive.floor;
            value.refuse::<()>(
                format!("a floor of {floor} over a ceiling of {ceiling}"),
                "a floor of at most the ceiling",
            );
        }
    }
    t.finish(home_unless("limits"));
}

fn adaptive(mut t: Table<'_>, a: &mut Adaptive) {
    t.set("floor", &mut a.floor, |v| v.count(1..=1_000_000, "calls that may always be in flight"));
    t.set("ceiling", &mut a.ceiling, |v| {
        let read: usize = v.count(0..=1_000_000, "the most calls that may be in flight; 0 is off")?;
        Some(Some(read).filter(|&read| read > 0))
    });
    t.set("slow_after", &mut a.slow_after, Value::duration_or_off);
    t.set("decrease", &mut a.decrease, |v| v.number(0.1..=0.99, "the factor of a cut"));
    t.finish(|_| None);
}

fn home_unless(here: &'static str) -> impl Fn(&str) -> Option<String> {
    move |key| home(key).filter(|home| !home.ends_with(&format!("`{here}`")))
}
