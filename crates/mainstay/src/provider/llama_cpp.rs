//! A llama.cpp server: OpenAI's shape, integer codes, types of its own.
//!
//! Source: llama.cpp `tools/server`.

use super::{Kind, Profile, Rule};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    // Its own default port, 8080, is the gateway's too: a guessed address would make it call itself.
    base_url: None,
    rules: RULES,
    ..Profile::new(Kind::LlamaCpp, "llama.cpp")
};

#[rustfmt::skip]
const RULES: &[Rule] = &[
    Rule::any().kind(&["exceed_context_size_error"]).is(ContextLength),
    Rule::any().kind(&["unavailable_error"]).is(Overloaded),
    Rule::any().kind(&["not_supported_error"]).is(NotFound),
];
