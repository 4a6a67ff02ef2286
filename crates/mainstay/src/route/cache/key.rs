//! Under what an answer is kept.

use super::super::fields::Fields;
use crate::{body::RequestBody, endpoint::caller_key};
use http::request::Parts;
use sha2::{Digest, Sha256};
use std::fmt;

/// What an answer belongs to: one request with one credential. Neither can be read from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// The bytes, for a store.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// `None` where the answer may not be kept: the caller forbids it, or the body is no object. A call for a stream and the
    /// same one for a whole answer have keys of their own, by their bodies or their paths.
    pub(super) fn of(parts: &Parts, body: &RequestBody) -> Option<Self> {
        if forbids(parts, "no-store") {
            return None;
        }
        let mut hash = Sha256::new();
        // Each part with its length: no two requests run into one another.
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        add(parts.method.as_str().as_bytes());
        add(parts.uri.path_and_query().map_or("", |path| path.as_str()).as_bytes());
        add(caller_key(&parts.headers).unwrap_or_default().as_bytes());
        let mut headers: Vec<_> = parts.headers.iter().filter(|(name, _)| matters(name.as_str())).collect();
        headers.sort_by_key(|(name, _)| name.as_str());
        for (name, value) in headers {
            add(name.as_str().as_bytes());
            add(value.as_bytes());
        }
        add(b"");
        let body = body.to_bytes();
        let fields = Fields::parse(&body)?;
        let mut fields: Vec<_> = fields.iter().collect();
        // Stable: of a field that stands there twice the order counts.
        fields.sort_by_key(|(name, _)| *name);
        for (name, value) in fields {
            add(name.as_bytes());
            add(value.as_bytes());
        }
        Some(Self(hash.finalize().into()))
    }
}

/// Whether a header changes the answer.
fn matters(name: &str) -> bool {
    name == "authorization"
        || name == "x-api-key"
        || name == "api-key"
        || name == "x-goog-api-key"
        || name == "x-goog-user-project"
        || name == "accept-language"
        || name.starts_with("anthropic-")
        || name.starts_with("openai-")
}

/// Whether the caller's `cache-control` has this word (RFC 9111 §5.2.1).
pub(super) fn forbids(parts: &Parts, word: &str) -> bool {
    let mut values = parts.headers.get_all("cache-control").iter().filter_map(|value| value.to_str().ok());
    values.any(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheKey")
    }
}
