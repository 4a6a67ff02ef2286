//! Writing fields into JSON text, of which everything else stays as it lies.

use super::{Parameters, same, spelled};
use crate::dialect::Dialect;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value, value::RawValue};
use std::{fmt, ops::Range};

/// The text with the fields in it; `None` where it is no JSON object.
pub(super) fn merge(parameters: &Parameters, dialect: Dialect, body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let set = written(text, &parameters.set, dialect, true)?;
    written(&set, &parameters.default, dialect, false)
}

fn written(text: &str, fields: &Map<String, Value>, dialect: Dialect, replace: bool) -> Option<String> {
    let mut edits = Edits { whole: text, edits: Vec::new() };
    edits.object(text, fields, replace, &|key| spelled(key, dialect))?;
    Some(edits.apply())
}

/// Pieces of a text and what comes in their place.
struct Edits<'t> {
    whole: &'t str,
    edits: Vec<(Range<usize>, String)>,
}

impl<'t> Edits<'t> {
    /// Writes fields into an object, a slice of the whole.
    fn object(
        &mut self,
        object: &'t str,
        fields: &Map<String, Value>,
        replace: bool,
        spelled: &dyn Fn(&str) -> &str,
    ) -> Option<()> {
        let there = Fields::of(object)?;
        let mut missing = String::new();
        for (key, value) in fields {
            let key = spelled(key);
            // A key that stands there twice means either, by who reads it: both are written.
            let mut found = there.0.iter().filter(|field| same(&field.key, key)).peekable();
            if found.peek().is_none() {
                let comma = if there.0.is_empty() && missing.is_empty() { "" } else { "," };
                missing.push_str(&format!("{comma}{}:{value}", Value::from(key)));
            }
            for field in found {
                let theirs = field.value.get();
                match value {
                    Value::Object(inner) if theirs.starts_with('{') => {
                        self.object(theirs, inner, replace, &|key| key)?;
                    }
                    _ if replace || theirs == "null" => {
                        if *field.key != *key {
                            self.replace(field.raw_key.get(), Value::from(key).to_string());
                        }
                        self.replace(theirs, value.to_string());
                    }
                    _ => {}
                }
            }
        }
        if !missing.is_empty() {
            let inside = object.trim_end().strip_suffix('}')?.trim_end();
            let (_, end) = inside.split_at_checked(inside.len())?;
            self.replace(end, missing);
        }
        Some(())
    }

    /// `part` is a slice of the whole.
    fn replace(&mut self, part: &str, with: String) {
        let start = (part.as_ptr() as usize).saturating_sub(self.whole.as_ptr() as usize);
        self.edits.push((start..start + part.len(), with));
    }

    fn apply(mut self) -> String {
        self.edits.sort_by_key(|(range, _)| range.start);
        let mut out = String::with_capacity(
            self.whole.len() + self.edits.iter().map(|(_, with)| with.len()).sum::<usize>(),
        );
        let mut done = 0;
        for (range, with) in self.edits {
            out.push_str(self.whole.get(done..range.start).unwrap_or_default());
            out.push_str(&with);
            done = range.end;
        }
        out.push_str(self.whole.get(done..).unwrap_or_default());
        out
    }
}

/// A field where it lies.
struct Field<'t> {
    /// Without escapes.
    key: String,
    raw_key: &'t RawValue,
    value: &'t RawValue,
}

/// The fields of one object.
struct Fields<'t>(Vec<Field<'t>>);

impl<'t> Fields<'t> {
    fn of(object: &'t str) -> Option<Self> {
        let mut json = serde_json::Deserializer::from_str(object);
        let fields = (&mut json).deserialize_map(Each).ok()?;
        json.end().ok()?;
        Some(fields)
    }
}

struct Each;

impl<'de> Visitor<'de> for Each {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Vec::with_capacity(16);
        while let Some((raw_key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let key = serde_json::from_str(raw_key.get()).map_err(serde::de::Error::custom)?;
            fields.push(Field { key, raw_key, value });
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn set(fields: Value) -> Parameters {
        let Value::Object(set) = fields else { panic!("an object") };
        Parameters { set, ..Parameters::default() }
    }

    fn fill(fields: Value) -> Parameters {
        let Value::Object(default) = fields else { panic!("an object") };
        Parameters { default, ..Parameters::default() }
    }

    fn chat(parameters: &Parameters, body: &str) -> String {
        merge(parameters, Dialect::ChatCompletions, body.as_bytes()).unwrap()
    }

    #[test]
    fn what_is_set_wins_and_the_rest_stays_as_it_lies() {
        let body = "{ \"model\" : \"m\",\n \"temperature\":1.50, \"x\": 1e3 , \"t\\u006fp_p\": 1 } ";
        assert_eq!(
            chat(&set(json!({"temperature": 0, "top_p": 0.5, "seed": 7})), body),
            "{ \"model\" : \"m\",\n \"temperature\":0, \"x\": 1e3 , \"t\\u006fp_p\": 0.5,\"seed\":7 } "
        );
        assert_eq!(chat(&set(json!({"a": "\"", "b": [1]})), "{}"), r#"{"a":"\"","b":[1]}"#);
        assert_eq!(chat(&set(json!({"a": 1})), r#"{"a":2,"a":{"b":3}}"#), r#"{"a":1,"a":1}"#);
    }

    #[test]
    fn a_default_gives_way_to_everything_but_null() {
        let defaults = fill(json!({"a": 1, "b": 2, "c": 3}));
        assert_eq!(chat(&defaults, r#"{"a":false,"b":null}"#), r#"{"a":false,"b":2,"c":3}"#);
    }

    #[test]
    fn objects_are_merged_key_by_key_at_every_depth() {
        let body = r#"{"generationConfig":{"temperature":1,"thinkingConfig":{"a":1}},"x":{}}"#;
        let both = Parameters {
            default: json!({"x": {"y": 1}, "generationConfig": {"topK": 4, "temperature": 9}})
                .as_object()
                .unwrap()
                .clone(),
            ..set(json!({"generationConfig": {"temperature": 0, "thinkingConfig": {"b": 2}}}))
        };
        assert_eq!(
            merge(&both, Dialect::Gemini, body.as_bytes()).unwrap(),
            r#"{"generationConfig":{"temperature":0,"thinkingConfig":{"a":1,"b":2},"topK":4},"x":{"y":1}}"#
        );
        assert_eq!(chat(&set(json!({"a": {"b": 1}})), r#"{"a":[1]}"#), r#"{"a":{"b":1}}"#);
    }

    #[test]
    fn the_longest_answer_is_one_field_whatever_its_name() {
        let limit = set(json!({"max_tokens": 10}));
        assert_eq!(chat(&limit, r#"{"max_completion_tokens":500}"#), r#"{"max_tokens":10}"#);
        let responses =
            |parameters, body: &str| merge(parameters, Dialect::Responses, body.as_bytes()).unwrap();
        assert_eq!(responses(&limit, "{}"), r#"{"max_output_tokens":10}"#);
        assert_eq!(responses(&limit, r#"{"max_output_tokens":5}"#), r#"{"max_output_tokens":10}"#);
        let default = fill(json!({"max_completion_tokens": 10}));
        assert_eq!(chat(&default, r#"{"max_tokens":500}"#), r#"{"max_tokens":500}"#);
        assert_eq!(chat(&default, r#"{"max_tokens":null}"#), r#"{"max_completion_tokens":10}"#);
    }

    #[test]
    fn what_is_no_object_is_left_alone() {
        for body in [&b"[1]"[..], b"1", b"", b"{\"a\":1", b"{\"a\":1}x", b"\xff"] {
            assert_eq!(merge(&set(json!({"a": 2})), Dialect::ChatCompletions, body), None, "{body:?}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "[a-c\"\\\\é]{0,3}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::hash_map("[a-d]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn objects() -> impl Strategy<Value = Map<String, Value>> {
        prop::collection::hash_map("[a-d]", values(), 0..4).prop_map(|map| map.into_iter().collect())
    }

    /// The same over values, plainly.
    fn plainly(into: &mut Map<String, Value>, fields: &Map<String, Value>, replace: bool) {
        for (key, value) in fields {
            match (into.get_mut(key), value) {
                (Some(Value::Object(theirs)), Value::Object(inner)) => plainly(theirs, inner, replace),
                (Some(theirs), _) if replace || theirs.is_null() => *theirs = value.clone(),
                (Some(_), _) => {}
                (None, _) => drop(into.insert(key.clone(), value.clone())),
            }
        }
    }

    proptest! {
        #[test]
        fn it_means_what_a_merge_of_values_means(
            body in objects(), set in objects(), default in objects(), pretty: bool
        ) {
            let parameters = Parameters { set, default };
            let mut expected = body.clone();
            plainly(&mut expected, &parameters.set, true);
            plainly(&mut expected, &parameters.default, false);
            let text = if pretty { serde_json::to_string_pretty(&body) } else { serde_json::to_string(&body) };
            let merged = chat(&parameters, &text.unwrap());
            prop_assert_eq!(serde_json::from_str::<Map<String, Value>>(&merged).unwrap(), expected);
        }
    }
}
