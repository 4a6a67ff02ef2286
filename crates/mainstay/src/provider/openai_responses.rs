//! OpenAI asked for Responses, whatever its callers speak: some of its models are to be had there only.
//!
//! Source: platform.openai.com/docs/models, "Endpoints" of each model.

use super::{Kind, Profile};

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.openai.com/v1"),
    key_env: Some("OPENAI_API_KEY"),
    ..Profile::new(Kind::OpenAiResponses, "OpenAI Responses")
};
