//! DeepSeek: OpenAI's API, but its `code` is often `invalid_request_error` whatever happened, so the status counts.
//!
//! Sources: api-docs.deepseek.com "error codes", "rate limit", "create chat completion" (`finish_reason`).

use super::{Finish, FinishRule, Kind, Profile};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.deepseek.com"),
    key_env: Some("DEEPSEEK_API_KEY"),
    finishes: &[FinishRule::new(&["insufficient_system_resource"], Finish::Failed(Overloaded))],
    ..Profile::new(Kind::DeepSeek, "DeepSeek")
};
