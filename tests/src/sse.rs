//! What a client makes of an event stream: events, text, tool calls, how it ended.

use crate::cases::find;
use serde_json::Value;

/// One event: its name, empty where it has none, and its data.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Event {
    /// The event's name.
    pub name: String,
    /// The data lines, joined.
    pub data: String,
}

impl Event {
    /// The data as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or(Value::Null)
    }
}

/// The events of a body, as the WHATWG's rules read them.
pub fn events(body: &str) -> Vec<Event> {
    let (mut all, mut name, mut data) = (Vec::new(), String::new(), Vec::new());
    for line in body.replace("\r\n", "\n").split(['\r', '\n']) {
        if line.is_empty() {
            if !data.is_empty() {
                all.push(Event { name: std::mem::take(&mut name), data: data.join("\n") });
            }
            name.clear();
            data.clear();
        } else if let Some(value) = line.strip_prefix("data:") {
            data.push(value.strip_prefix(' ').unwrap_or(value));
        } else if let Some(value) = line.strip_prefix("event:") {
            name = value.trim().to_owned();
        }
    }
    all
}

/// The text that a client assembles, in any of the dialects.
pub fn text(events: &[Event]) -> String {
    let mut out = String::new();
    for value in events.iter().map(Event::json) {
        for path in ["choices.0.delta.content", "delta.text", "candidates.0.content.parts.0.text"] {
            out.push_str(find(&value, path).as_str().unwrap_or_default());
        }
        if find(&value, "type") == "response.output_text.delta" {
            out.push_str(find(&value, "delta").as_str().unwrap_or_default());
        }
    }
    out
}

/// The tool calls that a client assembles, as `[id, name, arguments]`, in the order of their first events.
pub fn tools(events: &[Event]) -> Vec<[String; 3]> {
    let mut calls = Calls(Vec::new());
    for value in events.iter().map(Event::json) {
        for one in find(&value, "choices.0.delta.tool_calls").as_array().into_iter().flatten() {
            let [id, name, arguments] = calls.at(one.get("index").unwrap_or(&Value::from(0)));
            id.push_str(&text_at(one, "id"));
            name.push_str(&text_at(one, "function.name"));
            arguments.push_str(&text_at(one, "function.arguments"));
        }
        let index = find(&value, "index");
        if find(&value, "content_block.type") == "tool_use" {
            let begun =
                [text_at(&value, "content_block.id"), text_at(&value, "content_block.name"), String::new()];
            *calls.at(index) = begun;
        }
        if find(&value, "delta.type") == "input_json_delta" {
            let [_, _, arguments] = calls.at(index);
            arguments.push_str(&text_at(&value, "delta.partial_json"));
        }
    }
    calls.0.into_iter().map(|(_, parts)| parts).collect()
}

/// Calls by the index that their events name.
struct Calls(Vec<(Value, [String; 3])>);

impl Calls {
    fn at(&mut self, index: &Value) -> &mut [String; 3] {
        let place = self.0.iter().position(|(each, _)| each == index).unwrap_or_else(|| {
            self.0.push((index.clone(), Default::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }
}

fn text_at(value: &Value, path: &str) -> String {
    find(value, path).as_str().unwrap_or_default().to_owned()
}

/// Whether the stream says that it is whole.
pub fn is_done(events: &[Event]) -> bool {
    let last = ["message_stop", "response.completed"];
    events.iter().any(|event| event.data == "[DONE]" || last.contains(&event.name.as_str()))
}

/// Whether the stream carries an error.
pub fn has_error(events: &[Event]) -> bool {
    events.iter().any(|event| {
        let value = event.json();
        event.name == "error" || matches!(find(&value, "error"), Value::Object(_) | Value::String(_))
    })
}
