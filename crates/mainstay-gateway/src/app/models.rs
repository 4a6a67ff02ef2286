//! `GET /v1/models`: what can be asked for, in the shape of who asks.

use crate::config::Config;
use http::HeaderMap;
use mainstay::{dialect::ErrorFamily, peek::percent_decoded};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The models that can be asked for by name: the exact names of routes, and what providers and targets name, each as a
/// call for it finds the way there.
#[derive(Clone, Debug)]
pub struct ModelList(Vec<(String, String)>);

/// A time for models that have none of their own: the shapes demand one.
const CREATED: u64 = 1_700_000_000;
const CREATED_AT: &str = "2023-11-14T22:13:20Z";

impl ModelList {
    /// The models of a configuration, sorted by name, each with who owns it.
    pub fn new(config: &Config) -> Self {
        let mut all = BTreeSet::new();
        for route in &config.routes {
            let owner = route.targets.first().map_or("mainstay", |target| &target.provider);
            for model in route.models.iter().filter(|model| !model.contains('*')) {
                all.insert((model.clone(), owner.to_owned()));
            }
        }
        for provider in &config.providers {
            for model in &provider.models {
                let owner = &provider.name;
                // By a route that hands names on to it, such as `gpt-*`.
                if config.hands_on(model, owner) && !all.iter().any(|(name, _)| name == model) {
                    all.insert((model.clone(), owner.clone()));
                }
                all.extend(named(config, owner, model));
            }
        }
        for target in config.routes.iter().flat_map(|route| &route.targets) {
            if let Some(model) = &target.model {
                all.extend(named(config, &target.provider, model));
            }
        }
        Self(all.into_iter().collect())
    }

    /// The list, in the shape that `headers` ask for.
    pub fn list(&self, headers: &HeaderMap) -> Value {
        self.list_for(asker(headers))
    }

    /// The list, in the shape of `family`.
    pub fn list_for(&self, family: ErrorFamily) -> Value {
        let data: Vec<Value> = self.0.iter().map(|(model, owner)| entry(model, owner, family)).collect();
        match family {
            ErrorFamily::OpenAi => json!({"object": "list", "data": data}),
            ErrorFamily::Anthropic => json!({
                "data": data,
                "has_more": false,
                "first_id": self.0.first().map(|(model, _)| model),
                "last_id": self.0.last().map(|(model, _)| model),
            }),
            ErrorFamily::Gemini => json!({"models": data}),
        }
    }

    /// One model that a route answers for.
    pub fn one(&self, model: &str, family: ErrorFamily) -> Value {
        let owner = self.0.iter().find(|(name, _)| name == model).map_or("mainstay", |(_, owner)| owner);
        entry(model, owner, family)
    }
}

/// A model under its provider's name, if no route takes that for something else.
fn named(config: &Config, provider: &str, model: &str) -> Option<(String, String)> {
    let name = format!("{provider}/{model}");
    config.is_direct(&name).then(|| (name, provider.to_owned()))
}

fn entry(model: &str, owner: &str, family: ErrorFamily) -> Value {
    match family {
        ErrorFamily::OpenAi => json!({"id": model, "object": "model", "created": CREATED, "owned_by": owner}),
        ErrorFamily::Anthropic => {
            json!({"type": "model", "id": model, "display_name": model, "created_at": CREATED_AT})
        }
        ErrorFamily::Gemini => json!({
            "name": format!("models/{model}"),
            "displayName": model,
            "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
        }),
    }
}

/// Whose SDK asks, by the headers that only it sends.
pub(super) fn asker(headers: &HeaderMap) -> ErrorFamily {
    if headers.contains_key("anthropic-version") {
        ErrorFamily::Anthropic
    } else if headers.contains_key("x-goog-api-key") {
        ErrorFamily::Gemini
    } else {
        ErrorFamily::OpenAi
    }
}

/// A name in a path: `%2F` is a slash. What is no encoding stays as it is.
pub(super) fn decode(path: &str) -> String {
    String::from_utf8_lossy(&percent_decoded(path)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<String> {
        let config = Config::parse(text, "mainstay.toml", &|_| None).unwrap();
        ModelList::new(&config).0.into_iter().map(|(model, _)| model).collect()
    }

    const PROVIDERS: &str =
        "[providers.a]\nkind = \"openai\"\nmodels = [\"gpt-5\", \"o3\"]\n[providers.b]\nkind = \"groq\"\n";

    #[test]
    fn where_all_routes_are_patterns_what_providers_and_targets_name_is_listed() {
        let route = "[[routes]]\nmodels = [\"gpt-*\"]\ntargets = [\"a\", \"b/llama\"]\n";
        assert_eq!(listed(&format!("{PROVIDERS}{route}")), ["a/gpt-5", "a/o3", "b/llama", "gpt-5"]);
    }

    #[test]
    fn what_a_route_takes_for_something_else_is_not_listed() {
        let all = "[[routes]]\nmodels = [\"*\"]\ntargets = [\"a\", \"b/llama\"]\n";
        assert_eq!(listed(&format!("{PROVIDERS}{all}")), ["gpt-5", "o3"]);
        let renamed = "[[routes]]\nmodels = [\"gpt-*\", \"fast\"]\ntargets = [\"b/llama\"]\n";
        assert_eq!(listed(&format!("{PROVIDERS}{renamed}")), ["a/gpt-5", "a/o3", "b/llama", "fast"]);
    }

    #[test]
    fn an_exact_name_is_listed_once() {
        let exact = "[[routes]]\nmodels = [\"gpt-5\"]\ntargets = [\"b\", \"a\"]\n";
        assert_eq!(listed(&format!("{PROVIDERS}{exact}")), ["a/gpt-5", "a/o3", "gpt-5"]);
    }

    #[test]
    fn a_name_in_a_path_is_decoded_and_what_is_no_encoding_stays() {
        for (path, name) in
            [("a%2Fb", "a/b"), ("a/b", "a/b"), ("100%", "100%"), ("%zz", "%zz"), ("%C3%A9", "é")]
        {
            assert_eq!(decode(path), name);
        }
    }
}
