//! Reading JSON where it lies, in one pass: fields are offered as they come, and what nobody takes is skipped.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// Takes the fields of an object or the items of a list. A value must be deserialized: [`skip`], [`raw`] or [`walk`].
pub(super) trait Visit<'de> {
    /// A field of the object.
    fn field<D: Deserializer<'de>>(&mut self, key: &str, value: D) -> Result<(), D::Error> {
        let _ = key;
        skip(value)
    }

    /// An item of the list.
    fn item<D: Deserializer<'de>>(&mut self, value: D) -> Result<(), D::Error> {
        skip(value)
    }
}

/// What a value turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    List(usize),
    Text,
    Other,
}

/// Offers what the value holds to `visit`; a value that holds nothing is fine too.
pub(super) fn walk<'de, D: Deserializer<'de>>(
    value: D,
    visit: &mut impl Visit<'de>,
) -> Result<Shape, D::Error> {
    value.deserialize_any(Walk(visit))
}

pub(super) fn skip<'de, D: Deserializer<'de>>(value: D) -> Result<(), D::Error> {
    IgnoredAny::deserialize(value).map(drop)
}

/// The value's text.
pub(super) fn raw<'de, D: Deserializer<'de>>(value: D) -> Result<&'de RawValue, D::Error> {
    <&RawValue>::deserialize(value)
}

/// Walks a whole document. `Err` where it is not JSON.
pub(super) fn parse<'de>(json: &'de [u8], visit: &mut impl Visit<'de>) -> serde_json::Result<Shape> {
    // Looked at whole it is faster than string by string, which is what a slice of bytes comes to.
    match std::str::from_utf8(json) {
        Ok(json) => document(serde_json::Deserializer::from_str(json), visit),
        Err(_) => document(serde_json::Deserializer::from_slice(json), visit),
    }
}

fn document<'de, R: serde_json::de::Read<'de>>(
    mut value: serde_json::Deserializer<R>,
    visit: &mut impl Visit<'de>,
) -> serde_json::Result<Shape> {
    let shape = walk(&mut value, visit)?;
    value.end()?;
    Ok(shape)
}

/// The text of a string without escapes, as all words that matter are written; else a copy.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = quoted(raw)?;
    if inner.contains('\\') {
        return serde_json::from_str(raw.get()).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

/// Whether the value is this word, in whatever way it is written.
pub(super) fn is_word(raw: &RawValue, word: &str) -> bool {
    string(raw).is_some_and(|text| text == word)
}

/// What stands between the quotes of a string.
pub(super) fn quoted(raw: &RawValue) -> Option<&str> {
    raw.get().strip_prefix('"')?.strip_suffix('"')
}

/// A number that counts something.
pub(super) fn count(raw: &RawValue) -> Option<u64> {
    let text = raw.get();
    text.parse().ok().or_else(|| {
        let float: f64 = text.parse().ok()?;
        (float >= 0.0 && float < u64::MAX as f64).then_some(float as u64)
    })
}

/// Whether the value says anything: not null, false, zero, nor an empty string, list or object.
pub(super) fn is_filled(raw: &RawValue) -> bool {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'{') | Some(b'[') => {
            text.get(1..text.len() - 1).is_some_and(|inner| !inner.trim_ascii().is_empty())
        }
        Some(b'"') => text.len() > 2,
        Some(b'n' | b'f') | None => false,
        Some(b't') => true,
        Some(_) => count(raw) != Some(0),
    }
}

struct Walk<'a, V>(&'a mut V);

impl<'de, V: Visit<'de>> Visitor<'de> for Walk<'_, V> {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut key = Key::default();
        while map.next_key_seed(&mut key)?.is_some() {
            map.next_value_seed(Field { visit: &mut *self.0, key: key.as_str() })?;
        }
        Ok(Shape::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
        let mut n = 0;
        while seq.next_element_seed(Item(&mut *self.0))?.is_some() {
            n += 1;
        }
        Ok(Shape::List(n))
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::Text)
    }
}

struct Field<'a, 'k, V> {
    visit: &'a mut V,
    key: &'k str,
}

impl<'de, V: Visit<'de>> DeserializeSeed<'de> for Field<'_, '_, V> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        self.visit.field(self.key, value)
    }
}

struct Item<'a, V>(&'a mut V);

impl<'de, V: Visit<'de>> DeserializeSeed<'de> for Item<'_, V> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        self.0.item(value)
    }
}

/// A key: where it lies, or copied where it had escapes; empty where that is longer than any that is known.
#[derive(Default)]
struct Key<'de> {
    plain: Option<&'de str>,
    text: [u8; 32],
    len: usize,
}

impl Key<'_> {
    fn as_str(&self) -> &str {
        self.plain.unwrap_or_else(|| {
            self.text.get(..self.len).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
        })
    }
}

impl<'de> DeserializeSeed<'de> for &mut Key<'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<(), D::Error> {
        key.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for &mut Key<'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<(), E> {
        self.plain = Some(key);
        Ok(())
    }

    fn visit_str<E>(self, key: &str) -> Result<(), E> {
        (self.plain, self.len) = (None, 0);
        if let Some(text) = self.text.get_mut(..key.len()) {
            text.copy_from_slice(key.as_bytes());
            self.len = key.len();
        }
        Ok(())
    }
}
