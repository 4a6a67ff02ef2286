//! xAI: OpenAI's API; errors may be flat, `{"code": "words", "error": "words"}`, and a refused key is a 400.
//!
//! Sources: docs.x.ai; continuedev/continue#10373, #10778 (what is really sent).

use super::{Kind, Profile, Rule};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://api.x.ai/v1"),
    key_env: Some("XAI_API_KEY"),
    rules: RULES,
    ..Profile::new(Kind::Xai, "xAI")
};

#[rustfmt::skip]
const RULES: &[Rule] = &[
    // An empty account, told as a rate limit or as a missing permission.
    Rule::on(&[403, 429]).text(&["used all available credits", "run out of credits"]).is(QuotaExhausted),
    // The words may come percent-encoded.
    Rule::on(&[400]).text(&["incorrect*key*provided"]).is(Auth),
];
