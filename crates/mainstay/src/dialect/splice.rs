//! Adding the list of tries to a provider's own error.

use super::{
    Attempt, ErrorFamily,
    render::{Detail, json},
};
use crate::json::{NotJson, Raw, Shape, Value, Visit, is_word, parse, quoted, raw, skip};
use bytes::Bytes;
use std::ops::Range;

/// The provider's error with `attempts` added inside `error`: a field in OpenAI's and Anthropic's shape, one more
/// entry of `details` in Gemini's. All else stays as it came, in its order, numbers as they were written. An `attempts`
/// that is there already, from another gateway on the way, is replaced. A list of one error is unwrapped.
///
/// `None` where the body is not an error of the family; then render a new one.
///
/// ```
/// use mainstay::dialect::{ErrorFamily, with_attempts};
///
/// let theirs = br#"{"error":{"code":429,"message":"slow down"},"user_id":"u"}"#;
/// let ours = with_attempts(ErrorFamily::OpenAi, theirs, &[]).unwrap();
/// assert_eq!(ours, r#"{"error":{"code":429,"message":"slow down","attempts":[]},"user_id":"u"}"#);
/// assert!(with_attempts(ErrorFamily::Anthropic, theirs, &[]).is_none());
/// ```
pub fn with_attempts(family: ErrorFamily, provider_body: &[u8], attempts: &[Attempt]) -> Option<Bytes> {
    let text = std::str::from_utf8(provider_body).ok()?.trim_start_matches('\u{feff}').trim();
    let mut list = List::default();
    let text = match parse(text.as_bytes(), &mut list) {
        Ok(Shape::List(1)) => list.item?.get(),
        Ok(Shape::Object) => text,
        _ => return None,
    };
    let mut body = Outer::default();
    parse(text.as_bytes(), &mut body).ok()?;
    let error = body.error?.get();
    let mut fields = Inner::default();
    if parse(error.as_bytes(), &mut fields).ok()? != Shape::Object {
        return None;
    }
    let of_family = match family {
        ErrorFamily::OpenAi => !body.is_anthropic && fields.message,
        ErrorFamily::Anthropic => body.is_anthropic && fields.message && fields.kind,
        ErrorFamily::Gemini => fields.message && fields.number,
    };
    if !of_family {
        return None;
    }
    let (place, addition) = match family {
        ErrorFamily::Gemini => {
            let entry = json(&Detail::attempts(attempts));
            let entry = std::str::from_utf8(&entry).ok()?;
            match fields.details {
                Some(details) => {
                    let place = range_of(error, details.get())?;
                    match details.get().strip_suffix(']') {
                        Some(list) => {
                            let filled = !list.trim_end().ends_with('[');
                            (place.end - 1..place.end - 1, format!("{}{entry}", comma(filled)))
                        }
                        // Null, or no list.
                        None => (place, format!("[{entry}]")),
                    }
                }
                None => (last(error)?, format!("{}\"details\":[{entry}]", comma(fields.any))),
            }
        }
        _ => {
            let value = json(&attempts);
            let value = std::str::from_utf8(&value).ok()?;
            match fields.attempts {
                Some(theirs) => (range_of(error, theirs.get())?, value.to_owned()),
                None => (last(error)?, format!("{}\"attempts\":{value}", comma(fields.any))),
            }
        }
    };
    let at = range_of(text, error)?.start;
    let (head, tail) = (text.get(..at + place.start)?, text.get(at + place.end..)?);
    Some([head, &addition, tail].concat().into())
}

/// Where `part` stands in `whole`, of which it is a slice.
fn range_of(whole: &str, part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    whole.get(start..start + part.len())?;
    Some(start..start + part.len())
}

/// The place before an object's closing brace.
fn last(object: &str) -> Option<Range<usize>> {
    let end = object.strip_suffix('}')?.trim_end().len();
    Some(end..end)
}

fn comma(any: bool) -> &'static str {
    if any { "," } else { "" }
}

#[derive(Default)]
struct List<'de> {
    item: Option<Raw<'de>>,
}

impl<'de> Visit<'de> for List<'de> {
    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        self.item = Some(raw(value)?);
        Ok(())
    }
}

#[derive(Default)]
struct Outer<'de> {
    error: Option<Raw<'de>>,
    is_anthropic: bool,
}

impl<'de> Visit<'de> for Outer<'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "error" => self.error = Some(raw(value)?),
            "type" => self.is_anthropic = is_word(raw(value)?, "error"),
            _ => skip(value)?,
        }
        Ok(())
    }
}

#[derive(Default)]
struct Inner<'de> {
    any: bool,
    message: bool,
    kind: bool,
    number: bool,
    attempts: Option<Raw<'de>>,
    details: Option<Raw<'de>>,
}

impl<'de> Visit<'de> for Inner<'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        self.any = true;
        match key {
            "message" => self.message = quoted(raw(value)?).is_some(),
            "type" => self.kind = quoted(raw(value)?).is_some(),
            "code" => self.number = raw(value)?.get().parse::<i64>().is_ok(),
            "attempts" => self.attempts = Some(raw(value)?),
            "details" => self.details = Some(raw(value)?),
            _ => skip(value)?,
        }
        Ok(())
    }
}
