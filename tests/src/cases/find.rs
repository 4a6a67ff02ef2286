//! A place in a JSON value.

use serde_json::Value;

/// `choices.0.message.content` in a JSON value: names and indexes, negative ones from the end. A step that is missing
/// makes it null.
pub fn find<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').try_fold(value, step).unwrap_or(&Value::Null)
}

fn step<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields.get(step),
        Value::Array(items) => place(items.len(), step.parse().ok()?).and_then(|place| items.get(place)),
        _ => None,
    }
}

/// The place of an index that counts from the end when negative.
pub(super) fn place(length: usize, index: i64) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}
