//! Answers of `/v1/responses`, whole.

use super::annotations::sources;
use crate::{
    dialect::Finish,
    translate::{
        event::{Answer, Piece, Tokens, id_with, now},
        form::Wishes,
        out::Out,
    },
};
/// What a response is called.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// `resp_...`.
    pub(super) id: String,
    pub(super) model: String,
    pub(super) created: u64,
}

impl Names {
    pub(super) fn new(id: Option<&str>, model: Option<&str>, created: Option<u64>) -> Self {
        Self {
            id: id_with("resp_", id),
            model: model.unwrap_or_default().to_owned(),
            created: created.unwrap_or_else(now),
        }
    }

    /// The id of an item of the response.
    pub(super) fn item(&self, kind: ItemKind, index: usize) -> String {
        let prefix = match kind {
            ItemKind::Text | ItemKind::Refusal => "msg",
            ItemKind::Thought => "rs",
            ItemKind::Call => "fc",
        };
        format!("{prefix}_{}_{index}", self.id.strip_prefix("resp_").unwrap_or(&self.id))
    }
}

/// What an item of the output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    Text,
    Refusal,
    Thought,
    Call,
}

/// An item of the output, its text as it stands inside a JSON string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'i> {
    pub(super) kind: ItemKind,
    pub(super) id: &'i str,
    pub(super) text: &'i str,
    /// The sources of the text, as a list of JSON without its brackets.
    pub(super) annotations: &'i str,
    pub(super) call_id: &'i str,
    pub(super) name: &'i str,
    /// Whether it is finished.
    pub(super) done: bool,
}

pub(in crate::translate) fn write_answer(answer: &Answer<'_>, wishes: Wishes, out: &mut Out) {
    let names = Names::new(answer.id.as_deref(), answer.model.as_deref(), answer.created);
    let shown = answer.pieces.iter().filter(|piece| wishes.thoughts || !matches!(piece, Piece::Thought(_)));
    write_response(&names, Some(answer.reason()), Some(&answer.tokens), out, |out| {
        let mut sources = sources(answer).into_iter();
        for (index, piece) in shown.enumerate() {
            let annotations = if let Piece::Text(_) = piece { sources.next() } else { None };
            let annotations = annotations.as_deref().unwrap_or_default();
            let (kind, text, call_id, name) = match piece {
                Piece::Text(text) => (ItemKind::Text, text, "", ""),
                Piece::Refusal(text) => (ItemKind::Refusal, text, "", ""),
                Piece::Thought(text) => (ItemKind::Thought, text, "", ""),
                Piece::Call { id, name, arguments, .. } => (ItemKind::Call, arguments, &**id, &**name),
            };
            let id = names.item(kind, index);
            write_item(Item { kind, id: &id, text, annotations, call_id, name, done: true }, out);
        }
    });
}

/// A response; without a reason for its end it is still under way.
pub(super) fn write_response(
    names: &Names,
    finish: Option<Finish>,
    tokens: Option<&Tokens>,
    out: &mut Out,
    output: impl FnOnce(&mut Out),
) {
    let cut = finish.and_then(incomplete);
    let status = match (finish, cut) {
        (None, _) => "in_progress",
        (Some(_), None) => "completed",
        (Some(_), Some(_)) => "incomplete",
    };
    out.open('{').field_str("id", &names.id).field_str("object", "response");
    out.field_number("created_at", names.created).field_str("status", status);
    out.field_raw("background", "false").field_raw("error", "null").key("incomplete_details");
    match cut {
        Some(reason) => out.open('{').field_str("reason", reason).close('}'),
        None => out.raw("null"),
    };
    out.field_raw("instructions", "null").field_raw("max_output_tokens", "null");
    out.field_str("model", &names.model).key("output").open('[');
    output(out);
    out.close(']').field_raw("parallel_tool_calls", "true").field_raw("previous_response_id", "null");
    out.field_raw("reasoning", r#"{"effort":null,"summary":null}"#).field_raw("store", "false");
    out.field_raw("temperature", "null").field_raw("text", r#"{"format":{"type":"text"}}"#);
    out.field_str("tool_choice", "auto").field_raw("tools", "[]").field_raw("top_p", "null");
    out.field_str("truncation", "disabled").key("usage");
    match tokens {
        Some(tokens) => write_tokens(tokens, out),
        None => {
            out.raw("null");
        }
    }
    out.field_raw("user", "null").field_raw("metadata", "{}").close('}');
}

/// Why an answer that ended so is not all that it would have been.
pub(super) fn incomplete(finish: Finish) -> Option<&'static str> {
    match finish {
        Finish::Length => Some("max_output_tokens"),
        Finish::ContentFilter => Some("content_filter"),
        _ => None,
    }
}

pub(super) fn write_item(item: Item<'_>, out: &mut Out) {
    let status = if item.done { "completed" } else { "in_progress" };
    out.open('{').field_str("id", item.id);
    match item.kind {
        ItemKind::Text | ItemKind::Refusal => {
            out.field_str("type", "message").field_str("status", status).field_str("role", "assistant");
            out.key("content").open('[');
            if item.done {
                write_part(item.kind, item.text, item.annotations, out);
            }
            out.close(']');
        }
        ItemKind::Thought => {
            out.field_str("type", "reasoning").key("summary").open('[');
            if item.done {
                write_part(item.kind, item.text, item.annotations, out);
            }
            out.close(']');
        }
        ItemKind::Call => {
            out.field_str("type", "function_call").field_str("status", status);
            out.field_str("call_id", item.call_id).field_str("name", item.name).key("arguments");
            out.pieces([if item.done && item.text.is_empty() { "{}" } else { item.text }]);
        }
    }
    out.close('}');
}

pub(super) fn write_part(kind: ItemKind, text: &str, annotations: &str, out: &mut Out) {
    out.open('{');
    match kind {
        ItemKind::Text => {
            out.field_str("type", "output_text").key("text").pieces([text]);
            out.key("annotations").open('[');
            if !annotations.is_empty() {
                out.raw(annotations);
            }
            out.close(']').field_raw("logprobs", "[]");
        }
        ItemKind::Refusal => {
            out.field_str("type", "refusal").key("refusal").pieces([text]);
        }
        ItemKind::Thought | ItemKind::Call => {
            out.field_str("type", "summary_text").key("text").pieces([text]);
        }
    }
    out.close('}');
}

fn write_tokens(tokens: &Tokens, out: &mut Out) {
    out.open('{').field_number("input_tokens", tokens.input.unwrap_or(0));
    out.key("input_tokens_details").open('{').field_number("cached_tokens", tokens.cached.unwrap_or(0));
    out.close('}').field_number("output_tokens", tokens.output.unwrap_or(0));
    out.key("output_tokens_details").open('{');
    out.field_number("reasoning_tokens", tokens.thoughts.unwrap_or(0)).close('}');
    out.field_number("total_tokens", tokens.total()).close('}');
}
