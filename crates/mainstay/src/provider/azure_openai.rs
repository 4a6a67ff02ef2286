//! Azure OpenAI: OpenAI's shape with string numerals for codes, and a content filter of its own.
//!
//! Sources: learn.microsoft.com/azure/ai-foundry/openai, "content filter" and "quotas and limits".

use super::{Auth, Kind, Profile, Rule};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    key_env: Some("AZURE_OPENAI_API_KEY"),
    auth: Auth::Header("api-key"),
    rules: RULES,
    ..Profile::new(Kind::AzureOpenAi, "Azure OpenAI")
};

#[rustfmt::skip]
const RULES: &[Rule] = &[
    Rule::any().says(&["DeploymentNotFound", "OperationNotSupported"]).is(NotFound),
    Rule::any().says(&["PermissionDenied"]).is(Auth),
    // Capacity of theirs, not a quota of ours.
    Rule::on(&[429]).text(&["experiencing high demand", "no capacity"]).is(Overloaded),
];
