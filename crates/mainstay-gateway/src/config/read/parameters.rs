//! `parameters` and `default_parameters` of a target: fields of the request body.

use super::super::doc::{Table, Value, shown};
use mainstay::{
    parameters::Parameters,
    provider::{Kind, Native},
};

/// Reads both; `kind` is that of the target's provider.
pub(super) fn parameters(t: &mut Table<'_>, kind: Option<Kind>) -> Parameters {
    let mut all = Parameters::new();
    for (key, value) in fields(t, "parameters", kind) {
        all = all.with_set(key, value);
    }
    for (key, value) in fields(t, "default_parameters", kind) {
        if all.set().contains_key(key) {
            let twice = format!("{key}, which parameters sets already");
            t.problem_at(&["default_parameters", key], twice, "each field in one of the two tables");
        }
        all = all.with_default(key, value);
    }
    all
}

fn fields<'a>(t: &mut Table<'a>, key: &'static str, kind: Option<Kind>) -> Vec<(&'a str, serde_json::Value)> {
    let Some(value) = t.get(key) else { return Vec::new() };
    if !value.is_table() {
        value.wrong::<()>("a table of fields of the request, such as { temperature = 0 }");
        return Vec::new();
    }
    let entries = value.table().map(|table| table.entries()).unwrap_or_default();
    entries.into_iter().filter_map(|(name, value)| Some((name, field(name, &value, kind)?))).collect()
}

fn field(name: &str, value: &Value<'_>, kind: Option<Kind>) -> Option<serde_json::Value> {
    let instead = match name {
        "model" => "another field: the model is named by target = \"PROVIDER/MODEL\"",
        "stream" | "stream_options" => "another field: whether an answer is streamed is the caller's choice",
        "messages" | "input" | "contents" | "prompt" => "another field: the conversation is the caller's own",
        "temperature" | "topP" | "topK" | "maxOutputTokens" | "stopSequences"
            if kind.is_some_and(|kind| kind.profile().native == Native::Gemini) =>
        {
            "it inside generationConfig, as Gemini's API has it: { generationConfig = { ... } }"
        }
        _ => return value.json(),
    };
    value.refuse(format!("the field {}", shown(name)), instead)
}
