//! Mistral: a flat `{"object": "error", ..}`, its edge's `{"message": ..}`, and FastAPI's `{"detail": [..]}`.
//!
//! Sources: docs.mistral.ai "error glossary"; mistralai/client-python.

use super::{Finish, FinishRule, Kind, Profile, Rule};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.mistral.ai/v1"),
    key_env: Some("MISTRAL_API_KEY"),
    rules: RULES,
    finishes: &[FinishRule::new(&["error"], Finish::Failed(ServerError))],
    ..Profile::new(Kind::Mistral, "Mistral")
};

#[rustfmt::skip]
const RULES: &[Rule] = &[
    // Code 3505: a backend that is full, under a 429 or a 503. 1300 is the caller's own rate.
    Rule::any().code(&["3505"]).is(Overloaded),
    Rule::on(&[429, 503]).text(&["service tier capacity exceeded"]).is(Overloaded),
    Rule::any().says(&["rate_limited"]).is(RateLimited),
];
