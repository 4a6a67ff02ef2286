//! OpenRouter: OpenAI's API in front of many providers, with errors of its own inside 200s.
//!
//! `error.code` is an integer, `error.metadata` says more, `error.availability` replaces both in some replies.
//! Sources: openrouter.ai/docs "errors", "streaming", "limits".

use super::{Kind, Profile, Rule};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://openrouter.ai/api/v1"),
    key_env: Some("OPENROUTER_API_KEY"),
    rules: RULES,
    ..Profile::new(Kind::OpenRouter, "OpenRouter")
};

#[rustfmt::skip]
const RULES: &[Rule] = &[
    // A reservation of credit by calls in flight: gone when they end.
    Rule::on(&[402]).says(&["in_flight_budget_exhausted"]).is(RateLimited),
    Rule::any().says(&["openrouter_free_tier_daily"]).is(RateLimited).daily(),
    Rule::any().says(&["flagged_input", "refusal"]).is(ContentPolicy),
    Rule::any().says(&["max_tokens_exceeded", "token_limit_exceeded"]).is(ContextLength),
    Rule::any().says(&["region_restricted", "privacy_restricted", "permission_denied"]).is(Auth),
    Rule::any().says(&["no_endpoints", "model_deprecated", "model_unavailable_upstream", "wrong_endpoint",
                       "constraint_filtered", "free_variant_ended"]).is(NotFound),
    Rule::any().says(&["capacity_exhausted", "temporarily_unavailable", "provider_overloaded"]).is(Overloaded),
    Rule::on(&[400, 502]).says(&["provider_unavailable"]).is(ServerError),
];
