//! Finds an error in JSON and reads its fields.

use super::{ErrorBody, MAX_MESSAGE, text};
use http::{HeaderName, HeaderValue};
use mainstay_layers::classify::hint;
use serde_json::{Map, Value};

/// How deep an error may lie in wrappers.
const MAX_WRAPS: usize = 6;

/// Reads the error that `value` is or holds.
pub(super) fn read(value: &Value, body: &mut ErrorBody) {
    find(value, body, MAX_WRAPS);
}

fn find(value: &Value, body: &mut ErrorBody, wraps: usize) {
    let Some(wraps) = wraps.checked_sub(1) else { return };
    match value {
        // Gemini's OpenAI endpoint, and its streams without alt=sse, send an array of one.
        Value::Array(values) => {
            if let Some(first) = values.first() {
                find(first, body, wraps);
            }
        }
        Value::String(message) => say(message, body),
        Value::Object(fields) => {
            // The wrapper's own fields first: those of the error itself then win.
            match inside(fields) {
                Some(error) => {
                    own_fields(fields, body, error);
                    find(error, body, wraps);
                }
                None => object(fields, body, wraps),
            }
        }
        _ => {}
    }
}

/// The error in a wrapper.
fn inside(fields: &Map<String, Value>) -> Option<&Value> {
    let held = |value: &&Value| match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        _ => false,
    };
    let direct = ["error", "Error"].iter().find_map(|name| fields.get(*name).filter(held));
    direct
        // A list beside a message is detail, not the error.
        .or_else(|| fields.get("errors").filter(held).filter(|_| !fields.contains_key("message")))
        // OpenAI Responses: response.failed.
        .or_else(|| fields.get("response")?.get("error").filter(held))
        // OpenRouter: an upstream that failed after it had begun.
        .or_else(|| fields.get("choices")?.get(0)?.get("error").filter(held))
        // Cohere: message-end.
        .or_else(|| fields.get("delta")?.get("error").filter(held))
}

/// What stands beside `error`: a status, or the words that belong to an `error` that is but a code.
fn own_fields(fields: &Map<String, Value>, body: &mut ErrorBody, error: &Value) {
    for name in ["status_code", "statusCode", "http_status", "status", "code"] {
        if let Some(value) = fields.get(name) {
            number(value, body);
        }
    }
    if let (Value::String(code), Some(Value::String(message))) =
        (error, fields.get("message").or(fields.get("error_description")))
    {
        // RFC 6749 §5.2 and many a framework: {"error": "invalid_request", "message": ".."}.
        body.code = Some(text::clip(code, super::MAX_WORD).to_owned());
        body.message = Some(text::squeeze(message, MAX_MESSAGE));
    } else if error.is_string() {
        // xAI: {"code": "words", "error": "words"}.
        body.code = fields.get("code").and_then(word).filter(|code| !is_status(code));
    }
}

/// The message, unless there is a better one.
fn say(message: &str, body: &mut ErrorBody) {
    if body.message.is_none() && !message.trim().is_empty() {
        body.message = Some(text::squeeze(message, MAX_MESSAGE));
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(word) if !word.is_empty() => Some(text::clip(word, super::MAX_WORD).to_owned()),
        _ => None,
    }
}

/// A failure's HTTP status, as a number or in digits.
fn number(value: &Value, body: &mut ErrorBody) {
    let number = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(digits) if digits.len() == 3 => digits.parse().ok(),
        _ => None,
    };
    if let Some(status @ 400..=599) = number {
        body.number = u16::try_from(status).ok();
    }
}

fn is_status(word: &str) -> bool {
    word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn object(fields: &Map<String, Value>, body: &mut ErrorBody, wraps: usize) {
    // A later one wins: the code is the most exact.
    for name in ["raw_status_code", "status", "statusCode", "status_code", "http_status", "code"] {
        if let Some(value) = fields.get(name) {
            number(value, body);
        }
    }
    // A status in digits is no word; a provider's own number, such as Mistral's 3505, is one.
    if let Some(code) = fields.get("code").and_then(decimal).filter(|code| !is_status(code)) {
        body.code = word(&Value::String(code));
    }
    let kind = fields.get("type").and_then(word).filter(|kind| kind != "error");
    // Smithy: the part after the namespace's '#'.
    let smithy = || fields.get("__type").and_then(word).map(|kind| after_hash(&kind).to_owned());
    let google = || fields.get("status").and_then(word).filter(|status| !is_status(status));
    if let Some(kind) = kind.or_else(smithy).or_else(google) {
        body.kind = Some(kind);
    }
    if let Some(param) = fields.get("param").and_then(word) {
        body.param = Some(param);
    }
    for name in ["message", "msg", "Message", "error_message", "detail", "title"] {
        match fields.get(name) {
            Some(Value::String(message)) => say(message, body),
            Some(Value::Array(problems)) => say(&validation(problems), body),
            Some(nested @ Value::Object(_)) if body.message.is_none() => find(nested, body, wraps),
            _ => {}
        }
    }
    for name in ["error_type", "error_code", "errorCode"] {
        if let Some(word) = fields.get(name).and_then(word) {
            body.reason(&word);
        }
    }
    match fields.get("details") {
        Some(Value::Array(details)) => details.iter().take(16).for_each(|detail| google_detail(detail, body)),
        // Anthropic.
        Some(details) => reason_at(details, "error_code", body),
        None => {}
    }
    if let Some(inner) = fields.get("innererror") {
        reason_at(inner, "code", body);
    }
    if let Some(metadata) = fields.get("metadata") {
        openrouter_metadata(metadata, body);
    }
    if let Some(availability) = fields.get("availability") {
        reason_at(availability, "code", body);
        if let Some(seconds) = availability.get("retry_after").and_then(decimal) {
            body.wait = body.wait.or(hint::seconds(&seconds));
        }
    }
    // Vertex AI in its older form, and Google's other APIs.
    if let Some(Value::Array(errors)) = fields.get("errors") {
        errors.iter().take(4).for_each(|error| reason_at(error, "reason", body));
    }
    // The Responses API inside a stream.
    if let Some(headers) = fields.get("headers") {
        carried_headers(headers, body);
    }
}

fn after_hash(kind: &str) -> &str {
    kind.rsplit('#').next().unwrap_or(kind)
}

fn reason_at(value: &Value, name: &str, body: &mut ErrorBody) {
    if let Some(word) = value.get(name).and_then(word) {
        body.reason(&word);
    }
}

fn decimal(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// google.rpc: `ErrorInfo`, `QuotaFailure`, `RetryInfo` (google/rpc/error_details.proto).
fn google_detail(detail: &Value, body: &mut ErrorBody) {
    let Some(Value::String(kind)) = detail.get("@type") else { return };
    if kind.ends_with("google.rpc.RetryInfo") {
        if let Some(Value::String(delay)) = detail.get("retryDelay") {
            body.wait = hint::proto_duration(delay).or(body.wait);
        }
    } else if kind.ends_with("google.rpc.ErrorInfo") {
        reason_at(detail, "reason", body);
    } else if kind.ends_with("google.rpc.QuotaFailure") {
        let violations = detail.get("violations").and_then(Value::as_array);
        for violation in violations.into_iter().flatten().take(8) {
            if let Some(id) = violation.get("quotaId").and_then(word) {
                body.quotas.push(id);
            }
            if violation.get("quotaValue").and_then(decimal).as_deref() == Some("0") {
                body.quotas.push("quotaValue=0".to_owned());
            }
        }
    }
}

/// OpenRouter: what it knows of the provider behind it.
fn openrouter_metadata(metadata: &Value, body: &mut ErrorBody) {
    for name in ["error_type", "reason", "limit_source"] {
        reason_at(metadata, name, body);
    }
    if metadata.get("flagged_input").is_some() {
        body.reason("flagged_input");
    }
    if let Some(headers) = metadata.get("headers") {
        carried_headers(headers, body);
    }
    let Some(Value::String(raw)) = metadata.get("raw") else { return };
    let raw = text::clip(raw, 16 * 1024);
    let upstream = serde_json::from_str::<Value>(raw).map(|value| flat(&value)).unwrap_or_default();
    body.inner = upstream.message.or_else(|| Some(text::squeeze(raw, MAX_MESSAGE)));
    for word in upstream.code.iter().chain(upstream.kind.iter()) {
        body.reason(word);
    }
    body.wait = body.wait.or(upstream.wait);
}

/// The error of somebody further up, without what he in turn says of others.
fn flat(value: &Value) -> ErrorBody {
    let mut body = ErrorBody::default();
    let error = value.get("error").unwrap_or(value);
    if let Value::Object(fields) = error {
        let plain = |name: &&String| !matches!(name.as_str(), "metadata" | "headers");
        let fields = fields.iter().filter(|(name, _)| plain(name));
        object(&fields.map(|(name, value)| (name.clone(), value.clone())).collect(), &mut body, 1);
    }
    body
}

/// Rate limit headers inside a body. Others are of no use here.
fn carried_headers(headers: &Value, body: &mut ErrorBody) {
    let Value::Object(headers) = headers else { return };
    for (name, value) in headers.iter().take(64) {
        let name = name.to_ascii_lowercase();
        let wanted = ["retry-after", "x-ratelimit-", "anthropic-ratelimit-", "x-ms-retry-after"];
        if !wanted.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = decimal(value).and_then(|value| HeaderValue::from_str(&value).ok());
        if let (Ok(name), Some(value)) = (name, value) {
            body.headers.insert(name, value);
        }
    }
}

/// FastAPI's list of what is wrong with a request (pydantic: `loc`, `msg`, `type`).
fn validation(problems: &[Value]) -> String {
    let mut text = String::new();
    for problem in problems.iter().take(4) {
        let Some(message) = problem.get("msg").or(problem.get("message")).and_then(Value::as_str) else {
            continue;
        };
        if !text.is_empty() {
            text.push_str("; ");
        }
        let place = problem.get("loc").and_then(Value::as_array);
        for (n, step) in place.into_iter().flatten().take(8).enumerate() {
            if n > 0 {
                text.push('.');
            }
            text.push_str(&step.as_str().map_or_else(|| step.to_string(), str::to_owned));
        }
        if place.is_some_and(|place| !place.is_empty()) {
            text.push_str(": ");
        }
        text.push_str(text::clip(message, 400));
    }
    text
}
