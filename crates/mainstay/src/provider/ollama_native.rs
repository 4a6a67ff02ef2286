//! An Ollama server by its own API, `/api/chat`: what its OpenAI-compatible endpoint has no place for (`think` levels, a
//! template's own tool format) works here. Errors are `{"error": "text"}`, also as a line of a stream.
//!
//! Source: ollama `server/routes.go`, `api/types.go`.

use super::{Kind, Native, Profile, ollama};

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("http://127.0.0.1:11434"),
    native: Native::Ollama,
    rules: ollama::RULES,
    finishes: ollama::FINISHES,
    ..Profile::new(Kind::OllamaNative, "Ollama")
};
