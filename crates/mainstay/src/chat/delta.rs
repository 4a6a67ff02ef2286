//! The messages and deltas of chat completions, read with patience for what imitators make of them.

use super::{Answer, ChatEvent, ToolCall};
use serde_json::{Map, Value};

/// The pieces of one message or delta.
pub(super) fn read(message: &mut Map<String, Value>, sink: &mut Sink<'_>) {
    for name in ["reasoning_content", "reasoning", "reasoning_text"] {
        // Some send the same under two names.
        if let Some(text) = take_text(message, name) {
            sink.reasoning(text);
            break;
        }
    }
    match message.get_mut("content").map(Value::take) {
        Some(Value::String(text)) => sink.text(text),
        Some(Value::Array(parts)) => parts.into_iter().for_each(|part| content_part(part, sink)),
        _ => {}
    }
    if let Some(text) = take_text(message, "refusal") {
        sink.refusal(text);
    }
    if let Some(Value::Array(calls)) = message.get_mut("tool_calls").map(Value::take) {
        calls.into_iter().for_each(|call| tool_call(call, sink));
    }
    // The old form: one call, without an id.
    if let Some(Value::Object(function)) = message.get_mut("function_call").map(Value::take) {
        call_piece(None, None, function, sink);
    }
}

/// Mistral lists text and thoughts as parts.
fn content_part(mut part: Value, sink: &mut Sink<'_>) {
    match part.get("type").and_then(Value::as_str) {
        Some("thinking") => match part.get_mut("thinking").map(Value::take) {
            Some(Value::String(text)) => sink.reasoning(text),
            Some(Value::Array(parts)) => {
                for mut part in parts {
                    if let Some(Value::String(text)) = part.get_mut("text").map(Value::take) {
                        sink.reasoning(text);
                    }
                }
            }
            _ => {}
        },
        _ => {
            if let Some(Value::String(text)) = part.get_mut("text").map(Value::take) {
                sink.text(text);
            }
        }
    }
}

fn tool_call(call: Value, sink: &mut Sink<'_>) {
    let Value::Object(mut call) = call else { return };
    let index = call.get("index").and_then(Value::as_u64);
    let id = take_text(&mut call, "id");
    match call.get_mut("function").map(Value::take) {
        Some(Value::Object(function)) => call_piece(index, id, function, sink),
        _ => call_piece(index, id, Map::new(), sink),
    }
}

fn call_piece(index: Option<u64>, id: Option<String>, mut function: Map<String, Value>, sink: &mut Sink<'_>) {
    let name = take_text(&mut function, "name");
    let arguments = match function.get_mut("arguments").map(Value::take) {
        Some(Value::String(text)) => text,
        // An object where a string belongs (Ollama's habit): the same arguments.
        Some(value @ Value::Object(_)) => value.to_string(),
        _ => String::new(),
    };
    sink.call(index, id, name, arguments);
}

/// A string that is not empty.
fn take_text(map: &mut Map<String, Value>, name: &str) -> Option<String> {
    match map.get_mut(name)?.take() {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// Which call of the answer a piece belongs to, and how much there is.
///
/// Ids beat indexes: imitators send several calls under one index, or none. A piece without an id belongs to the call that
/// its index named last, and without an index to the last call.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    /// By call: the index that the provider gave it.
    indexes: Vec<Option<u64>>,
    /// By call: whether its start has been told.
    started: Vec<bool>,
    /// How much has been said, in bytes.
    held: usize,
    overflow: bool,
}

/// More calls than any answer has; each piece is looked up among them.
const MOST_CALLS: usize = 1024;

impl Calls {
    /// Whether there is more than `max` bytes, or more calls than can be.
    pub(super) fn is_over(&self, max: usize) -> bool {
        self.overflow || self.held > max
    }

    fn find(&self, calls: &[ToolCall], index: Option<u64>, id: Option<&str>, named: bool) -> Option<usize> {
        let by_index = || match index {
            Some(_) => self.indexes.iter().rposition(|known| *known == index),
            None => self.indexes.len().checked_sub(1),
        };
        match id {
            Some(id) => {
                // A call whose id comes late is the one that its index named.
                calls.iter().rposition(|call| call.id == id).or_else(|| {
                    let at = by_index().filter(|_| index.is_some())?;
                    calls.get(at).filter(|call| call.id.is_empty()).map(|_| at)
                })
            }
            // A second name without anything to tell the calls apart is a second call.
            None if named && index.is_none() => None,
            None => by_index(),
        }
    }
}

/// Takes the pieces: into the answer, and out as events.
pub(super) struct Sink<'a> {
    pub(super) answer: &'a mut Answer,
    pub(super) calls: &'a mut Calls,
    /// What to tell; `None` where nobody listens.
    pub(super) events: Option<&'a mut dyn FnMut(ChatEvent)>,
}

impl Sink<'_> {
    fn tell(&mut self, event: ChatEvent) {
        if let Some(events) = &mut self.events {
            events(event);
        }
    }

    fn text(&mut self, piece: String) {
        if !piece.is_empty() {
            self.calls.held += piece.len();
            self.answer.text.push_str(&piece);
            self.tell(ChatEvent::Text(piece));
        }
    }

    fn reasoning(&mut self, piece: String) {
        if !piece.is_empty() {
            self.calls.held += piece.len();
            self.answer.reasoning.push_str(&piece);
            self.tell(ChatEvent::Reasoning(piece));
        }
    }

    fn refusal(&mut self, piece: String) {
        self.calls.held += piece.len();
        self.answer.refusal.push_str(&piece);
        self.tell(ChatEvent::Refusal(piece));
    }

    fn call(&mut self, index: Option<u64>, id: Option<String>, name: Option<String>, arguments: String) {
        let known = self.calls.find(&self.answer.tool_calls, index, id.as_deref(), name.is_some());
        if known.is_none() && self.answer.tool_calls.len() >= MOST_CALLS {
            self.calls.overflow = true;
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.answer.tool_calls.push(ToolCall::default());
            self.calls.indexes.push(index);
            self.calls.started.push(false);
            self.answer.tool_calls.len() - 1
        });
        let (Some(call), Some(started)) =
            (self.answer.tool_calls.get_mut(at), self.calls.started.get_mut(at))
        else {
            return;
        };
        if let (Some(id), true) = (id, call.id.is_empty()) {
            self.calls.held += id.len();
            call.id = id;
        }
        if let (Some(name), true) = (name, call.name.is_empty()) {
            self.calls.held += name.len();
            call.name = name;
        }
        self.calls.held += arguments.len();
        call.arguments.push_str(&arguments);
        // Told when it has a name, with what came before that.
        if *started {
            if !arguments.is_empty() {
                self.tell(ChatEvent::ToolCallArguments { index: at, piece: arguments });
            }
        } else if !call.name.is_empty() {
            *started = true;
            let (id, name, so_far) = (call.id.clone(), call.name.clone(), call.arguments.clone());
            self.tell(ChatEvent::ToolCallStarted { index: at, id, name });
            if !so_far.is_empty() {
                self.tell(ChatEvent::ToolCallArguments { index: at, piece: so_far });
            }
        }
    }
}

/// The first choice of a reply or chunk: its `message` or `delta`.
pub(super) fn first_choice<'v>(reply: &'v mut Value, field: &str) -> Option<&'v mut Map<String, Value>> {
    let choices = reply.get_mut("choices")?.as_array_mut()?;
    let mut at = 0..;
    let first = choices.iter_mut().find(|choice| {
        let place = at.next().unwrap_or(0);
        choice.get("index").and_then(Value::as_u64).unwrap_or(place) == 0
    })?;
    first.get_mut(field)?.as_object_mut()
}

/// Who answers: the reply's own words.
pub(super) fn identify(reply: &mut Value, answer: &mut Answer) {
    let mut take = |name: &str| match reply.get_mut(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(std::mem::take(text)),
        _ => None,
    };
    if answer.id.is_none() {
        answer.id = take("id");
    }
    if answer.model.is_none() {
        answer.model = take("model");
    }
}
