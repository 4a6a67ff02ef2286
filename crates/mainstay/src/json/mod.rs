//! Reading JSON where it lies, in one pass: fields are offered as they come, and what nobody takes is stepped over.

mod cursor;
pub(crate) mod lexeme;

pub(crate) use cursor::{NotJson, Raw};

use cursor::Cursor;
use std::borrow::Cow;

/// Takes the fields of an object or the items of a list. A value must be taken by [`skip`], [`raw`] or [`walk`].
pub(crate) trait Visit<'de> {
    /// A field of the object.
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        let _ = key;
        skip(value)
    }

    /// An item of the list.
    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        skip(value)
    }
}

/// A value that is to be taken: the place where it begins.
pub(crate) struct Value<'a, 'de>(&'a mut Cursor<'de>);

/// What a value turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Object,
    List(usize),
    Text,
    Other,
}

/// Offers what the value holds to `visit`; a value that holds nothing is fine too.
pub(crate) fn walk<'de>(value: Value<'_, 'de>, visit: &mut impl Visit<'de>) -> Result<Shape, NotJson> {
    let cursor = value.0;
    match cursor.peek() {
        Some(b'{') => {
            let mut more = cursor.enter(b'}')?;
            while more {
                let key = cursor.key()?;
                visit.field(&key, Value(cursor))?;
                more = cursor.next(b'}')?;
            }
            Ok(Shape::Object)
        }
        Some(b'[') => {
            let mut items = 0;
            let mut more = cursor.enter(b']')?;
            while more {
                visit.item(Value(cursor))?;
                items += 1;
                more = cursor.next(b']')?;
            }
            Ok(Shape::List(items))
        }
        first => {
            cursor.scalar()?;
            Ok(if first == Some(b'"') { Shape::Text } else { Shape::Other })
        }
    }
}

pub(crate) fn skip(value: Value<'_, '_>) -> Result<(), NotJson> {
    value.0.skip()
}

/// The value as it is written.
pub(crate) fn raw<'de>(value: Value<'_, 'de>) -> Result<Raw<'de>, NotJson> {
    value.0.raw()
}

/// Walks a whole document. `Err` where it is not JSON.
pub(crate) fn parse<'de>(json: &'de [u8], visit: &mut impl Visit<'de>) -> Result<Shape, NotJson> {
    let mut cursor = Cursor::new(json);
    let shape = walk(Value(&mut cursor), visit)?;
    cursor.end()?;
    Ok(shape)
}

/// The text of a string without escapes, as all words that matter are written; else a copy.
pub(crate) fn string(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let inner = quoted(raw)?;
    if inner.contains('\\') {
        return serde_json::from_str(raw.get()).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

/// Whether the value is this word, in whatever way it is written.
pub(crate) fn is_word(raw: Raw<'_>, word: &str) -> bool {
    string(raw).is_some_and(|text| text == word)
}

/// What stands between the quotes of a string.
pub(crate) fn quoted(raw: Raw<'_>) -> Option<&str> {
    raw.get().strip_prefix('"')?.strip_suffix('"')
}

/// A number that counts something.
pub(crate) fn count(raw: Raw<'_>) -> Option<u64> {
    let text = raw.get();
    text.parse().ok().or_else(|| {
        let float: f64 = text.parse().ok()?;
        (float >= 0.0 && float < u64::MAX as f64).then_some(float as u64)
    })
}

/// Whether the value says anything: not null, false, zero, nor an empty string, list or object.
pub(crate) fn is_filled(raw: Raw<'_>) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    /// Goes into everything, and keeps the keys.
    #[derive(Default)]
    struct All(Vec<String>);

    impl<'de> Visit<'de> for All {
        fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
            self.0.push(key.to_owned());
            walk(value, self).map(drop)
        }

        fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
            walk(value, self).map(drop)
        }
    }

    const PIECES: [&str; 26] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"b\":",
        "{\"c\\n\":",
        "{\"\":",
        "[1,",
        "true",
        "null",
        "0",
        "-1.5e3",
        "1e999",
        " ",
        "\n",
        "\\",
        "é",
        "{\"schlüssel\":1",
        "\"a key that is long\":",
        "[]",
        "{}",
        "\u{0}",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_visited_is_json_where_serde_says_so(
            pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..10),
        ) {
            let text = pieces.concat();
            let mut all = All::default();
            let theirs = serde_json::from_str::<IgnoredAny>(&text).is_ok();
            prop_assert_eq!(parse(text.as_bytes(), &mut all).is_ok(), theirs, "{}", text);
        }
    }

    #[test]
    fn keys_come_unescaped_and_in_order() {
        let mut all = All::default();
        let text = r#" {"a":1, "b\u0062\"": {"" : [{"ü":2},{"long enough for two steps":{}}]}, "\ud83d\ude00":0,"c":"d" } "#;
        assert_eq!(parse(text.as_bytes(), &mut all), Ok(Shape::Object));
        assert_eq!(all.0, ["a", "bb\"", "", "ü", "long enough for two steps", "😀", "c"]);
        assert_eq!(parse(br#"{"\ud83d": 1}"#, &mut all), Err(NotJson), "half a character is no key");
    }

    #[test]
    fn what_is_visited_is_of_bounded_depth() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(parse(nested(128).as_bytes(), &mut All::default()), Ok(Shape::List(1)));
        assert_eq!(parse(nested(129).as_bytes(), &mut All::default()), Err(NotJson));
    }
}
