//! Texts as vectors.

use super::{ChatError, Usage, answer::Origin, reply};
use crate::{dialect::Dialect, secret::Redactor};
use http::response::Parts;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};
use std::{fmt, time::Duration};

/// A question for the vectors of texts. `Debug` shows how many, not which.
#[derive(Clone, PartialEq)]
pub struct EmbedRequest {
    model: String,
    input: Vec<String>,
    dimensions: Option<u32>,
    extra: Map<String, Value>,
    pub(super) within: Option<Duration>,
}

impl EmbedRequest {
    /// Asks `model` for the vectors of these texts, in one call.
    pub fn new<T: Into<String>>(model: impl Into<String>, texts: impl IntoIterator<Item = T>) -> Self {
        Self {
            model: model.into(),
            input: texts.into_iter().map(Into::into).collect(),
            dimensions: None,
            extra: Map::new(),
            within: None,
        }
    }

    /// How long the vectors are, where the model leaves a choice.
    #[must_use]
    pub fn with_dimensions(mut self, dimensions: u32) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Adds a field of which nothing is known here. `model`, `input` and `encoding_format` are written here alone.
    #[must_use]
    pub fn with(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(field.into(), value.into());
        self
    }

    /// By when the whole call must be over.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    pub(super) fn len(&self) -> usize {
        self.input.len()
    }
}

impl fmt::Debug for EmbedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbedRequest")
            .field("model", &self.model)
            .field("texts", &self.input.len())
            .finish_non_exhaustive()
    }
}

impl Serialize for EmbedRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const OURS: [&str; 3] = ["model", "input", "encoding_format"];
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &self.model)?;
        map.serialize_entry("input", &self.input)?;
        map.serialize_entry("encoding_format", "float")?;
        if let (Some(dimensions), false) = (self.dimensions, self.extra.contains_key("dimensions")) {
            map.serialize_entry("dimensions", &dimensions)?;
        }
        for (field, value) in self.extra.iter().filter(|(field, _)| !OURS.contains(&field.as_str())) {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}

/// The vectors of texts, in their order.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Embeddings {
    /// One a text, in the order in which they were asked for.
    pub vectors: Vec<Vec<f32>>,
    /// The tokens.
    pub usage: Usage,
}

impl fmt::Debug for Embeddings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embeddings")
            .field("vectors", &self.vectors.len())
            .field("usage", &self.usage)
            .finish()
    }
}

#[derive(Deserialize)]
struct List {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

pub(super) fn read(
    parts: &Parts,
    bytes: &[u8],
    expected: usize,
    origin: &Origin,
    redactor: &Redactor,
) -> Result<Embeddings, ChatError> {
    let known = reply::check(Dialect::Embeddings, parts, bytes, origin, redactor)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(List { mut data }) = serde_json::from_slice::<List>(bytes) else {
        return Err(reply::malformed("its embeddings are no lists of numbers", origin));
    };
    if data.len() != expected {
        return Err(reply::malformed("it has another number of embeddings than there are texts", origin));
    }
    // Stable: those that are not numbered stay as they came.
    data.sort_by_key(|item| item.index);
    Ok(Embeddings { vectors: data.into_iter().map(|item| item.embedding).collect(), usage: known.usage })
}
