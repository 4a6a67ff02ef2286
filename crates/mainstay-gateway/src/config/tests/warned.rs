//! What works but is hardly meant.

use super::{good, with};

#[track_caller]
fn warned(text: &str, line: usize, key: &str, words: &str) {
    let config = good(text);
    let hit = config.warnings.iter().any(|w| w.line == line && w.key == key && w.message.contains(words));
    assert!(hit, "{:#?}\n\nof:\n{text}", config.warnings);
}

#[test]
fn a_plain_file_has_none() {
    assert_eq!(good(&with("api_key_env = \"UP_KEY\"")).warnings, []);
}

#[test]
fn a_pattern_that_comes_second_never_matches() {
    let text = "[providers.a]\nkind = \"openai\"\n[[routes]]\nmodels = [\"g*\"]\ntargets = [\"a\"]\n[[routes]]\nmodels = [\"g*\"]\ntargets = [\"a\"]\n";
    warned(text, 7, "routes[1].models[0]", "the route in line 3 has it too");
}

#[test]
fn what_is_listed_twice() {
    let p = "[providers.a]\nkind = \"openai\"\nmodels = [\"x\", \"x\"]\n";
    warned(p, 3, "providers.a.models[1]", "listed twice");
    warned(
        &format!("{p}[[routes]]\nmodels = [\"m\", \"m\"]\ntargets = [\"a\"]\n"),
        5,
        "routes[0].models[1]",
        "twice",
    );
    warned(
        &format!("{p}[[routes]]\nmodels = [\"m\"]\ntargets = [\"a\", \"a\"]\n"),
        6,
        "routes[0].targets[1]",
        "twice",
    );
    assert_eq!(
        good(&format!("{p}[[routes]]\nmodels = [\"m\", \"m\"]\ntargets = [\"a\"]\n")).routes[0].models,
        ["m"]
    );
}

#[test]
fn a_provider_that_no_route_uses() {
    warned("[providers.a]\nkind = \"openai\"\n", 1, "providers.a", "reached as \"a/MODEL\" only");
}

#[test]
fn a_provider_that_no_request_can_reach() {
    let text = format!("{}[providers.b]\nkind = \"openai\"\n", with(""));
    warned(
        &text,
        7,
        "providers.b",
        "no request can reach it: no route leads here, and \"*\" takes every \"b/MODEL\"",
    );
    let narrow = text.replace("[\"*\"]", "[\"gpt-*\"]");
    warned(&narrow, 7, "providers.b", "reached as \"b/MODEL\" only");
}

#[test]
fn a_route_that_no_request_can_reach() {
    let text = "[providers.a]\nkind = \"openai\"\n[[routes]]\nmodels = [\"g*\", \"h*\"]\ntargets = [\"a\"]\n[[routes]]\nmodels = [\"h*\", \"g*\"]\ntargets = [\"a\"]\n";
    warned(text, 7, "routes[1].models", "no request can reach this route and its targets");
    let partly = good(&text.replace("[\"h*\", \"g*\"]", "[\"h*\", \"i*\"]"));
    assert!(!partly.warnings.iter().any(|w| w.key == "routes[1].models"), "{:#?}", partly.warnings);
}

#[test]
fn clocks_that_cut_each_other_off() {
    let lines = "timeout.first_event = \"1m\"\ntimeout.idle = \"10s\"";
    warned(&with(lines), 7, "providers.a.timeout.idle", "shorter than first_event (1m)");
    warned(
        &with("timeout.attempt = \"1m\"\nretry.within = \"30s\""),
        7,
        "providers.a.retry.within",
        "timeout.attempt",
    );
}

#[test]
fn tries_that_cannot_be() {
    warned(
        &with("retry.base_delay = \"1m\""),
        6,
        "providers.a.retry.base_delay",
        "more than max_delay (30s)",
    );
    warned(
        &with("retry.budget = { ratio = 0, floor = 0 }"),
        6,
        "providers.a.retry.budget",
        "nothing is ever tried again",
    );
    warned(&with("retry.within = \"1s\""), 6, "providers.a.retry.within", "no second try");
}

#[test]
fn a_key_in_clear_text() {
    let lines = "api_key_env = \"UP_KEY\"\nbase_url = \"http://llm.internal/v1\"";
    warned(&with(lines), 7, "providers.a.base_url", "clear text");
    assert_eq!(good(&with(&lines.replace("llm.internal", "localhost"))).warnings, []);
}

#[test]
fn an_address_of_the_other_convention() {
    let text = with("base_url = \"https://api.anthropic.com/v1\"").replace("\"openai\"", "\"anthropic\"");
    warned(&text, 6, "providers.a.base_url", "/v1 at its end is left out");
}

#[test]
fn an_address_that_lacks_its_version() {
    let text = with("base_url = \"http://localhost:8000\"");
    warned(&text, 6, "providers.a.base_url", "http://localhost:8000/chat/completions");
    // DeepSeek's own has none.
    for other in [text.replace("\"openai\"", "\"deepseek\""), text.replace("8000", "8000/v1")] {
        assert_eq!(good(&other).warnings, []);
    }
}

#[test]
fn a_wildcard_that_is_none() {
    let text =
        "[providers.a]\nkind = \"openai\"\n[[routes]]\nmodels = [\"o\",\n \"gpt-?\"]\ntargets = [\"a\"]\n";
    warned(text, 5, "routes[0].models[1]", "stands for itself");
    assert_eq!(good(&text.replace('?', "*")).warnings, []);
}

#[test]
fn connections_that_there_will_not_be() {
    warned(&with("protocol = \"http1\"\nh2_connections = 2"), 7, "providers.a.h2_connections", "no effect");
}

#[test]
fn what_stands_in_the_defaults_is_said_once_and_there() {
    let text = "[defaults.retry]\nbase_delay = \"1m\"\n[providers.a]\nkind = \"openai\"\n[providers.b]\nkind = \"groq\"\n[[routes]]\nmodels = [\"*\"]\ntargets = [\"a\", \"b\"]\n";
    warned(text, 2, "defaults.retry.base_delay", "more than max_delay");
    assert_eq!(good(text).warnings.len(), 1);
}

#[test]
fn what_needs_two_targets_and_has_one() {
    for line in [
        "strategy = \"latency\"",
        "recovery = \"continue\"",
        "failover = \"at_once\"",
        "hedge = { after = \"1s\" }",
    ] {
        let text = format!(
            "[providers.a]\nkind = \"openai\"\n[[routes]]\nmodels = [\"m\"]\ntargets = [\"a\"]\n{line}\n"
        );
        let key = line.split(' ').next().unwrap();
        warned(&text, 6, &format!("routes[0].{key}"), "one target");
    }
}

#[test]
fn what_needs_another_strategy() {
    let route =
        "[providers.a]\nkind = \"openai\"\n[providers.b]\nkind = \"openai\"\n[[routes]]\nmodels = [\"m\"]\n";
    let weighted = format!("{route}targets = [{{ target = \"a\", weight = 2 }}, \"b\"]\n");
    warned(&weighted, 7, "routes[0].targets", "weights have no effect");
    let sticky = format!("{route}targets = [\"a\", \"b\"]\nsticky = \"user\"\n");
    warned(&sticky, 8, "routes[0].sticky", "no effect with strategy");
}
