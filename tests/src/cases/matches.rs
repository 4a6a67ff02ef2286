//! Whether a value is what was wanted.

use regex::RegexBuilder;
use serde_json::Value;

const RULES: [&str; 7] = ["re", "min", "max", "any_of", "absent", "type", "not"];

/// Whether `got` is `want`: the same JSON, or what its rules say.
///
/// An object that has only the keys `re`, `min`, `max`, `any_of`, `absent`, `type` and `not` is a set of rules, all of
/// which must hold. Null is what a missing thing is: only `absent` and an `any_of` with null hold for it.
pub fn matches(want: &Value, got: &Value) -> bool {
    let Some(rules) = want.as_object().filter(|rules| rules.keys().all(|key| RULES.contains(&key.as_str())))
    else {
        return same(want, got);
    };
    if rules.get("absent").is_some_and(|absent| absent == true) {
        return got.is_null();
    }
    let any_of = rules.get("any_of").and_then(Value::as_array);
    if got.is_null() {
        return any_of.is_some_and(|all| all.contains(&Value::Null));
    }
    let limit = |key: &str| rules.get(key).and_then(Value::as_f64);
    let number = || got.as_f64().or_else(|| got.as_str()?.parse().ok());
    rules.get("not").is_none_or(|not| !same(not, got))
        && any_of.is_none_or(|all| all.iter().any(|one| same(one, got)))
        && rules.get("re").and_then(Value::as_str).is_none_or(|re| found(re, got))
        && rules.get("type").and_then(Value::as_str).is_none_or(|kind| is(kind, got))
        && limit("min").is_none_or(|min| number().is_some_and(|got| got >= min))
        && limit("max").is_none_or(|max| number().is_some_and(|got| got <= max))
}

/// Equal as JSON, where 1 and 1.0 are one number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

fn found(re: &str, got: &Value) -> bool {
    let text = got.as_str().map_or_else(|| got.to_string(), str::to_owned);
    regex(re, false).is_match(&text)
}

/// A regular expression of a case. One that counts to 200,000 is not too large.
pub(super) fn regex(re: &str, lines: bool) -> regex::Regex {
    let built = RegexBuilder::new(re).multi_line(lines).size_limit(1 << 30).build();
    built.unwrap_or_else(|error| panic!("the case has a wrong regular expression: {error}"))
}

fn is(kind: &str, got: &Value) -> bool {
    match kind {
        "string" | "str" => got.is_string(),
        "integer" | "int" => got.is_i64() || got.is_u64(),
        "float" => got.is_f64(),
        "number" => got.is_number(),
        "list" => got.is_array(),
        "object" | "dict" => got.is_object(),
        "bool" => got.is_boolean(),
        other => panic!("the case asks for an unknown type: {other}"),
    }
}
