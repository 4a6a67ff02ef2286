//! The offline demo: what is served where there is no configuration.
//!
//! Scripted providers inside the process, well and ill, and routes over them; with a key of OpenAI's or Anthropic's in the
//! environment, the real ones too.

use crate::config::{Config, ConfigError};
use mainstay_testkit::demo::DemoProviders;
use std::{fmt::Write, net::SocketAddr};

/// The demo's configuration, as a file would have it.
///
/// # Errors
/// As [`Config::parse`]: only where a key in the environment cannot be used.
pub fn config(
    providers: &DemoProviders,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, ConfigError> {
    Config::parse(&text(providers, env), "the offline demo", env)
}

/// Its text: a reader can take it as the start of a file of his own.
fn text(demo: &DemoProviders, env: &dyn Fn(&str) -> Option<String>) -> String {
    let mut text = String::from(
        "[defaults.retry]\nbase_delay = \"200ms\"\n\n[defaults.timeout]\nidle = \"2s\"\nattempt = \"10s\"\n",
    );
    let mut provider = |name: &str, kind: &str, url: &str, more: &str| {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n[providers.{name}]\nkind = \"{kind}\"\nbase_url = \"{url}\"\n{more}");
    };
    // Both SDKs find each of them: one target for each dialect.
    for (name, of) in
        [("well", &demo.well), ("flaky", &demo.flaky), ("limited", &demo.limited), ("stall", &demo.stall)]
    {
        provider(name, "openai", of.base_url(), "");
        provider(&format!("{name}-messages"), "anthropic", of.host_url(), "");
    }
    provider("down", "openai", demo.down.base_url(), "");
    provider("down-messages", "anthropic", demo.down.host_url(), "");
    let real = |variable: &str| env(variable).is_some_and(|key| !key.trim().is_empty());
    let (openai, anthropic) = (real("OPENAI_API_KEY"), real("ANTHROPIC_API_KEY"));
    if openai {
        provider("openai", "openai", "https://api.openai.com/v1", "api_key_env = \"OPENAI_API_KEY\"\n");
    }
    if anthropic {
        provider(
            "anthropic",
            "anthropic",
            "https://api.anthropic.com",
            "api_key_env = \"ANTHROPIC_API_KEY\"\n",
        );
    }
    let mut route = |models: &str, targets: &str| {
        let _ = write!(text, "\n[[routes]]\nmodels = [{models}]\ntargets = [{targets}]\n");
    };
    route("\"demo\"", "\"well\", \"well-messages\"");
    for name in ["flaky", "limited", "stall"] {
        route(&format!("\"demo-{name}\""), &format!("\"{name}\", \"{name}-messages\""));
    }
    route("\"demo-fallback\"", "\"down\", \"down-messages\", \"well\", \"well-messages\"");
    if openai {
        route("\"gpt-*\", \"o1*\", \"o3*\", \"o4*\", \"text-embedding-*\"", "\"openai\"");
    }
    if anthropic {
        route("\"claude-*\"", "\"anthropic\"");
    }
    text
}

/// What to type, for the person who has just started it.
pub fn welcome(address: SocketAddr, config: &Config) -> String {
    let url = format!("http://{address}");
    let call = |what: &str, model: &str, more: &str| {
        format!(
            "  # {what}\n  curl -s {url}/v1/chat/completions -H 'content-type: application/json' \\\n    \
             -d '{{\"model\": \"{model}\", \"messages\": [{{\"role\": \"user\", \"content\": \"hi\"}}]{more}}}'\n\n"
        )
    };
    let mut text = format!(
        "\nMainstay serves an offline demo on {url}: scripted providers, no key, no network.\n\
         Three calls that survive what would have failed:\n\n"
    );
    text += &call("a provider that answers 503 twice: tried again until it is well", "demo-flaky", "");
    text +=
        &call("a provider that is rate limited for a second: waited for, not hammered", "demo-limited", "");
    text += &call(
        "a provider that is down: the next one streams the answer",
        "demo-fallback",
        ", \"stream\": true",
    );
    text += &format!(
        "Any SDK: base_url {url}/v1 (OpenAI) or {url} (Anthropic), any key, model \"demo\".\n\
         Also there: demo-stall (falls silent in mid-stream), {url}/metrics, {url}/v1/models.\n"
    );
    let real: Vec<_> =
        ["openai", "anthropic"].into_iter().filter(|name| config.provider(name).is_some()).collect();
    if !real.is_empty() {
        text += &format!("With the keys of your environment, the real ones too: {}.\n", real.join(", "));
    }
    text += "Your own providers: put them into ./mainstay.toml (see README.md).\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_demo_is_a_configuration_that_is_accepted_with_and_without_keys() {
        let demo = DemoProviders::start().await.unwrap();
        let bare = config(&demo, &|_| None).unwrap();
        assert!(bare.provider("openai").is_none());
        let with = config(&demo, &|_| Some("sk-0123456789".into())).unwrap();
        assert!(with.provider("openai").is_some() && with.provider("anthropic").is_some());
        let address = SocketAddr::from(([127, 0, 0, 1], 8080));
        assert_eq!(welcome(address, &bare).matches("curl ").count(), 3);
    }
}
