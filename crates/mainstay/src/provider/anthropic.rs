//! Anthropic's Messages API: `{"type": "error", "error": {"type", "message", "details"?}}`.
//!
//! Some failures are told by the message alone: an empty account and a prompt that is too long are plain 400s.
//! Sources: docs.claude.com "errors" and "rate limits"; anthropic-sdk-python.

use super::{Auth, Kind, Native, Profile, Rule};
use mainstay_layers::classify::Class::*;

/// The `anthropic-version` that is sent when the caller sends none.
pub const VERSION: &str = "2023-06-01";

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.anthropic.com"),
    key_env: Some("ANTHROPIC_API_KEY"),
    auth: Auth::Header("x-api-key"),
    headers: &[("anthropic-version", VERSION)],
    default_max_tokens: Some(8192),
    native: Native::Anthropic,
    rules: RULES,
    ..Profile::new(Kind::Anthropic, "Anthropic")
};

#[rustfmt::skip]
const RULES: &[Rule] = &[
    Rule::any().says(&["enforced_spend_limit_reached"]).is(QuotaExhausted),
    Rule::on(&[400, 500, 529]).kind(&["overloaded_error"]).is(Overloaded).stands_for(529),
    Rule::on(&[400]).kind(&["api_error", "internal_error"]).is(ServerError),
    Rule::on(&[400, 403]).text(&["credit balance is too low", "specified api usage limits"]).is(QuotaExhausted),
    Rule::on(&[400, 413]).text(&["request size exceeds model context window"]).is(ContextLength),
];
