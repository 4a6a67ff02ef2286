//! JSON objects whose fields keep their order, and their values the way in which they were written.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::{RawValue, to_raw_value};
use std::{borrow::Cow, fmt};

/// The fields of one object.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'a> Fields<'a> {
    /// `None` where the text is no JSON object.
    pub(super) fn parse(json: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// The object behind `key`.
    pub(super) fn object(&self, key: &str) -> Option<Fields<'_>> {
        Fields::parse(self.raw(key)?.as_bytes())
    }

    /// The value behind `key` as it was written.
    pub(super) fn raw(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.get())
    }

    /// The value behind `key` if it is of this type.
    pub(super) fn read<'s, T: Deserialize<'s>>(&'s self, key: &str) -> Option<T> {
        serde_json::from_str(self.raw(key)?).ok()
    }

    /// The string behind `key`, empty where there is none.
    pub(super) fn text(&self, key: &str) -> String {
        self.read(key).unwrap_or_default()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, value.get()))
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|(key, _)| keep(key));
    }

    /// Replaces the value behind `key`, or adds it. What cannot be written is left out.
    pub(super) fn set(&mut self, key: &'static str, value: &impl serde::Serialize) {
        let Ok(value) = to_raw_value(value) else { return };
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, place)) => *place = Cow::Owned(value),
            None => self.0.push((Cow::Borrowed(key), Cow::Owned(value))),
        }
    }

    /// The same with a value that is JSON already.
    pub(super) fn set_raw(&mut self, key: &'static str, json: &str) {
        if let Ok(value) = serde_json::from_str::<Box<RawValue>>(json) {
            self.set(key, &value);
        }
    }
}

impl serde::Serialize for Fields<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, &**value)))
    }
}

impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::with_capacity(map.size_hint().unwrap_or(8));
                while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    fields.push((key, Cow::Borrowed(value)));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

/// A key, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Whether a value says anything: not null, false, nor an empty string, list or object.
pub(super) fn is_filled(json: &str) -> bool {
    let inner = json.get(1..json.len().saturating_sub(1)).unwrap_or_default();
    match json.as_bytes().first() {
        None | Some(b'n' | b'f') => false,
        Some(b'"' | b'{' | b'[') => !inner.trim_ascii().is_empty() || json.starts_with('"') && json.len() > 2,
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_numbers_stay_as_they_were_written() {
        let json = r#"{"z":1.50,"a":{"b":[1e3]},"m":"\u00e9"}"#;
        let mut fields = Fields::parse(json.as_bytes()).unwrap();
        assert_eq!(fields.to_string(), json);
        fields.set("a", &"x");
        fields.set("new", &2);
        assert_eq!(fields.to_string(), r#"{"z":1.50,"a":"x","m":"\u00e9","new":2}"#);
    }

    #[test]
    fn what_says_nothing_is_not_filled() {
        for (json, filled) in
            [("null", false), ("\"\"", false), ("\" \"", true), ("[ ]", false), ("{}", false), ("0", true)]
        {
            assert_eq!(is_filled(json), filled, "{json}");
        }
    }
}
