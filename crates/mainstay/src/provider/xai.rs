//! xAI: OpenAI's API; some errors are `{"code": "words", "error": "words"}`. Source: docs.x.ai.

use super::{Kind, Profile};

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.x.ai/v1"),
    key_env: Some("XAI_API_KEY"),
    ..Profile::new(Kind::Xai, "xAI")
};
