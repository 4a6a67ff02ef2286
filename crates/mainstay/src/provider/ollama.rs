//! An Ollama server: `{"error": "text"}` natively, OpenAI's shape on `/v1`.
//!
//! Source: ollama `server/routes.go`, `openai/openai.go`.

use super::{Finish, FinishRule, Kind, Profile, Rule};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("http://127.0.0.1:11434/v1"),
    rules: RULES,
    // The model was loaded or unloaded, nothing was generated.
    finishes: &[FinishRule::new(&["load", "unload"], Finish::Failed(Malformed))],
    ..Profile::new(Kind::Ollama, "Ollama")
};

#[rustfmt::skip]
const RULES: &[Rule] = &[
    Rule::any().text(&["server busy, please try again", "maximum pending requests exceeded"]).is(Overloaded),
    Rule::no_status().text(&["not found, try pulling it first"]).is(NotFound),
];
