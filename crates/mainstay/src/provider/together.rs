//! Together AI: OpenAI's API. Source: docs.together.ai "error codes".

use super::{Kind, Profile};

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.together.xyz/v1"),
    key_env: Some("TOGETHER_API_KEY"),
    ..Profile::new(Kind::Together, "Together AI")
};
