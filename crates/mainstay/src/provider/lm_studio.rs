//! LM Studio: OpenAI's shape; a context that overflowed is told inside a 200, or not at all.

use super::{Kind, Profile};

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("http://127.0.0.1:1234/v1"),
    empty_is_overflow: true,
    ..Profile::new(Kind::LmStudio, "LM Studio")
};
