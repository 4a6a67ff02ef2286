//! Errors as the callers of each dialect expect them.

use super::{Dialect, ErrorFamily};
use crate::sse;
use bytes::Bytes;
use serde::Serialize;

/// One try that failed, as the list in an error shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The model that was asked for there.
    pub model: String,
    /// The status of its reply; `None` where there was none.
    pub status: Option<u16>,
    /// The class of the outcome, in snake_case.
    pub class: &'static str,
    /// The provider's words or ours. Never a key, never a prompt.
    pub message: String,
    /// How long the try took, in milliseconds.
    pub ms: u64,
}

/// What an error says, before it has a shape.
#[derive(Clone, Copy, Debug)]
pub struct ErrorBody<'a> {
    /// The status that the reply has, or that a stream's error stands for. The error's type follows from it.
    pub status: u16,
    /// Our own code, such as `circuit_open`, or the provider's.
    pub code: Option<&'a str>,
    /// The provider's own type, in place of the one that follows from the status. Gemini has no such field.
    pub error_type: Option<&'a str>,
    /// The words for people.
    pub message: &'a str,
    /// The field of the request that is at fault.
    pub param: Option<&'a str>,
    /// The tries that were made.
    pub attempts: &'a [Attempt],
}

impl<'a> ErrorBody<'a> {
    /// An error with a code of ours and nothing else.
    pub fn new(status: u16, code: &'a str, message: &'a str) -> Self {
        Self { status, code: Some(code), error_type: None, message, param: None, attempts: &[] }
    }
}

#[derive(Serialize)]
struct OpenAi<'a> {
    error: OpenAiError<'a>,
}

#[derive(Serialize)]
struct OpenAiError<'a> {
    message: &'a str,
    r#type: &'a str,
    param: Option<&'a str>,
    code: Option<&'a str>,
    attempts: &'a [Attempt],
}

#[derive(Serialize)]
struct Anthropic<'a> {
    r#type: &'static str,
    error: AnthropicError<'a>,
}

#[derive(Serialize)]
struct AnthropicError<'a> {
    r#type: &'a str,
    message: &'a str,
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<AnthropicDetails>,
    attempts: &'a [Attempt],
}

/// Why a request could not be had, in a word that Anthropic's SDK acts on.
#[derive(Serialize)]
struct AnthropicDetails {
    error_code: &'static str,
    unsupported: [&'static str; 1],
}

impl AnthropicDetails {
    /// The SDK's tool runner asks the server to hold the conversation, and goes on without when it is told that this
    /// cannot be had (anthropic-sdk-python `lib/threads`); of any other 400 it makes an exception.
    fn of(error: &ErrorBody<'_>) -> Option<Self> {
        let thread =
            error.status == 400 && error.code == Some("invalid_request") && error.param == Some("thread");
        thread.then_some(Self { error_code: "thread_unsupported_request", unsupported: ["thread"] })
    }
}

#[derive(Serialize)]
struct ResponsesEvent<'a> {
    r#type: &'static str,
    error: OpenAiError<'a>,
    sequence_number: u64,
}

#[derive(Serialize)]
struct Gemini<'a> {
    error: GeminiError<'a>,
}

#[derive(Serialize)]
struct GeminiError<'a> {
    code: u16,
    message: &'a str,
    status: &'static str,
    details: Vec<Detail<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Detail<'a> {
    Reason {
        #[serde(rename = "@type")]
        kind: &'static str,
        reason: &'a str,
        domain: &'static str,
    },
    #[serde(rename_all = "camelCase")]
    Field {
        #[serde(rename = "@type")]
        kind: &'static str,
        field_violations: [Violation<'a>; 1],
    },
    Attempts {
        #[serde(rename = "@type")]
        kind: &'static str,
        attempts: &'a [Attempt],
    },
}

#[derive(Serialize)]
pub(super) struct Violation<'a> {
    field: &'a str,
    description: &'a str,
}

impl<'a> Detail<'a> {
    pub(super) fn attempts(attempts: &'a [Attempt]) -> Self {
        Detail::Attempts { kind: "type.googleapis.com/mainstay.Attempts", attempts }
    }
}

/// The JSON body of an error reply.
///
/// ```
/// use mainstay::dialect::{ErrorBody, ErrorFamily, render_error};
///
/// let error = ErrorBody::new(503, "circuit_open", "the circuit of `a` is open");
/// assert_eq!(
///     render_error(ErrorFamily::Anthropic, &error),
///     r#"{"type":"error","error":{"type":"overloaded_error","message":"the circuit of `a` is open","code":"circuit_open","attempts":[]}}"#
/// );
/// ```
pub fn render_error(family: ErrorFamily, error: &ErrorBody<'_>) -> Bytes {
    match family {
        ErrorFamily::OpenAi => json(&OpenAi { error: openai(error) }),
        ErrorFamily::Anthropic => json(&Anthropic {
            r#type: "error",
            error: AnthropicError {
                r#type: error.error_type.unwrap_or_else(|| anthropic_type(error.status)),
                message: error.message,
                code: error.code,
                param: error.param,
                details: AnthropicDetails::of(error),
                attempts: error.attempts,
            },
        }),
        ErrorFamily::Gemini => json(&Gemini {
            error: GeminiError {
                code: error.status,
                message: error.message,
                status: gemini_status(error.status),
                details: details(error),
            },
        }),
    }
}

/// The event that ends a stream with an error. Neither `[DONE]` nor `message_stop` may follow it.
///
/// `sequence` is the number of the event in a Responses stream, [`StreamReader::events`](super::StreamReader::events);
/// others have none. A stream in lines of JSON gets a line.
pub fn render_stream_error(dialect: Dialect, error: &ErrorBody<'_>, sequence: u64) -> Bytes {
    let body = render_error(dialect.error_family(), error);
    match dialect {
        Dialect::Messages => sse::encode(Some("error"), &body),
        Dialect::Responses => {
            let event = ResponsesEvent { r#type: "error", error: openai(error), sequence_number: sequence };
            sse::encode(Some("error"), &json(&event))
        }
        Dialect::Ollama => [&body[..], b"\n"].concat().into(),
        _ => sse::encode(None, &body),
    }
}

/// What closes a whole stream in this dialect where the provider left it out: `[DONE]`, for those that have it.
pub fn stream_end(dialect: Dialect) -> Option<Bytes> {
    match dialect {
        Dialect::ChatCompletions | Dialect::Completions => Some(Bytes::from_static(sse::DONE)),
        _ => None,
    }
}

/// A sign of life for a caller that waits: no event, or one that its dialect ignores.
pub fn keepalive(dialect: Dialect) -> Bytes {
    Bytes::from_static(match dialect {
        Dialect::Messages => b"event: ping\ndata: {\"type\": \"ping\"}\n\n",
        _ => b": waiting\n\n",
    })
}

fn openai<'a>(error: &ErrorBody<'a>) -> OpenAiError<'a> {
    OpenAiError {
        message: error.message,
        r#type: error.error_type.unwrap_or_else(|| openai_type(error.status)),
        param: error.param,
        code: error.code,
        attempts: error.attempts,
    }
}

fn details<'a>(error: &ErrorBody<'a>) -> Vec<Detail<'a>> {
    let reason = error.code.map(|reason| Detail::Reason {
        kind: "type.googleapis.com/google.rpc.ErrorInfo",
        reason,
        domain: "mainstay",
    });
    let field = error.param.map(|field| Detail::Field {
        kind: "type.googleapis.com/google.rpc.BadRequest",
        field_violations: [Violation { field, description: error.message }],
    });
    let attempts = (!error.attempts.is_empty()).then(|| Detail::attempts(error.attempts));
    reason.into_iter().chain(field).chain(attempts).collect()
}

fn openai_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "insufficient_quota",
        403 => "permission_error",
        404 => "not_found_error",
        408 | 504 | 524 => "timeout_error",
        429 => "rate_limit_error",
        503 | 529 => "service_unavailable_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}

fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        408 | 504 | 524 => "timeout_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}

/// The name of `google.rpc.Code` that stands beside the number.
fn gemini_status(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        402 | 403 => "PERMISSION_DENIED",
        404 | 405 | 410 => "NOT_FOUND",
        408 | 504 | 524 => "DEADLINE_EXCEEDED",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        502 | 503 | 529 => "UNAVAILABLE",
        400..=499 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    }
}

/// Text and numbers only: serialising them into memory has nothing to fail of.
pub(super) fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}
