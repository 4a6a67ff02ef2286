//! Groq: OpenAI's shape; a few statuses and codes of its own.
//!
//! Sources: console.groq.com/docs/errors, /docs/rate-limits; groq-python.

use super::{Kind, Profile, Rule};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.groq.com/openai/v1"),
    key_env: Some("GROQ_API_KEY"),
    rules: RULES,
    ..Profile::new(Kind::Groq, "Groq")
};

#[rustfmt::skip]
const RULES: &[Rule] = &[
    // The model wrote a call or a document that is none: another throw of the dice may do.
    Rule::on(&[400]).code(&["tool_use_failed", "json_validate_failed"]).is(Malformed).neutral().stands_for(502),
    // The flex tier is full. Cohere's 498 is something else.
    Rule::on(&[498]).is(Overloaded),
    Rule::any().says(&["capacity_exceeded"]).is(Overloaded),
];
