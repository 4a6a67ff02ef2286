//! What the layers below need to know about a call, in the request's extensions.

use super::{PeekError, Peeked};
use crate::{
    body::RequestBody,
    dialect::{Dialect, ErrorFamily},
};
use bytes::Bytes;
use http::Request;
use mainstay_layers::timeout::Streaming;
use std::{ops::Range, sync::Arc};

/// What is known of a call before it is sent: its dialect, model and whether it asks for a stream.
///
/// Stands in the extensions of the request; the router reads it, and so do judge and endpoint below.
#[derive(Clone, Debug)]
pub struct Call {
    /// The API that the caller speaks.
    pub dialect: Dialect,
    /// The family of that API, known for every path: `/v1/messages/count_tokens` is Anthropic's.
    pub family: ErrorFamily,
    /// The model that the caller asked for.
    pub model: Arc<str>,
    /// Whether the caller asked for a stream.
    pub stream: bool,
    /// Where the model's name stands in the body, quotes included.
    model_range: Range<usize>,
    /// Whether the reply is translated for the caller, so that nothing of it can pass unread.
    pub(crate) translated: bool,
}

impl Call {
    /// A call to `path` with a body of which `peeked` is known.
    pub fn new(path: &str, peeked: Peeked) -> Self {
        Self {
            dialect: Dialect::of_path(path),
            family: ErrorFamily::of_path(path),
            model: peeked.model.into(),
            stream: peeked.stream,
            model_range: peeked.model_range,
            translated: false,
        }
    }

    /// A call whose path names the model, as Gemini's do: `/v1beta/models/{model}:{method}`. `None` where it names none.
    ///
    /// ```
    /// use mainstay::peek::Call;
    ///
    /// let call = Call::of_path("/v1beta/models/gemini-9:streamGenerateContent?alt=sse").unwrap();
    /// assert_eq!((&*call.model, call.stream), ("gemini-9", true));
    /// assert!(Call::of_path("/v1/chat/completions").is_none());
    /// ```
    pub fn of_path(path: &str) -> Option<Self> {
        let bare = path.split_once(['?', '#']).map_or(path, |(path, _)| path);
        let rest = bare.strip_prefix("/v1beta/").or_else(|| bare.strip_prefix("/v1/"))?;
        let (model, method) = rest.strip_prefix("models/")?.rsplit_once(':')?;
        let model = decoded(model)?;
        let stream = method.starts_with("stream");
        Some(Self {
            dialect: Dialect::of_path(path),
            family: ErrorFamily::Gemini,
            model: model.into(),
            stream,
            model_range: 0..0,
            translated: false,
        })
    }

    /// The request of this call: the body as it came, and in its extensions this and what the layers need.
    pub fn into_request<B>(self, request: Request<B>, body: Bytes) -> Request<RequestBody> {
        let (mut parts, _) = request.into_parts();
        parts.extensions.insert(Streaming(self.stream));
        parts.extensions.insert(self);
        Request::from_parts(parts, RequestBody::from(body))
    }

    /// The same call with another body, such as one to which a message was added.
    ///
    /// # Errors
    /// As [`peek`](super::peek).
    pub fn over(&self, body: &[u8]) -> Result<Self, PeekError> {
        let peeked = super::peek(body)?;
        Ok(Self { model_range: peeked.model_range, ..self.clone() })
    }

    /// The same call as it is written in another dialect; where the model's name stands there is not known.
    pub(crate) fn in_dialect(&self, dialect: Dialect) -> Self {
        let family = dialect.error_family();
        Self { dialect, family, model_range: 0..0, translated: true, ..self.clone() }
    }

    /// `body` with the model's name replaced and nothing else touched.
    pub fn rename(&self, body: &RequestBody, model: &str) -> RequestBody {
        if *self.model == *model || self.model_range.is_empty() {
            return body.clone();
        }
        let name = Bytes::from(serde_json::Value::from(model).to_string());
        body.splice(self.model_range.clone(), name).unwrap_or_else(|| body.clone())
    }
}

/// A segment of a path without its percent signs; `None` where it is empty or no UTF-8.
fn decoded(segment: &str) -> Option<String> {
    String::from_utf8(percent_decoded(segment)).ok().filter(|model| !model.trim().is_empty())
}

/// The bytes that a path stands for (RFC 3986 §2.1): `%2F` is a slash. What is no encoding stays as it is.
///
/// ```
/// assert_eq!(mainstay::peek::percent_decoded("a%2Fb%+1"), b"a/b%+1");
/// ```
pub fn percent_decoded(path: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [byte, tail @ ..] = rest {
        let hex = |at: usize| tail.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let meant = match (byte, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => u8::try_from(high * 16 + low).ok(),
            _ => None,
        };
        bytes.push(meant.unwrap_or(*byte));
        rest = if meant.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    bytes
}
