//! Fireworks AI: OpenAI's API. Source: docs.fireworks.ai "inference error codes".

use super::{Kind, Profile};

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.fireworks.ai/inference/v1"),
    key_env: Some("FIREWORKS_API_KEY"),
    ..Profile::new(Kind::Fireworks, "Fireworks AI")
};
