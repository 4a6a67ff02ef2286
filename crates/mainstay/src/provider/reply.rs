//! Whether a 2xx is an answer. By shape alone: paths are not known here, and what is no shape of an answer that can
//! fail (a list of models, an embedding, audio) passes.

use super::{ErrorBody, Finish, ProviderClassifier, blocked, classifier::media_type, finish};
use mainstay_layers::classify::{Class, Head, Verdict};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Judges the first bytes of a 2xx.
pub(super) fn first(classifier: ProviderClassifier, head: Head<'_>, body: &[u8]) -> Verdict {
    let body = trim(body);
    if body.first() == Some(&b'<') || is_html(head) {
        return page(body);
    }
    error(classifier, head, body).unwrap_or(Class::Success.into())
}

/// The error that is here whole, as errors are: they are small. An answer that is cut here is none of our business.
fn error(classifier: ProviderClassifier, head: Head<'_>, body: &[u8]) -> Option<Verdict> {
    // It is not to be missed for a byte that is not UTF-8.
    let body = String::from_utf8_lossy(body);
    match body.as_bytes().first()? {
        b'{' => {
            let error = match serde_json::from_str::<OnlyError>(&body) {
                Ok(only) => only.error.is_some_and(|error| says_something(&error)),
                // JSON that has one twice.
                Err(error) => error.is_data(),
            };
            error.then(|| classifier.error_object(head, body.as_bytes()))
        }
        b'[' => {
            let list: Vec<Map<String, Value>> = serde_json::from_str(&body).ok()?;
            error_in_list(classifier, head, list)
        }
        _ => None,
    }
}

/// The first error in a list of replies.
fn error_in_list(
    classifier: ProviderClassifier,
    head: Head<'_>,
    list: Vec<Map<String, Value>>,
) -> Option<Verdict> {
    let failed = list.into_iter().find(|one| one.get("error").is_some_and(says_something))?;
    Some(classifier.error_in_reply(head, &ErrorBody::of(&Value::Object(failed))))
}

/// Judges a 2xx of which all is here.
pub(super) fn whole(classifier: ProviderClassifier, head: Head<'_>, body: &[u8]) -> Verdict {
    if let Some(verdict) = head.extensions.get::<Verdict>() {
        return verdict.clone();
    }
    let media = media_type(head.headers);
    let other = ["text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream"];
    // Streams have a reader of their own; 204 and 205 have no body.
    if other.contains(&media.as_str()) || matches!(head.status.as_u16(), 204 | 205) {
        return Class::Success.into();
    }
    if ["audio/", "image/", "video/", "application/octet-stream"].iter().any(|kind| media.starts_with(kind)) {
        return if body.is_empty() { malformed("the body is empty") } else { Class::Success.into() };
    }
    let body = trim(body);
    match body.first() {
        None => malformed("the body is empty"),
        Some(b'<') => page(body),
        Some(b'{' | b'[') => json(classifier, head, body),
        Some(_) if media == "text/html" => page(body),
        Some(_) if media.ends_with("json") => malformed("the body is no JSON"),
        Some(_) => Class::Success.into(),
    }
}

fn trim(body: &[u8]) -> &[u8] {
    super::error_body::trim(body)
}

fn malformed(why: &str) -> Verdict {
    Verdict::new(Class::Malformed).with_message(Some(why))
}

fn is_html(head: Head<'_>) -> bool {
    media_type(head.headers) == "text/html"
}

fn page(body: &[u8]) -> Verdict {
    let said = ErrorBody::read(body).message;
    let why =
        said.map_or_else(|| "the body is a page".to_owned(), |said| format!("the body is a page: {said}"));
    malformed(&why)
}

/// Whether an `error` member holds one: on success some write null, false, zero, `{}` or an empty string.
fn says_something(error: &Value) -> bool {
    match error {
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Bool(failed) => *failed,
        Value::Null => false,
    }
}

#[derive(Deserialize)]
struct OnlyError {
    error: Option<Value>,
}

/// As much of an answer as it takes to know whether it is one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Glance {
    error: Option<Value>,
    object: Option<Value>,
    r#type: Option<Value>,
    // `Some(Null)` where the member is there and null.
    #[serde(deserialize_with = "present")]
    choices: Option<Value>,
    #[serde(deserialize_with = "present")]
    content: Option<Value>,
    #[serde(deserialize_with = "present")]
    candidates: Option<Value>,
    #[serde(rename = "promptFeedback")]
    prompt_feedback: Option<Value>,
    #[serde(rename = "usageMetadata")]
    usage_metadata: Option<Value>,
    usage: Option<Value>,
    stop_reason: Option<Value>,
    finish_reason: Option<Value>,
    done_reason: Option<Value>,
    embedding: Option<serde::de::IgnoredAny>,
    embeddings: Option<serde::de::IgnoredAny>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn json(classifier: ProviderClassifier, head: Head<'_>, body: &[u8]) -> Verdict {
    if body.first() == Some(&b'[') {
        return array(classifier, head, body);
    }
    let Ok(glance) = serde_json::from_slice::<Glance>(body) else {
        let malformed = || malformed("the body is no JSON, or not the whole of it");
        return error(classifier, head, body).unwrap_or_else(malformed);
    };
    if glance.error.as_ref().is_some_and(says_something) {
        return classifier.error_object(head, body);
    }
    let is = |value: &Option<Value>, word: &str| value.as_ref().and_then(Value::as_str) == Some(word);
    let verdict = if glance.choices.is_some() || is(&glance.object, "chat.completion") {
        chat(classifier, head, &glance)
    } else if is(&glance.r#type, "message") {
        messages(classifier, &glance)
    } else if glance.candidates.is_some() || glance.prompt_feedback.is_some() || generated(&glance) {
        gemini(classifier, &glance)
    } else {
        // Cohere and Ollama, in their own tongues.
        let reason = text(&glance.finish_reason).or(text(&glance.done_reason));
        match reason.map(|reason| finish(classifier.kind(), reason)) {
            Some(end @ Finish::Failed(_)) => end.verdict(true),
            _ => None,
        }
    };
    verdict.unwrap_or(Class::Success.into())
}

/// Gemini's streams without `alt=sse`: an array of answers, or of one error.
fn array(classifier: ProviderClassifier, head: Head<'_>, body: &[u8]) -> Verdict {
    match serde_json::from_slice::<Vec<Map<String, Value>>>(body) {
        Ok(all) => error_in_list(classifier, head, all).unwrap_or(Class::Success.into()),
        Err(error) if error.is_eof() => malformed("the body is not whole"),
        Err(_) => error(classifier, head, body).unwrap_or(Class::Success.into()),
    }
}

fn text(value: &Option<Value>) -> Option<&str> {
    value.as_ref().and_then(Value::as_str)
}

/// Gemini answers of generateContent count tokens; those of embedContent hold an embedding.
fn generated(glance: &Glance) -> bool {
    glance.usage_metadata.is_some() && glance.embedding.is_none() && glance.embeddings.is_none()
}

fn filled(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(values)) => !values.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        _ => false,
    }
}

fn no_tokens(usage: Option<&Value>, name: &str) -> bool {
    usage.and_then(|usage| usage.get(name)).and_then(Value::as_u64).unwrap_or(0) == 0
}

fn chat(classifier: ProviderClassifier, head: Head<'_>, glance: &Glance) -> Option<Verdict> {
    let choices = glance.choices.as_ref().and_then(Value::as_array).filter(|choices| !choices.is_empty());
    let Some(choices) = choices else { return Some(malformed("there are no choices")) };
    if let Some(error) =
        choices.iter().find_map(|choice| choice.get("error").filter(|error| says_something(error)))
    {
        return Some(classifier.error_in_reply(head, &ErrorBody::of(error)));
    }
    let mut reason_to_be_empty = false;
    let mut empty = true;
    for choice in choices {
        let message = choice.get("message");
        let members = [
            "content",
            "tool_calls",
            "function_call",
            "refusal",
            "reasoning_content",
            "reasoning",
            "audio",
            "images",
        ];
        let here = members.iter().any(|name| filled(message.and_then(|message| message.get(*name))));
        let here = here || filled(choice.get("text"));
        empty &= !here;
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            if let Some(verdict) = finish(classifier.kind(), reason).verdict(!here) {
                return Some(verdict.with_code(Some(reason)));
            }
            reason_to_be_empty |= matches!(reason, "length" | "content_filter" | "refusal" | "tool_calls");
        }
    }
    let nothing = empty && !reason_to_be_empty && no_tokens(glance.usage.as_ref(), "completion_tokens");
    nothing.then(|| classifier.empty_answer())
}

fn messages(classifier: ProviderClassifier, glance: &Glance) -> Option<Verdict> {
    let Some(blocks) = glance.content.as_ref().and_then(Value::as_array) else {
        return Some(malformed("there is no content"));
    };
    let empty = blocks.is_empty();
    let reason = text(&glance.stop_reason).unwrap_or_default();
    if let Some(verdict) = finish(classifier.kind(), reason).verdict(empty) {
        return Some(verdict.with_code(Some(reason)));
    }
    let nothing =
        empty && matches!(reason, "" | "end_turn") && no_tokens(glance.usage.as_ref(), "output_tokens");
    nothing.then(|| classifier.empty_answer())
}

fn gemini(classifier: ProviderClassifier, glance: &Glance) -> Option<Verdict> {
    let candidates = glance.candidates.as_ref().and_then(Value::as_array).filter(|all| !all.is_empty());
    let Some(candidates) = candidates else {
        let reason =
            glance.prompt_feedback.as_ref().and_then(|feedback| feedback.get("blockReason")?.as_str());
        return Some(reason.map_or_else(|| malformed("there are no candidates"), blocked));
    };
    let first = candidates.first()?;
    let empty = !filled(first.get("content").and_then(|content| content.get("parts")));
    let reason = first.get("finishReason").and_then(Value::as_str).unwrap_or_default();
    if let Some(verdict) = finish(classifier.kind(), reason).verdict(empty) {
        return Some(verdict.with_code(Some(reason)));
    }
    let nothing = empty
        && matches!(reason, "" | "STOP" | "FINISH_REASON_UNSPECIFIED" | "OTHER")
        && no_tokens(glance.usage_metadata.as_ref(), "candidatesTokenCount");
    nothing.then(|| classifier.empty_answer())
}
