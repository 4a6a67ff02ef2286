//! Amazon Bedrock by `Converse` and `ConverseStream`, with a bearer key or requests that are signed
//! ([`sigv4`](crate::sigv4)).
//!
//! Sources: botocore `bedrock-runtime/2023-09-30/service-2.json`; the Bedrock user guide, "Using the Converse API".

use super::{Kind, Native, Profile, bedrock};

pub(super) static PROFILE: Profile = Profile {
    key_env: Some("AWS_BEARER_TOKEN_BEDROCK"),
    idempotency_key: false,
    native: Native::Converse,
    rules: bedrock::RULES,
    ..Profile::new(Kind::BedrockConverse, "Amazon Bedrock")
};
