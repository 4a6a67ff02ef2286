//! What the demo's providers say.

use super::shown_model;
use crate::{
    bodies,
    provider::{End, Recorded, Step},
};
use serde_json::Value;
use std::time::Duration;

const PACE: Duration = Duration::from_millis(30);

/// What is asked for, by path.
enum Asked {
    Chat,
    Completion,
    Response,
    Messages,
    CountTokens,
    Embeddings,
    Models,
    Unknown,
}

impl Asked {
    fn of(request: &Recorded) -> Self {
        match request.route().trim_start_matches("/v1") {
            "/chat/completions" => Self::Chat,
            "/completions" => Self::Completion,
            "/responses" => Self::Response,
            "/messages" => Self::Messages,
            "/messages/count_tokens" => Self::CountTokens,
            "/embeddings" => Self::Embeddings,
            "/models" => Self::Models,
            _ => Self::Unknown,
        }
    }
}

/// Answers as a provider does that has nothing wrong with it.
pub(super) fn well(request: &Recorded) -> Step {
    let model = shown_model(request);
    let text = format!("Hello from the demo. You asked {model}, and this answer came through.");
    if request.wants_stream() {
        if let Some((events, _)) = stream(request, &model, &text) {
            return Step::sse(events).pace(PACE);
        }
    }
    let body = match Asked::of(request) {
        Asked::Chat => bodies::openai_chat_as(&model, &text),
        Asked::Completion => bodies::openai_completion(&model, &text),
        Asked::Response => bodies::openai_response_as(&model, &text),
        Asked::Messages => bodies::anthropic_message_as(&model, &text),
        Asked::CountTokens => serde_json::json!({"input_tokens": 9}),
        Asked::Embeddings if base64(request) => bodies::openai_embeddings_base64(&model, inputs(request)),
        Asked::Embeddings => bodies::openai_embeddings(&model, inputs(request)),
        Asked::Models if anthropic(request) => bodies::anthropic_models(["demo"]),
        Asked::Models => bodies::openai_models(["demo"]),
        Asked::Unknown => return error(request, 404, "demo: there is nothing at this path"),
    };
    Step::json(200, body)
}

/// Begins to answer, then falls silent.
pub(super) fn stall(request: &Recorded) -> Step {
    if request.method != "POST" {
        return well(request);
    }
    let words = "Hello from the demo. This stream will now fall";
    let stream = if request.wants_stream() { stream(request, &shown_model(request), words) } else { None };
    match stream {
        Some((mut events, tail)) => {
            events.truncate(events.len().saturating_sub(tail));
            Step::sse(events).pace(PACE).ending(End::Hang)
        }
        None => Step::stall(),
    }
}

/// An error in the dialect of the path.
pub(super) fn error(request: &Recorded, status: u16, message: &str) -> Step {
    let body = if anthropic(request) {
        let kind = match status {
            429 => "rate_limit_error",
            404 => "not_found_error",
            _ => "overloaded_error",
        };
        bodies::anthropic_error(kind, message)
    } else {
        let (kind, code) = match status {
            429 => ("rate_limit_error", "rate_limit_exceeded"),
            404 => ("invalid_request_error", "not_found"),
            _ => ("server_error", "server_is_overloaded"),
        };
        bodies::openai_error(kind, Some(code), message)
    };
    Step::json(status, body)
}

/// The events of a stream, and how many of them come after the last word.
fn stream(request: &Recorded, model: &str, text: &str) -> Option<(Vec<String>, usize)> {
    let words = text.split_inclusive(' ');
    Some(match Asked::of(request) {
        Asked::Chat => (bodies::openai_chunks_as(model, words), 2),
        Asked::Completion => (bodies::openai_completion_chunks(model, words), 2),
        Asked::Response => (bodies::openai_response_events_as(model, words), 4),
        Asked::Messages => (bodies::anthropic_events_as(model, words), 3),
        _ => return None,
    })
}

fn anthropic(request: &Recorded) -> bool {
    matches!(Asked::of(request), Asked::Messages | Asked::CountTokens)
        || request.header("anthropic-version").is_some()
}

/// How many inputs an embeddings request has: a list of texts or of token lists has one each.
fn inputs(request: &Recorded) -> usize {
    match request.json().and_then(|body| body.get("input").cloned()) {
        Some(Value::Array(all)) if !all.first().is_some_and(Value::is_number) => all.len().clamp(1, 2048),
        _ => 1,
    }
}

fn base64(request: &Recorded) -> bool {
    request.json().is_some_and(|body| body.get("encoding_format").is_some_and(|format| format == "base64"))
}
