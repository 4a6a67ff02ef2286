//! What the readers of requests have in common: fields that are not what they must be are refused by their names.

use super::{
    error::Refused,
    form::Source,
    json::{Items, Json, Lit},
};
use std::borrow::Cow;

pub(super) fn text<'a>(param: &str, value: Json<'a>) -> Result<Lit<'a>, Refused> {
    value.lit().ok_or_else(|| Refused::wrong(param, "must be a string"))
}

pub(super) fn decoded<'a>(param: &str, value: Json<'a>) -> Result<Cow<'a, str>, Refused> {
    value.text().ok_or_else(|| Refused::wrong(param, "must be a string"))
}

pub(super) fn flag(param: &str, value: Json<'_>) -> Result<bool, Refused> {
    if value.is_null() {
        return Ok(false);
    }
    value.as_bool().ok_or_else(|| Refused::wrong(param, "must be true or false"))
}

pub(super) fn count(param: &str, value: Json<'_>) -> Result<Option<u64>, Refused> {
    if value.is_null() {
        return Ok(None);
    }
    value.count().map(Some).ok_or_else(|| Refused::wrong(param, "must be a whole number"))
}

pub(super) fn list<'a>(param: &str, value: Json<'a>) -> Result<Items<'a>, Refused> {
    value.items().ok_or_else(|| Refused::wrong(param, "must be a list"))
}

pub(super) fn object<'a>(param: &str, value: Json<'a>) -> Result<Json<'a>, Refused> {
    if value.is_object() { Ok(value) } else { Err(Refused::wrong(param, "must be an object")) }
}

/// The field `name` of what stands at `at`.
pub(super) fn needed<'a>(at: &str, object: Json<'a>, name: &str) -> Result<Json<'a>, Refused> {
    object.get(name).ok_or_else(|| Refused::wrong(format!("{at}.{name}"), "is missing"))
}

/// The same of a string, as it stands.
pub(super) fn needed_text<'a>(at: &str, object: Json<'a>, name: &str) -> Result<Lit<'a>, Refused> {
    needed(at, object, name).and_then(|value| text(&format!("{at}.{name}"), value))
}

/// The same of a string, decoded.
pub(super) fn needed_decoded<'a>(at: &str, object: Json<'a>, name: &str) -> Result<Cow<'a, str>, Refused> {
    needed(at, object, name).and_then(|value| decoded(&format!("{at}.{name}"), value))
}

/// A file that is sent itself: a `data:` URL, or the Base64 alone, which is a PDF's.
pub(super) fn file_data<'a>(param: &str, value: Json<'a>) -> Result<Source<'a>, Refused> {
    let text = decoded(param, value)?;
    if text.starts_with("data:") {
        return Source::of_url(text).ok_or_else(|| {
            Refused::wrong(
                param,
                "is no data in base64 with its media type (data:application/pdf;base64,...)",
            )
        });
    }
    Ok(Source::Data { media: Cow::Borrowed("application/pdf"), data: text })
}
