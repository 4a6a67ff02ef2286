//! Targets with settings of their own, and limits that adapt themselves.

use std::time::Duration;

use super::super::settings::{Adaptive, Route, Tables};
use super::{good, refused, with};
use serde_json::json;

const PROVIDERS: &str = "
[providers.a]
kind = \"openai\"
retry = { attempts = 5, budget = { floor = \"1/s\" } }
timeout = { connect = \"2s\", idle = \"10s\" }
limits = { concurrency = 8 }
[providers.g]
kind = \"gemini\"
";

/// [`PROVIDERS`] and a route with this list; that of the list is line 11.
fn listed(targets: &str) -> String {
    format!("{PROVIDERS}[[routes]]\nmodels = [\"m\"]\ntargets = [{targets}]\n")
}

fn own(route: &Route, at: usize) -> Tables {
    (**route.targets[at].tables.as_ref().unwrap()).clone()
}

const FULL: &str = "
[[routes]]
models = [\"m\"]
[[routes.targets]]
target = \"a/gpt-5\"
weight = 2
retry = { attempts = 1 }
breaker.failures = 2
limits = { concurrency = 2, queue_wait = 0, response_body = \"1MiB\" }
parameters = { temperature = 0, stop = [\"x\", \"y\"], metadata = { team = \"a b\", \"x y\" = 1.5 } }
default_parameters = { max_completion_tokens = 1000, store = false }
[routes.targets.timeout]
idle = \"90s\"
first_event = \"5s\"
[[routes.targets]]
target = \"a\"
";

#[test]
fn a_target_overrides_its_provider_key_by_key() {
    let config = good(&format!("{PROVIDERS}{FULL}strategy = \"weighted\"\n").replace("strategy", "#"));
    let route = &config.routes[0];
    let (own, theirs) = (own(route, 0), config.provider("a").unwrap().tables());
    assert_eq!((own.retry.attempts, own.retry.max_delay), (1, theirs.retry.max_delay));
    assert_eq!(own.retry.budget, theirs.retry.budget);
    assert_eq!(
        (own.timeout.idle, own.timeout.connect),
        (Some(Duration::from_secs(90)), Duration::from_secs(2))
    );
    assert_eq!((own.breaker.failures, own.breaker.open_for), (2, theirs.breaker.open_for));
    assert_eq!((own.limits.places(), own.limits.response_body), (Some(2), 1 << 20));
    assert!(own.limits.within(&theirs.limits));
    assert_eq!(route.targets[1].tables, None);
    assert_eq!(config.tables(&route.targets[1]).unwrap(), theirs);
    let parameters = &route.targets[0].parameters;
    let set = json!({"temperature": 0, "stop": ["x", "y"], "metadata": {"team": "a b", "x y": 1.5}});
    assert_eq!(json!(parameters.set()), set);
    assert_eq!(json!(parameters.defaults()), json!({"max_completion_tokens": 1000, "store": false}));
}

#[test]
fn the_listing_has_what_is_effective_at_a_target_and_loads_again() {
    let config = good(&format!("{PROVIDERS}{FULL}"));
    let shown = config.effective_toml();
    let target = shown.lines().find(|line| line.contains("target = \"a/gpt-5\"")).unwrap();
    for part in [
        "weight = 2",
        "retry = { attempts = 1, base_delay = \"1s\", ",
        "timeout = { attempt = \"2m\", idle = \"1m30s\", first_event = \"5s\", ",
        "breaker = { enabled = true, failures = 2, open_for = \"30s\"",
        "concurrency = 2, bytes_in_flight = \"0\", queue_wait = \"0s\", max_waiting = 1024, adaptive = { floor = 1, ceiling = 0, ",
        "parameters = { metadata = { team = \"a b\", \"x y\" = 1.5 }, stop = [\"x\", \"y\"], temperature = 0 }",
        "default_parameters = { max_completion_tokens = 1000, store = false }",
    ] {
        assert!(target.contains(part), "{part} is not in\n{target}");
    }
    assert!(shown.contains("\n    \"a\",\n]"), "{shown}");
    let again = good(&shown.replace("api_key = ", "#"));
    assert_eq!(again.routes[0].targets, config.routes[0].targets);
    assert_eq!(again.effective_toml(), shown);
}

#[test]
fn explain_shows_the_effective_clocks_limits_and_parameters_of_a_target() {
    let said = good(&format!("{PROVIDERS}{FULL}")).explain("m", true).unwrap();
    let (first, second) = said.split_once("\n2. a at").unwrap();
    for part in [
        "tries: 1, ",
        "connect 2s, idle 1m30s, first event 5s",
        "opens after 2 failures",
        "limits: 2 calls in flight; others wait 0s",
        "sets in the request: metadata = {\"team\":\"a b\",\"x y\":1.5}, stop = [\"x\",\"y\"], temperature = 0",
        "fills in where the caller says nothing: max_completion_tokens = 1000, store = false",
    ] {
        assert!(first.contains(part), "{part} is not in\n{first}");
    }
    assert!(second.contains("idle 10s") && second.contains("8 calls in flight; others wait 1s"), "{second}");
    assert!(said.contains("at most 6 tries in all"), "{said}");
}

#[test]
fn calls_that_name_the_provider_have_what_it_has_alone() {
    let text = listed(
        "{ target = \"a\", timeout = { idle = \"77s\" } }, { target = \"a/x\", timeout.idle = \"78s\" }",
    );
    let config = good(&text);
    assert!(config.explain("a/x", true).unwrap().contains("idle 1m17s"));
    assert!(config.explain("g/x", true).unwrap().contains("idle 30s"));
}

#[track_caller]
fn check(text: &str, line: usize, key: &str, found: &str, expected: &str) {
    let error = refused(text);
    let hit = error.problems().iter().find(|problem| problem.line == line && problem.key == key);
    let Some(hit) = hit else { panic!("no problem at {line} {key} in:\n{error}\n\nof:\n{text}") };
    assert!(hit.found.contains(found), "found: {} lacks {found}", hit.found);
    assert!(hit.expected.contains(expected), "expected: {} lacks {expected}", hit.expected);
}

#[test]
fn a_target_refuses_what_it_does_not_know_with_line_and_key() {
    for (rest, key, found, expected) in [
        ("timeout = { idel = \"1s\" }", "timeout.idel", "\"idel\"", "idle?"),
        ("timeout = { idle = 3 }", "timeout.idle", "the number 3", "its unit"),
        ("timeout = 3", "timeout", "the number 3", "a table"),
        ("timeout = { connect = \"1s\" }", "timeout.connect", "at a target", "share connections"),
        ("retry = { budget = { ratio = 1 } }", "retry.budget", "at a target", "draw from one"),
        ("idle = \"1s\"", "idle", "unknown key", "`timeout`"),
        ("temperature = 1", "temperature", "unknown key", "`parameters`"),
        ("parameter = {}", "parameter", "unknown key", "parameters?"),
        ("parameters = 3", "parameters", "the number 3", "temperature = 0"),
        ("parameters = { model = \"x\" }", "parameters.model", "\"model\"", "PROVIDER/MODEL"),
        ("parameters = { stream = true }", "parameters.stream", "\"stream\"", "caller's choice"),
        ("default_parameters = { messages = [] }", "default_parameters.messages", "", "caller's own"),
        ("parameters = { seed = 2026-01-01 }", "parameters.seed", "the date", "JSON"),
        ("parameters = { seed = [nan] }", "parameters.seed[0]", "nan", "JSON"),
        (
            "breaker = { growth = 2, max_open_for = \"1s\" }",
            "breaker.max_open_for",
            "1s",
            "at least open_for (30s)",
        ),
    ] {
        let text = listed(&format!("{{ target = \"a/x\", {rest} }}"));
        check(&text, 11, &format!("routes[0].targets[0].{key}"), found, expected);
    }
    let twice = "{ target = \"a\", parameters = { n = 1 }, default_parameters = { n = 2 } }";
    check(&listed(twice), 11, "routes[0].targets[0].default_parameters.n", "sets already", "one of the two");
    let gemini = "{ target = \"g\", parameters = { temperature = 1 } }";
    check(&listed(gemini), 11, "routes[0].targets[0].parameters.temperature", "", "generationConfig = {");
    let headed = format!(
        "{PROVIDERS}[[routes]]\nmodels = [\"m\"]\n[[routes.targets]]\ntarget = \"a\"\n[routes.targets.retry]\natempts = 1\n"
    );
    check(&headed, 14, "routes[0].targets[0].retry.atempts", "\"atempts\"", "attempts?");
}

#[test]
fn one_target_has_one_circuit_so_two_places_must_agree() {
    let second = |target: &str| {
        let first = listed("{ target = \"a/x\", timeout = { idle = \"1m\" } }, \"a\"");
        format!("{first}[[routes]]\nmodels = [\"n\"]\ntargets = [\"g\", {target}]\n")
    };
    let key = "routes[1].targets[1]";
    for other in ["\"a/x\"", "{ target = \"a/x\", retry.attempts = 1 }"] {
        check(
            &second(other),
            14,
            key,
            "in line 11 (routes[0].targets[0])",
            "[providers.NAME] like that of \"a\"",
        );
    }
    // What is written differently and means the same is the same, and parameters are the route's own.
    good(&second("{ target = \"a/x\", timeout = { idle = \"60s\" }, retry = { attempts = 5 } }"));
    good(&second("{ target = \"a\", timeout = { idle = \"10s\" }, parameters = { temperature = 1 } }"));
}

#[test]
fn recovery_does_not_piece_together_what_parameters_make_of_an_answer() {
    let text =
        listed("\"g\", { target = \"a\", parameters = { response_format = { type = \"json_object\" } } }");
    good(&text);
    check(
        &format!("{text}recovery = \"continue\"\n"),
        12,
        "routes[0].recovery",
        "parameters have response_format",
        "\"off\"",
    );
}

#[track_caller]
fn warned(text: &str, key: &str, words: &str) {
    let config = good(text);
    let hit = config.warnings.iter().any(|w| w.line == 11 && w.key == key && w.message.contains(words));
    assert!(hit, "{:#?}\n\nof:\n{text}", config.warnings);
}

#[test]
fn a_target_is_warned_of_what_works_against_itself() {
    let at = |rest: &str| listed(&format!("{{ target = \"a/x\", {rest} }}"));
    let key = |key: &str| format!("routes[0].targets[0].{key}");
    warned(
        &at("timeout = { first_event = \"20s\" }"),
        &key("timeout.idle"),
        "shorter than first_event (20s)",
    );
    warned(
        &at("limits = { concurrency = 9 }"),
        &key("limits.concurrency"),
        "more than its provider's limit (8)",
    );
    warned(&at("limits = { concurrency = 0 }"), &key("limits.concurrency"), "has no effect");
    for setting in ["queue_wait", "max_waiting"] {
        let text = at(&format!("limits = {{ {setting} = {} }}", i32::from(setting == "max_waiting")));
        warned(&text, &key(&format!("limits.{setting}")), "no limit of its own");
    }
    assert_eq!(good(&at("limits = { concurrency = 2, queue_wait = 0 }")).warnings.len(), 1, "that of g");
}

#[test]
fn a_limit_can_adapt_itself() {
    let limits = |lines: &str| good(&with(lines)).providers[0].limits.clone();
    let read = limits("limits.adaptive = { floor = 2, ceiling = 64, slow_after = \"10s\", decrease = 0.5 }");
    let expected =
        Adaptive { floor: 2, ceiling: Some(64), slow_after: Some(Duration::from_secs(10)), decrease: 0.5 };
    assert_eq!((read.adaptive.clone(), read.places()), (expected, Some(64)));
    assert_eq!(limits("limits = { concurrency = 8, adaptive = { ceiling = 64 } }").places(), Some(8));
    let off = "limits = { concurrency = 8, adaptive = { floor = 3, ceiling = 0 } }";
    assert_eq!((limits(off).places(), limits(off).adaptive.ceiling), (Some(8), None));
    assert_eq!(limits("limits.bytes_in_flight = \"64MiB\"").bytes_in_flight, Some(64 << 20));
    let merged = format!("[defaults.limits.adaptive]\nceiling = 9\n{}", with("limits.adaptive.floor = 4"));
    let merged = good(&merged).providers[0].limits.adaptive.clone();
    assert_eq!((merged.floor, merged.ceiling), (4, Some(9)));
}

#[test]
fn what_a_limit_that_adapts_itself_does_not_understand() {
    for (lines, key, found, expected) in [
        ("limits.adaptive = 3", "limits.adaptive", "the number 3", "a table"),
        ("limits.adaptive = { floor = 0 }", "limits.adaptive.floor", "0", "from 1"),
        ("limits.adaptive = { ceiling = -1 }", "limits.adaptive.ceiling", "-1", "0 is off"),
        ("limits.adaptive = { cieling = 1 }", "limits.adaptive.cieling", "\"cieling\"", "ceiling?"),
        ("limits.adaptive = { slow_after = 3 }", "limits.adaptive.slow_after", "3", "its unit"),
        ("limits.adaptive = { decrease = 1 }", "limits.adaptive.decrease", "1", "from 0.1 to 0.99"),
        ("limits.adaptive = { floor = 9, ceiling = 8 }", "limits.adaptive", "over a ceiling of 8", "at most"),
        (
            "limits = { concurrency = 9, adaptive = { ceiling = 8 } }",
            "limits.concurrency",
            "9",
            "from 1 to 8",
        ),
        (
            "limits = { concurrency = 1, adaptive = { floor = 2, ceiling = 8 } }",
            "limits.concurrency",
            "1",
            "from 2 to 8",
        ),
        ("limits.ceiling = 8", "limits.ceiling", "unknown key", "`limits.adaptive`"),
        ("limits.bytes_in_flight = \"4GiB\"", "limits.bytes_in_flight", "4GiB", "less than 4GiB"),
    ] {
        check(&with(lines), 6, &format!("providers.a.{key}"), found, expected);
    }
}
