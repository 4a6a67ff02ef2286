//! What providers have in common: the codes that they borrow from each other, and phrases that only one thing is said
//! with. Read from the top, the first match wins; what a provider means by itself stands in its own file.

use super::Rule;
use mainstay_layers::classify::Class::*;

/// Types, codes and reasons that say what happened, whatever the status.
#[rustfmt::skip]
pub(super) const WORDS: &[Rule] = &[
    // OpenAI: a 429 that no wait cures.
    Rule::any().says(&["insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
                       "project_spend_limit_exceeded", "organization_usage_limit_exceeded", "billing_hard_limit_reached",
                       "billing_not_active", "billing_error", "payment_required"]).is(QuotaExhausted),
    // One request that is larger than its whole quota. The code is that of any rate limit.
    Rule::on(&[413, 429]).text(&["request too large for*limit*requested"]).is(TooLarge),
    Rule::any().says(&["request_too_large"]).is(TooLarge),
    Rule::any().says(&["context_length_exceeded", "exceed_context_size_error"]).is(ContextLength),
    Rule::any().says(&["content_filter", "content_policy_violation", "moderation_blocked", "bio_policy", "invalid_prompt",
                       "ResponsibleAIPolicyViolation"]).is(ContentPolicy),
    Rule::any().says(&["invalid_api_key", "unsupported_country_region_territory"]).is(Auth),
    Rule::any().says(&["model_not_found"]).is(NotFound),

    // google.rpc, also behind OpenAI's shape. A daily quota comes with the RetryInfo of the minute.
    Rule::on(&[429]).says(&["quotaValue=0"]).is(QuotaExhausted),
    Rule::on(&[429]).kind(&["RESOURCE_EXHAUSTED"]).text(&["limit: 0"]).is(QuotaExhausted),
    Rule::on(&[429]).says(&["*PerDay*"]).is(RateLimited).daily(),
    Rule::any().says(&["API_KEY_INVALID", "SERVICE_DISABLED", "API_KEY_SERVICE_BLOCKED"]).is(Auth),
    // A region that is not served, or billing that is not switched on.
    Rule::on(&[400]).kind(&["FAILED_PRECONDITION"]).is(Auth),

    // Capacity, whether it is told with a 400, a 429 or a 5xx.
    Rule::on(&[400, 429, 500, 502, 503, 529])
        .says(&["server_is_overloaded", "overloaded_error", "overloaded", "service_unavailable_error", "service_unavailable",
                "unavailable_error"]).is(Overloaded),
    // A 400 whose code says that it is the server's fault. The type alone is not enough: it stands on anything.
    Rule::on(&[400]).code(&["server_error", "internal_error", "internal_server_error"]).is(ServerError),
    Rule::on(&[400]).kind(&["server_error"]).text(&["overloaded"]).is(Overloaded),
    Rule::on(&[400]).kind(&["server_error"])
        .text(&["server had an error", "internal error", "internal server error"]).is(ServerError),
];

/// Phrases.
#[rustfmt::skip]
pub(super) const PHRASES: &[Rule] = &[
    Rule::on(&[400, 413, 422]).text(&[
        "maximum context length is", "model's maximum context limit", "is longer than the model's context length",
        "exceed context limit", "exceeds the context window", "exceeds the available context size",
        "exceeds the maximum number of tokens allowed", "input tokens exceed the configured limit",
        "`inputs` tokens + `max_new_tokens` must be", "string too long. expected a string with maximum length",
        "current length is*while limit is", "prompt is too long:", "input is too long for requested model",
    ]).is(ContextLength),
    Rule::on(&[400, 403]).text(&["credit balance is too low", "insufficient balance", "insufficient credits",
                                 "billing hard limit has been reached"]).is(QuotaExhausted),
];

/// What a type stands for where there is no status: an error inside a 200.
#[rustfmt::skip]
pub(super) const TYPES: &[Rule] = &[
    Rule::no_status().says(&["rate_limit_exceeded", "rate_limit_error", "rate_limited", "slow_down", "too_many_requests",
                             "RESOURCE_EXHAUSTED", "RateLimitError", "throttlingException", "*Throttling*"]).is(RateLimited),
    Rule::no_status().says(&["UNAVAILABLE", "serviceUnavailableException", "provider_overloaded",
                             "ServiceUnavailableError"]).is(Overloaded),
    Rule::no_status().says(&["timeout", "timeout_error", "DEADLINE_EXCEEDED", "modelTimeoutException"]).is(Timeout),
    Rule::no_status().says(&["server_error", "api_error", "internal_error", "internal_server_error", "InternalServerError",
                             "INTERNAL", "UNKNOWN", "ABORTED", "DATA_LOSS", "provider_unavailable"]).is(ServerError),
    Rule::no_status().says(&["authentication_error", "permission_error", "permission_denied", "UNAUTHENTICATED",
                             "PERMISSION_DENIED", "AuthenticationError", "PermissionDeniedError",
                             "request_forbidden"]).is(Auth),
    Rule::no_status().says(&["not_found_error", "not_found", "NOT_FOUND", "NotFoundError", "not_supported_error",
                             "UNIMPLEMENTED"]).is(NotFound),
    Rule::no_status().says(&["CANCELLED"]).is(Cancelled),
    Rule::no_status().says(&["invalid_request_error", "invalid_request", "BadRequestError", "INVALID_ARGUMENT",
                             "OUT_OF_RANGE", "UnprocessableEntityError",
                             "validationException"]).is(InvalidRequest),
];
