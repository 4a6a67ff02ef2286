//! OpenAI, and the many servers that speak its API.
//!
//! Its error codes are those that others borrow, so they stand in the common table.
//! Sources: platform.openai.com/docs/guides/error-codes; openai-openapi `Error`, `ResponseErrorCode`.

use super::{Kind, Profile};

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.openai.com/v1"),
    key_env: Some("OPENAI_API_KEY"),
    ..Profile::new(Kind::OpenAi, "OpenAI")
};
