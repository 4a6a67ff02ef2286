//! The player's parts, without a gateway.

use super::{Case, Checks, config::config, find, load, matches};
use crate::client::Reply;
use mainstay_testkit::bodies;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn case(value: Value) -> Case {
    serde_json::from_str(&value.to_string()).unwrap()
}

fn reply(body: &str) -> Reply {
    Reply {
        status: Some(200),
        headers: vec![("x-a".into(), "1".into())],
        body: body.into(),
        complete: true,
        first_ms: Some(5.0),
        elapsed_ms: Some(9.5),
    }
}

/// The checks of a case on a reply that fail.
fn failures(expect: Value, reply: &Reply) -> Vec<String> {
    let mut checks = Checks::default();
    checks.reply("", &case(json!({ "expect": expect })).expect, reply);
    checks.failures
}

#[test]
fn a_path_finds_a_place() {
    let value = json!({"a": [{"b": 1}, {"b": 2}], "0": "zero"});
    assert_eq!(find(&value, "a.1.b"), 2);
    assert_eq!(find(&value, "a.-2.b"), 1);
    assert_eq!(find(&value, "0"), "zero");
    for missing in ["b", "a.2", "a.-3", "a.b", "a.1.b.c", ""] {
        assert_eq!(find(&value, missing), &Value::Null, "{missing}");
    }
}

#[test]
fn a_value_matches_itself_and_rules_match_what_they_say() {
    for (want, got, yes) in [
        (json!(1), json!(1.0), true),
        (json!({"a": [1]}), json!({"a": [1.0]}), true),
        (json!({"a": 1}), json!({"a": 1, "b": 2}), false),
        (json!("1"), json!(1), false),
        (json!(null), json!(null), true),
        (json!({"absent": true}), json!(null), true),
        (json!({"absent": true}), json!("x"), false),
        (json!({"re": "^a.c$"}), json!("abc"), true),
        (json!({"re": "^x{200000}$"}), json!("x".repeat(200_000)), true),
        (json!({"re": "4"}), json!(429), true),
        (json!({"re": "."}), json!(null), false),
        (json!({"min": 2, "max": 3}), json!(2), true),
        (json!({"min": 2, "max": 3}), json!(3.5), false),
        (json!({"min": 2}), json!("3"), true),
        (json!({"min": 2}), json!("three"), false),
        (json!({"max": 2}), json!(null), false),
        (json!({"any_of": [1, 2]}), json!(2), true),
        (json!({"any_of": [1, null]}), json!(null), true),
        (json!({"any_of": [1]}), json!(null), false),
        (json!({"type": "string"}), json!(""), true),
        (json!({"type": "int"}), json!(1.5), false),
        (json!({"not": 1}), json!(2), true),
        (json!({"not": 1, "min": 0}), json!(1), false),
        (json!({}), json!("anything but null"), true),
    ] {
        assert_eq!(matches(&want, &got), yes, "{want} on {got}");
    }
}

#[test]
fn checks_that_hold_say_nothing() {
    let expect = json!({
        "status": 200, "headers": {"X-A": "1", "x-b": {"absent": true}}, "json": {"a.0": 1}, "body_equals": "{\"a\":[1]}",
        "body_contains": ["a"], "body_lacks": ["b"], "body_count": {"a": 1}, "complete": true,
        "elapsed_ms": {"max": 10}, "first_ms": {"min": 1},
    });
    assert_eq!(failures(expect, &reply("{\"a\":[1]}")), Vec::<String>::new());
}

#[test]
fn each_check_that_fails_is_one_line() {
    for (expect, words) in [
        (json!({"status": 500}), "status: wanted 500, got 200"),
        (json!({"status": null}), "status: wanted null, got 200"),
        (json!({"headers": {"x-a": "2"}}), "header x-a"),
        (json!({"json": {"a": 1}}), "not JSON"),
        (json!({"body_equals": "other"}), "body: wanted"),
        (json!({"body_contains": ["other"]}), "lacks \"other\""),
        (json!({"body_lacks": ["te"]}), "must not hold \"te\""),
        (json!({"body_count": {"t": 1}}), "count of \"t\""),
        (json!({"complete": false}), "complete"),
        (json!({"elapsed_ms": {"max": 9}}), "elapsed_ms"),
        (json!({"first_ms": {"min": 6}}), "first_ms"),
        (json!({"sse": {"done": true}}), "sse done"),
        (json!({"sse": {"json": {"0": {}}}}), "sse event 0 is missing"),
    ] {
        let failed = failures(expect.clone(), &reply("text"));
        assert_eq!(failed.len(), 1, "{expect}: {failed:?}");
        assert!(failed[0].contains(words), "{failed:?} has no {words}");
    }
}

#[test]
fn streams_are_assembled_in_each_dialect() {
    for (events, text, names) in [
        (bodies::openai_chunks(["a", "b"]), "ab", json!([""])),
        (
            bodies::anthropic_events(["a", "b"]),
            "ab",
            json!([
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]),
        ),
        (bodies::openai_response_events(["a", "b"]), "ab", json!({"type": "list"})),
    ] {
        let body = events.concat();
        let expect = json!({"sse": {"text": text, "done": true, "error": false, "names": names, "tools": [],
            "count": events.len(), "json": {"-2": {"nothing": {"absent": true}}}}});
        assert_eq!(failures(expect, &reply(&body)), Vec::<String>::new());
    }
    let tools = json!([["call_1", "look", "{\"at\": 1}"]]);
    for events in [
        bodies::openai_tool_chunks("call_1", "look", ["{\"at\"", ": 1}"]),
        bodies::anthropic_tool_events("call_1", "look", ["{\"at\"", ": 1}"]),
    ] {
        let failed = failures(json!({"sse": {"tools": tools, "done": true}}), &reply(&events.concat()));
        assert_eq!(failed, Vec::<String>::new());
    }
}

#[test]
fn an_error_in_a_stream_is_seen_and_a_null_one_is_none() {
    for (body, error) in [
        ("data: {\"error\": {\"code\": 1}}\n\n", true),
        ("data: {\"error\": \"text\"}\r\n\r\n", true),
        ("event: error\rdata: x\r\r", true),
        ("data: {\"error\": null}\n\n", false),
        (": {\"error\": {}}\n\n", false),
    ] {
        assert_eq!(failures(json!({"sse": {"error": error}}), &reply(body)), Vec::<String>::new(), "{body}");
    }
}

#[test]
fn a_configuration_becomes_toml_with_the_ports_in_place() {
    let case = case(json!({"config": {
        "providers": {"a": {"base_url": "http://127.0.0.1:${a}/v1", "retry": {"attempts": 3}, "headers": {"x y": "é\"\n"}}},
        "routes": [{"models": ["*"], "targets": ["a"]}, {"models": ["b"], "targets": ["a/${closed}"]}],
        "server": {"drain": "1s"},
    }}));
    let text = config(&case, 7, &BTreeMap::from([("a", 80), ("closed", 81)])).unwrap();
    let back: Value = serde_json::to_value(toml::from_str::<toml::Table>(&text).unwrap()).unwrap();
    let want = json!({
        "providers": {"a": {"base_url": "http://127.0.0.1:80/v1", "retry": {"attempts": 3}, "headers": {"x y": "é\"\n"}}},
        "routes": [{"models": ["*"], "targets": ["a"]}, {"models": ["b"], "targets": ["a/81"]}],
        "server": {"drain": "1s", "listen": "127.0.0.1:7"},
    });
    assert_eq!(back, want, "{text}");
}

#[test]
fn a_configuration_can_be_text() {
    let case = case(json!({"config_text": "[server\nlisten = \"127.0.0.1:${listen}\""}));
    assert_eq!(
        config(&case, 7, &BTreeMap::from([("listen", 7)])).unwrap(),
        "[server\nlisten = \"127.0.0.1:7\""
    );
}

#[test]
fn a_file_with_a_wrong_line_is_refused_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.jsonl");
    for (text, words) in [
        ("{\"id\": \"a\"}\n# no case\n\n{\"id\": \"a\"}", "x.jsonl:4: the id \"a\" is taken"),
        ("{\"id\": \"a\", \"expext\": {}}", "x.jsonl:1: unknown field `expext`"),
        ("{\"id\": \"a\", \"client\": [{\"body\": {}, \"pth\": \"\"}]}", "unknown field `pth`"),
        ("{\"id\": \"a\", \"upstreams\": {\"a\": [{\"statu\": 1}]}}", "unknown field `statu`"),
        ("{\"id\": \"a\"", "x.jsonl:1: EOF"),
    ] {
        std::fs::write(&file, text).unwrap();
        let error = load([&file]).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    std::fs::write(&file, "{\"id\": \"a\", \"client\": {\"body\": [1, 2.0]}}").unwrap();
    let cases = load([&file]).unwrap();
    assert_eq!(cases[0].client[0].bytes(), b"[1, 2.0]");
}

#[test]
fn our_own_cases_can_be_read_and_name_only_providers_that_they_have() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let cases = load(files.filter(|path| path.extension().is_some_and(|end| end == "jsonl"))).unwrap();
    for case in &cases {
        assert!(!case.title.is_empty(), "{} has no title", case.id);
        let want = &case.expect;
        let named = want.calls.keys().chain(want.connections.keys()).chain(want.parallel.keys());
        let named = named.chain(want.closed_early.keys()).chain(want.gap_ms.keys()).chain(want.sent.keys());
        for name in named {
            assert!(case.upstreams.contains_key(name), "{} has no provider {name}", case.id);
        }
        if case.config_text.is_none() {
            let ports = case.upstreams.keys().map(|name| (name.as_str(), 1)).chain([("closed", 1)]).collect();
            let text = config(case, 1, &ports).unwrap();
            assert!(!text.contains("${"), "{} has a port that is nobody's: {text}", case.id);
        }
    }
    assert!(cases.len() >= 150, "{}", cases.len());
}
