//! Cohere by its own API, `/v2/chat`. Errors are flat, `{"message": .., "id"?}`.
//!
//! Sources: docs.cohere.com "errors", "streaming"; cohere-python `v2/`, `types/`.

use super::{Kind, Native, Profile, cohere};

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.cohere.com"),
    key_env: Some("CO_API_KEY"),
    native: Native::Cohere,
    rules: cohere::RULES,
    finishes: cohere::FINISHES,
    ..Profile::new(Kind::CohereV2, "Cohere")
};
