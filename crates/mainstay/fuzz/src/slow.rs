//! JSON read the slow way: level by level, each into a list that keeps fields that come twice, by serde_json.

use mainstay::dialect::{Dialect, Finish};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Value, value::RawValue};
use std::{collections::BTreeSet, fmt};

/// The document as text, if all of it can be read as a tree. Bytes that are no UTF-8 are replaced.
pub fn document(data: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(data).into_owned();
    serde_json::from_str::<Value>(&text).ok()?;
    Some(text)
}

/// The fields of an object, in order; none of anything else.
pub fn fields(json: &str) -> Vec<(String, &str)> {
    struct All;
    impl<'de> Visitor<'de> for All {
        type Value = Vec<(String, &'de str)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                all.push((key, value.get()));
            }
            Ok(all)
        }
    }
    serde_json::Deserializer::from_str(json).deserialize_map(All).unwrap_or_default()
}

/// The items of a list; none of anything else.
pub fn items(json: &str) -> Vec<&str> {
    let all: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    all.into_iter().map(RawValue::get).collect()
}

/// The values of all fields of this name.
pub fn all<'a>(json: &'a str, name: &str) -> Vec<&'a str> {
    fields(json).into_iter().filter(|(key, _)| key == name).map(|(_, value)| value).collect()
}

/// The last value of that name, as text.
fn last_word(json: &str, name: &str) -> Option<String> {
    serde_json::from_str(all(json, name).last()?).ok()
}

fn word(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

fn failing(json: &str) -> bool {
    word(json).is_some_and(|reason| Finish::of_reason(&reason) == Some(Finish::Error))
}

/// Whether a value says something. Of numbers, those of one and more in size.
pub fn says_something(json: &str) -> bool {
    match serde_json::from_str(json) {
        Ok(Value::Null | Value::Bool(false)) | Err(_) => false,
        Ok(Value::Bool(true)) => true,
        Ok(Value::Number(number)) => number.as_f64().is_some_and(|number| number.abs() >= 1.0),
        Ok(Value::String(text)) => !text.is_empty(),
        Ok(Value::Array(items)) => !items.is_empty(),
        Ok(Value::Object(fields)) => !fields.is_empty(),
    }
}

/// Whether a document is an object with an `error` in it that says something.
pub fn has_error(json: &str) -> bool {
    all(json, "error").into_iter().any(says_something)
}

/// Whether one of the values at the end of a path of fields passes; `*` stands for each item of a list.
fn any_at(json: &str, path: &[&str], test: &dyn Fn(&str) -> bool) -> bool {
    match path {
        [] => test(json),
        ["*", rest @ ..] => items(json).into_iter().any(|item| any_at(item, rest, test)),
        [name, rest @ ..] => all(json, name).into_iter().any(|value| any_at(value, rest, test)),
    }
}

/// Whether a document is an error that no reader of the dialect may miss, by what its API documents. `name` is that of
/// the event; `None`: the document is a whole reply.
pub fn is_error(dialect: Dialect, name: Option<&str>, json: &str) -> bool {
    let at = |path: &[&str], test: &dyn Fn(&str) -> bool| any_at(json, path, test);
    let is_word_error = |value: &str| word(value).as_deref() == Some("error");
    let flat = || at(&["object"], &is_word_error) || at(&["type"], &is_word_error);
    let kind = || last_word(json, "type").or(name.map(str::to_owned)).unwrap_or_default();
    // The others have an object at their top, always.
    let listed =
        matches!(dialect, Dialect::ChatCompletions | Dialect::Completions | Dialect::Gemini | Dialect::Other);
    if !listed && json.trim_start().starts_with('[') {
        return name == Some("error");
    }
    has_error(json)
        || name == Some("error")
        || listed && items(json).into_iter().any(|item| is_error(dialect, name, item))
        || match dialect {
            Dialect::ChatCompletions | Dialect::Completions => {
                flat()
                    || at(&["choices", "*", "error"], &says_something)
                    || at(&["choices", "*", "finish_reason"], &failing)
            }
            Dialect::Messages => {
                kind() == "error"
                    || at(&["message", "error"], &says_something)
                    || at(&["delta", "stop_reason"], &failing)
                    || at(&["stop_reason"], &failing)
            }
            Dialect::Responses if name.is_some() => {
                at(&["response", "error"], &says_something)
                    || ["error", "response.failed", "response.cancelled"].contains(&kind().as_str())
            }
            Dialect::Responses => {
                let status = last_word(json, "status");
                matches!(status.as_deref(), Some("failed" | "cancelled")) || kind() == "error"
            }
            Dialect::Embeddings | Dialect::Other => flat(),
            Dialect::Gemini => at(&["candidates", "*", "finishReason"], &failing),
            Dialect::Cohere => {
                at(&["message"], &|value| word(value).is_some())
                    || at(&["finish_reason"], &failing)
                    || at(&["delta", "finish_reason"], &failing)
                    || at(&["delta", "error"], &says_something)
            }
            Dialect::Ollama => at(&["done_reason"], &failing),
            Dialect::Converse => {
                at(&["message"], &|value| word(value).is_some()) || at(&["stopReason"], &failing)
            }
            _ => false,
        }
}

/// What a stream has said of its end.
#[derive(Debug, Default)]
pub struct Ends {
    choices: BTreeSet<u64>,
    finished: BTreeSet<u64>,
    terminal: bool,
    lost: bool,
}

impl Ends {
    /// Takes the data of the next event.
    pub fn take(&mut self, dialect: Dialect, name: &str, data: &[u8]) {
        // Their ends may lie anywhere, or are not known.
        self.lost |= matches!(dialect, Dialect::Cohere | Dialect::Converse | Dialect::Other);
        if data.trim_ascii() == b"[DONE]" {
            let theirs = [Dialect::ChatCompletions, Dialect::Completions, Dialect::Embeddings];
            self.terminal |= theirs.contains(&dialect);
            return;
        }
        let Some(json) = document(data) else {
            // It may still be read by others: numbers without bounds, halves of characters.
            self.lost |= data.trim_ascii().starts_with(b"{") || data.trim_ascii().starts_with(b"[");
            return;
        };
        let first = json.trim_start().chars().next();
        self.lost |= first == Some('[') || any_at(&json, &["x_groq", "choices"], &|_| true);
        if first != Some('{') {
            return;
        }
        let kind = last_word(&json, "type").unwrap_or_else(|| name.to_owned());
        match dialect {
            Dialect::ChatCompletions | Dialect::Completions | Dialect::Embeddings => {
                all(&json, "choices").into_iter().for_each(|list| self.list(list, &["finish_reason"]));
            }
            Dialect::Gemini => {
                let ends = ["finishReason", "finish_reason"];
                all(&json, "candidates").into_iter().for_each(|list| self.list(list, &ends));
                let blocked = ["promptFeedback", "prompt_feedback"].iter().any(|feedback| {
                    let at = |reason| any_at(&json, &[feedback, reason], &says_something);
                    at("blockReason") || at("block_reason")
                });
                if blocked {
                    self.choices.insert(0);
                    self.finished.insert(0);
                }
            }
            Dialect::Messages => self.terminal |= kind == "message_stop",
            Dialect::Responses => {
                self.terminal |= ["response.completed", "response.incomplete"].contains(&kind.as_str());
            }
            Dialect::Ollama => self.terminal |= all(&json, "done").last() == Some(&"true"),
            _ => {}
        }
    }

    fn list(&mut self, list: &str, ends: &[&str]) {
        for (place, choice) in items(list).into_iter().enumerate() {
            let mut number = place as u64;
            for index in all(choice, "index") {
                match index.parse::<u64>() {
                    Ok(index) if index < 100 => number = index,
                    _ => self.lost |= index != "null",
                }
            }
            self.choices.insert(number);
            let ended = |end: &&str| {
                any_at(choice, &[end], &|reason| match word(reason) {
                    Some(reason) => Finish::of_reason(&reason).is_some(),
                    None => reason != "null",
                })
            };
            if ends.iter().any(ended) {
                self.finished.insert(number);
            }
        }
    }

    /// Whether all was said; `None` where that cannot be known here.
    pub fn whole(&self) -> Option<bool> {
        let finished = !self.choices.is_empty() && self.choices == self.finished;
        (!self.lost).then_some(self.terminal || finished)
    }
}

/// Whether anything in a document, at any depth, could be read as an error.
pub fn hints_at_error(json: &str) -> bool {
    fn words(value: &Value) -> bool {
        match value {
            Value::String(word) => {
                matches!(&**word, "error" | "failed" | "cancelled" | "response.failed" | "response.cancelled")
                    || word == "response.error"
                    || Finish::of_reason(word) == Some(Finish::Error)
            }
            _ => false,
        }
    }
    fields(json).into_iter().any(|(key, value)| {
        let here = serde_json::from_str::<Value>(value).unwrap_or_default();
        key == "error" && !here.is_null()
            || matches!(&*key, "message" | "Message") && here.is_string()
            || words(&here)
            || hints_at_error(value)
    }) || items(json).into_iter().any(hints_at_error)
}
