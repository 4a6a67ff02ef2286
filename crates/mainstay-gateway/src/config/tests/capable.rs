//! `capabilities`: read, shown, refused.

use super::{good, refused, with};
use mainstay::route::Capabilities;

#[test]
fn a_provider_and_a_target_declare_what_models_can_do() {
    let text = with("capabilities = { context = 128_000, tools = true, vision = false, json_schema = true, prefill = false }")
        .replace("[\"a\"]", "[\"a\", { target = \"a/m\", capabilities = { context = 8000 } }]");
    let config = good(&text);
    let all =
        Capabilities::new().with_tools(true).with_vision(false).with_json_schema(true).with_prefill(false);
    assert_eq!(config.provider("a").unwrap().capabilities, all.with_context(128_000));
    let targets = &config.routes[0].targets;
    assert_eq!(targets[0].capabilities, Capabilities::new());
    assert_eq!(targets[1].capabilities, Capabilities::new().with_context(8000));
    let shown = config.effective_toml();
    for line in [
        "capabilities = { context = 128000, tools = true, vision = false, json_schema = true, prefill = false }",
        "{ target = \"a/m\", capabilities = { context = 8000 } }",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    assert_eq!(good(&with("")).provider("a").unwrap().capabilities, Capabilities::new());
    assert!(good(&with("")).effective_toml().contains("capabilities = {}"));
}

#[test]
fn what_they_cannot_be_is_refused_where_it_stands() {
    for (wrong, key) in [
        ("context = 0", "context"),
        ("context = \"128k\"", "context"),
        ("tools = \"yes\"", "tools"),
        ("functions = true", "functions"),
        ("context_window = 8", "context_window"),
    ] {
        let error = refused(&with(&format!("capabilities = {{ {wrong} }}")));
        assert!(error.problems().iter().any(|problem| problem.key.ends_with(key)), "{wrong}: {error}");
    }
    let error = refused(&with("capabilities = true"));
    assert!(error.to_string().contains("capabilities"), "{error}");
}
