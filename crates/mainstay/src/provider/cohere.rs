//! Cohere by its OpenAI-compatible endpoint. Errors are flat, `{"message": .., "id"?}`.
//!
//! Sources: docs.cohere.com "errors", "compatibility API"; cohere-python `errors/`, `core/http_client.py`.

use super::{Finish, FinishRule, Kind, Profile, Rule};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.cohere.ai/compatibility/v1"),
    key_env: Some("CO_API_KEY"),
    rules: RULES,
    finishes: FINISHES,
    ..Profile::new(Kind::Cohere, "Cohere")
};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    // A token on a deny list. Groq's 498 is something else.
    Rule::on(&[498]).is(ContentPolicy),
    Rule::on(&[429]).text(&["calls / month", "calls/month"]).is(QuotaExhausted),
];

#[rustfmt::skip]
pub(super) const FINISHES: &[FinishRule] = &[
    FinishRule::new(&["ERROR"], Finish::Failed(ServerError)),
    FinishRule::new(&["TIMEOUT"], Finish::Failed(Timeout)),
    FinishRule::new(&["ERROR_LIMIT"], Finish::Failed(ContextLength)),
    FinishRule::new(&["ERROR_TOXIC"], Finish::Filtered),
];
