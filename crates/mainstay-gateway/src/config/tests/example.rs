//! `mainstay.example.toml` is right: it loads, as it stands and with every setting taken up, and has every key.

use super::super::settings::{Breaker, Limits, Retry, Server, Timeout};
use super::super::{Config, Proxy};

const EXAMPLE: &str = include_str!("../../../mainstay.example.toml");

/// With every `#key` and `#[table]` taken up; prose begins with `# `.
fn taken_up() -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(setting) if setting.starts_with(|c: char| c == '[' || c.is_ascii_lowercase()) => {
            format!("{setting}\n")
        }
        _ => format!("{line}\n"),
    };
    EXAMPLE.lines().map(line).collect()
}

fn load(text: &str) -> Config {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("secrets")).unwrap();
    std::fs::write(folder.path().join("secrets/internal.key"), "sk-internal\n").unwrap();
    std::fs::write(folder.path().join("secrets/internal-ca.pem"), "-----BEGIN CERTIFICATE-----\n").unwrap();
    let aws = "[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = secret\n";
    std::fs::write(folder.path().join("secrets/aws-credentials"), aws).unwrap();
    let env =
        |name: &str| (name == "OPENAI_API_KEY" || name.starts_with("AWS_")).then(|| "sk-test".to_owned());
    let file = folder.path().join("mainstay.toml");
    Config::parse(text, file.to_str().unwrap(), &env).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn it_loads_as_it_stands_without_a_warning() {
    let config = load(EXAMPLE);
    assert_eq!(config.warnings, []);
    assert_eq!(config.providers.len(), 1);
}

#[test]
fn with_every_setting_taken_up_it_still_means_the_defaults() {
    let config = load(&taken_up());
    assert_eq!(config.warnings, []);
    assert_eq!(config.server, Server::default());
    let provider = config.provider("openai").unwrap();
    assert_eq!(provider.retry, Retry::default());
    assert_eq!(provider.timeout, Timeout::default());
    assert_eq!(provider.breaker, Breaker::default());
    assert_eq!(provider.limits, Limits::default());
    let plain = load(EXAMPLE);
    let plain = plain.provider("openai").unwrap();
    assert_eq!(provider.base_url, plain.base_url);
    assert_eq!(provider.default_max_tokens, plain.default_max_tokens);
    assert_eq!((provider.protocol, provider.h2_connections), (plain.protocol, plain.h2_connections));
    assert!(matches!(provider.proxy, Proxy::Env));
    assert_eq!((config.routes.len(), config.prices.len()), (3, 2));
    let bedrock = config.provider("bedrock").unwrap();
    assert_eq!(bedrock.base_url.as_str(), "https://bedrock-runtime.us-east-1.amazonaws.com");
    assert_eq!(bedrock.keys().count(), 3);
    let file = config.provider("aws").and_then(|provider| provider.credentials_file());
    assert!(file.is_some_and(|file| file.path().ends_with("secrets/aws-credentials")));
}

#[test]
fn it_has_every_key() {
    let text = taken_up();
    let has = |key: &str| {
        let mut lines = text.lines();
        lines.any(|line| {
            line.starts_with(&format!("{key} = "))
                || line.starts_with('[') && line.trim_matches(['[', ']']).split('.').any(|part| part == key)
                || line.contains(&format!("{{ {key} = "))
                || line.contains(&format!(", {key} = "))
        })
    };
    // What a table has, it says itself when it is asked for something else.
    let with = |lines: &str| super::with(lines);
    for text in [
        "zzzz = 1\n".to_owned(),
        "[server]\nzzzz = 1\n".to_owned(),
        "[defaults]\nzzzz = 1\n".to_owned(),
        with("zzzz = 1"),
        with("retry.zzzz = 1"),
        with("retry.budget.zzzz = 1"),
        with("timeout.zzzz = 1"),
        with("breaker.zzzz = 1"),
        with("limits.zzzz = 1"),
        with("capabilities.zzzz = 1"),
        with("").replace("[[routes]]", "[[routes]]\nzzzz = 1"),
        with("limits.adaptive.zzzz = 1"),
        with("").replace("[\"a\"]", "[{ zzzz = 1 }]"),
        with("[prices.m]\nzzzz = 1"),
    ] {
        let error = super::refused(&text);
        let problem = error.problems().iter().find(|problem| problem.key.ends_with("zzzz")).unwrap();
        for key in problem.expected.trim_start_matches("one of ").split(", ") {
            assert!(has(key), "{key} ({}) is not in the example", problem.key);
        }
    }
}
