//! An Ollama server by its OpenAI-compatible endpoint: OpenAI's shape on `/v1`, `{"error": "text"}` elsewhere.
//!
//! Source: ollama `server/routes.go`, `openai/openai.go`.

use super::{Finish, FinishRule, Kind, Profile, Rule};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("http://127.0.0.1:11434/v1"),
    rules: RULES,
    finishes: FINISHES,
    ..Profile::new(Kind::Ollama, "Ollama")
};

/// The model was loaded or unloaded, nothing was generated.
pub(super) const FINISHES: &[FinishRule] = &[FinishRule::new(&["load", "unload"], Finish::Failed(Malformed))];

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    Rule::any().text(&["server busy, please try again", "maximum pending requests exceeded"]).is(Overloaded),
    Rule::no_status().text(&["not found, try pulling it first"]).is(NotFound),
];
