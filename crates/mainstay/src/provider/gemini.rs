//! Google's Gemini API: `{"error": {"code": int, "message", "status", "details": [..]}}`, google.rpc.Status as JSON.
//!
//! What belongs to google.rpc stands in the common table, since it is met behind OpenAI's shape too.
//! Sources: ai.google.dev "troubleshooting"; googleapis google/rpc/{code,error_details}.proto; python-genai.

use super::{Auth, Finish, FinishRule, Kind, Native, Profile, Rule};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    base_url: Some("https://generativelanguage.googleapis.com"),
    key_env: Some("GEMINI_API_KEY"),
    auth: Auth::Header("x-goog-api-key"),
    native: Native::Gemini,
    rules: RULES,
    finishes: FINISHES,
    ..Profile::new(Kind::Gemini, "Gemini")
};

#[rustfmt::skip]
const RULES: &[Rule] = &[
    Rule::on(&[400]).text(&["api key not valid", "api key expired"]).is(Auth),
];

#[rustfmt::skip]
const FINISHES: &[FinishRule] = &[
    FinishRule::new(
        &["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
          "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"],
        Finish::Filtered,
    ),
    FinishRule::new(
        &["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE"],
        Finish::Flaked,
    ),
];
