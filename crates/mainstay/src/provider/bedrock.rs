//! Amazon Bedrock: `{"message": ..}`, with the type in `x-amzn-ErrorType`, in `__type`, or in a stream's
//! `:exception-type`. Here it is its OpenAI-compatible endpoint, which takes bearer keys.
//!
//! Sources: botocore `bedrock-runtime/2023-09-30/service-2.json`, `retries/standard.py`.

use super::{Kind, Profile, Rule};
use mainstay_layers::classify::Class::*;

pub(super) static PROFILE: Profile = Profile {
    key_env: Some("AWS_BEARER_TOKEN_BEDROCK"),
    idempotency_key: false,
    rules: RULES,
    ..Profile::new(Kind::Bedrock, "Amazon Bedrock")
};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    Rule::any().kind(&["ThrottlingException"]).text(&["per day"]).is(RateLimited).daily(),
    // A cold model: it warms up while one waits.
    Rule::any().kind(&["ThrottlingException", "ModelNotReadyException"]).is(RateLimited),
    Rule::any().kind(&["ServiceQuotaExceededException"]).is(QuotaExhausted),
    Rule::any().kind(&["AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException",
                       "InvalidSignatureException", "MissingAuthenticationTokenException"]).is(Auth),
    Rule::any().kind(&["ResourceNotFoundException"]).is(NotFound),
    Rule::any().kind(&["ModelTimeoutException"]).is(Timeout),
    Rule::any().kind(&["ModelErrorException", "ModelStreamErrorException", "InternalServerException"]).is(ServerError),
    Rule::any().kind(&["ServiceUnavailableException"]).is(Overloaded),
    Rule::any().kind(&["ValidationException"]).text(&["on-demand throughput isn't supported",
                       "on-demand throughput isn\u{2019}t supported"]).is(NotFound),
    Rule::no_status().kind(&["ValidationException"]).text(&["too long"]).is(ContextLength),
    Rule::no_status().kind(&["ValidationException"]).is(InvalidRequest),
];
