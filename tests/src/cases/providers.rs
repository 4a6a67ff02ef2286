//! What the providers must have seen.

use super::{Case, Checks, run::Providers};
use mainstay_testkit::ScriptedProvider;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn at_providers(case: &Case, providers: &Providers, checks: &mut Checks) {
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
