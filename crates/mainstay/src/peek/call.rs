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
        }
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
        Self { dialect, family: dialect.error_family(), model_range: 0..0, ..self.clone() }
    }

    /// `body` with the model's name replaced and nothing else touched.
    pub fn rename(&self, body: &RequestBody, model: &str) -> RequestBody {
        if *self.model == *model {
            return body.clone();
        }
        let name = Bytes::from(serde_json::Value::from(model).to_string());
        body.splice(self.model_range.clone(), name).unwrap_or_else(|| body.clone())
    }
}
