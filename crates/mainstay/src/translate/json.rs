//! JSON where it lies: a document is checked once and then read in place.
//!
//! No tree is built. A value is a slice of the text, so what is handed on (a schema, a prompt, a number of any size) is
//! handed on as it was written, and the memory that a document costs does not depend on what is in it.

use memchr::{memchr, memmem};
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// Deeper documents are refused: nobody's prompt is, and whoever builds a tree of it overflows.
const MAX_DEPTH: usize = 128;

/// One value of a document that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Json<'a>(&'a str);

/// A string as it is written, quotes and escapes included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lit<'a>(&'a str);

impl<'a> Json<'a> {
    /// Checks a document: the syntax of all of it, its depth, and, where `strict`, that no surrogate stands alone.
    pub(super) fn check(bytes: &'a [u8], strict: bool) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| error.to_string())?;
        walk(text, strict)?;
        Ok(Self(text))
    }

    /// Part of a document that was checked, or one that was written here.
    pub(super) fn trusted(text: &'a str) -> Self {
        Self(text)
    }

    /// The text of the value.
    pub(super) fn raw(self) -> &'a str {
        self.0
    }

    fn first(self) -> u8 {
        self.0.as_bytes().first().copied().unwrap_or(b'n')
    }

    pub(super) fn is_null(self) -> bool {
        self.first() == b'n'
    }

    pub(super) fn is_object(self) -> bool {
        self.first() == b'{'
    }

    pub(super) fn as_bool(self) -> Option<bool> {
        match self.first() {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        }
    }

    /// The digits of a number.
    pub(super) fn number(self) -> Option<&'a str> {
        matches!(self.first(), b'-' | b'0'..=b'9').then_some(self.0)
    }

    /// A number that counts something.
    pub(super) fn count(self) -> Option<u64> {
        let text = self.number()?;
        text.parse().ok().or_else(|| {
            let float: f64 = text.parse().ok()?;
            ((0.0..9e15).contains(&float) && float.fract() == 0.0).then_some(float as u64)
        })
    }

    pub(super) fn lit(self) -> Option<Lit<'a>> {
        (self.first() == b'"').then_some(Lit(self.0))
    }

    /// The text of a string; `None` for other values, and for a string with half a surrogate pair in it.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        self.lit()?.decode()
    }

    /// Whether it is the string `word`.
    pub(super) fn is(self, word: &str) -> bool {
        self.text().is_some_and(|text| text == word)
    }

    /// The items of a list.
    pub(super) fn items(self) -> Option<Items<'a>> {
        (self.first() == b'[').then(|| Items(self.0.get(1..).unwrap_or_default()))
    }

    /// The items of a list; of anything else none.
    pub(super) fn each(self) -> Items<'a> {
        self.items().unwrap_or(Items(""))
    }

    /// The fields of an object; of anything else none.
    pub(super) fn fields(self) -> Fields<'a> {
        Fields(if self.is_object() { self.0.get(1..).unwrap_or_default() } else { "" })
    }

    /// A field of an object, unless it is null. Of several of one name the last counts, as for most parsers.
    pub(super) fn get(self, name: &str) -> Option<Json<'a>> {
        let found = self.fields().filter(|(key, _)| key == name).last()?.1;
        (!found.is_null()).then_some(found)
    }

    /// Several fields of an object in one pass over it, each as [`get`](Self::get) has it.
    pub(super) fn pick<const N: usize>(self, names: [&str; N]) -> [Option<Json<'a>>; N] {
        let mut found = [None; N];
        for (key, value) in self.fields() {
            if let Some(place) = names.iter().position(|name| key == *name).and_then(|at| found.get_mut(at)) {
                *place = (!value.is_null()).then_some(value);
            }
        }
        found
    }
}

impl<'a> Lit<'a> {
    /// What stands between the quotes, escapes and all.
    pub(super) fn inner(self) -> &'a str {
        self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default()
    }

    /// The text that it stands for.
    pub(super) fn decode(self) -> Option<Cow<'a, str>> {
        if memchr(b'\\', self.0.as_bytes()).is_none() {
            return Some(Cow::Borrowed(self.inner()));
        }
        serde_json::from_str(self.0).ok().map(Cow::Owned)
    }

    pub(super) fn is_empty(self) -> bool {
        self.inner().is_empty()
    }

    /// Whether it holds nothing but blanks.
    pub(super) fn is_blank(self) -> bool {
        let mut bytes = self.inner().bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b' ' => {}
                b'\\' if matches!(bytes.next(), Some(b'n' | b't' | b'r')) => {}
                _ => return false,
            }
        }
        true
    }
}

/// The items of a list.
#[derive(Clone, Debug)]
pub(super) struct Items<'a>(&'a str);

impl<'a> Iterator for Items<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        next_value(&mut self.0).map(Json)
    }
}

/// The fields of an object.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a>(&'a str);

impl<'a> Iterator for Fields<'a> {
    type Item = (Cow<'a, str>, Json<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = Lit(next_value(&mut self.0)?);
        let value = next_value(&mut self.0)?;
        Some((key.decode().unwrap_or(Cow::Borrowed("\u{fffd}")), Json(value)))
    }
}

/// Cuts the next value off; `None` at the end of the list or object.
fn next_value<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.trim_start_matches([' ', '\t', '\n', '\r', ',', ':']);
    let (value, tail) = text.split_at_checked(length(text.as_bytes()))?;
    if value.is_empty() {
        *rest = "";
        return None;
    }
    *rest = tail;
    Some(value)
}

/// How long the value is that `text` begins with; 0 where it begins with none.
fn length(text: &[u8]) -> usize {
    match text.first() {
        None | Some(b']' | b'}') => 0,
        Some(b'"') => string_length(text),
        Some(b'{' | b'[') => {
            let (mut at, mut depth) = (0, 0usize);
            while let Some(byte) = text.get(at) {
                match byte {
                    b'"' => {
                        at += string_length(text.get(at..).unwrap_or_default());
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return at + 1;
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
            text.len()
        }
        Some(_) => text
            .iter()
            .position(|byte| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r'))
            .unwrap_or(text.len()),
    }
}

/// How long the string is that `text` begins with, quotes included.
///
/// Quotes are looked for and not escapes, of which a prompt may have one in every line.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(n) = memchr(b'"', text.get(at..).unwrap_or_default()) {
        let quote = at + n;
        let before = text.get(1..quote).unwrap_or_default().iter().rev();
        if before.take_while(|byte| **byte == b'\\').count() % 2 == 0 {
            return quote + 1;
        }
        at = quote + 1;
    }
    text.len()
}

/// What the syntax does not forbid and a document must not have all the same.
fn walk(text: &str, strict: bool) -> Result<(), String> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = at + string_length(bytes.get(at..).unwrap_or_default());
                if strict && has_lone_surrogate(bytes.get(at..end).unwrap_or_default()) {
                    return Err("a string in it holds half a surrogate pair".to_owned());
                }
                at = end;
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

fn has_lone_surrogate(string: &[u8]) -> bool {
    // Most have no surrogates at all, however many other escapes.
    if memmem::find(string, br"\ud").is_none() && memmem::find(string, br"\uD").is_none() {
        return false;
    }
    let mut at = 0;
    let mut high = false;
    while let Some(n) = memchr(b'\\', string.get(at..).unwrap_or_default()) {
        // Only the escape that follows at once completes a pair.
        if high && n > 0 {
            return true;
        }
        at += n;
        let escape = string.get(at..).unwrap_or_default();
        if escape.get(1) != Some(&b'u') {
            if high {
                return true;
            }
            at += 2;
            continue;
        }
        let digits = escape.get(2..6).and_then(|digits| std::str::from_utf8(digits).ok());
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()).unwrap_or_default();
        match unit {
            0xd800..=0xdbff if !high => high = true,
            0xdc00..=0xdfff if high => high = false,
            0xd800..=0xdfff => return true,
            _ if high => return true,
            _ => {}
        }
        at += 6;
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn check(text: &str) -> Result<Json<'_>, String> {
        Json::check(text.as_bytes(), true)
    }

    /// The value built from what the reader says it holds.
    fn rebuilt(json: Json<'_>) -> Value {
        if let Some(items) = json.items() {
            return Value::Array(items.map(rebuilt).collect());
        }
        if json.is_object() {
            return Value::Object(
                json.fields().map(|(key, value)| (key.into_owned(), rebuilt(value))).collect(),
            );
        }
        if let Some(text) = json.text() {
            return Value::String(text.into_owned());
        }
        serde_json::from_str(json.raw()).unwrap()
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[\"\\\\{}\\[\\],: \n]*".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(any::<String>(), inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_document_is_read_as_a_parser_reads_it(value in any_json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = text.unwrap();
            prop_assert_eq!(rebuilt(check(&text).unwrap()), value);
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(json) = Json::check(&bytes, true) {
                rebuilt(json);
            }
        }
    }

    #[test]
    fn depth_has_a_bound() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(check(&nested(MAX_DEPTH)).is_ok());
        assert!(check(&nested(MAX_DEPTH + 1)).unwrap_err().contains("deeper"));
        assert!(check(&nested(500_000)).is_err());
    }

    #[test]
    fn half_a_surrogate_pair_is_refused_and_a_whole_one_is_not() {
        for text in
            [r#""\ud83d""#, r#""\ude00x""#, r#""\ud83dx\ude00""#, r#""\ud83d\n""#, r#""\ud83d\ud83d""#]
        {
            assert!(check(text).is_err(), "{text}");
            assert!(Json::check(text.as_bytes(), false).is_ok(), "{text}");
        }
        for text in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u0041\\""#] {
            assert!(check(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn several_fields_are_picked_as_one_is() {
        let json = check(r#"{"a":1,"b":null,"c":"\\\"","a":2,"c":"x\"y"}"#).unwrap();
        let [c, a, b, d] = json.pick(["c", "a", "b", "d"]);
        assert_eq!(c.unwrap().raw(), r#""x\"y""#);
        assert_eq!(a.unwrap().raw(), "2");
        assert!(b.is_none() && d.is_none());
        for name in ["a", "b", "c", "d"] {
            assert_eq!(json.pick([name])[0], json.get(name));
        }
    }

    #[test]
    fn the_last_of_two_fields_counts_and_null_is_none() {
        let json = check(r#"{"a":1,"b":null,"a":2}"#).unwrap();
        assert_eq!(json.get("a").unwrap().raw(), "2");
        assert!(json.get("b").is_none());
    }
}
