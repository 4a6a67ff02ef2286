//! What was set, and the addresses that come of it.

use crate::{
    provider::{Kind, Native},
    sigv4::Signer,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Uri, uri::PathAndQuery};
use parking_lot::Mutex;
use std::sync::Arc;

/// What was set, shared by all clones.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) kind: Kind,
    pub(super) base: Arc<Base>,
    /// The header that carries the provider's own key: made once, marked sensitive.
    pub(super) credential: Option<HeaderValue>,
    pub(super) headers: HeaderMap,
    /// Signs what goes out, instead of a key in it.
    pub(super) signer: Option<Signer>,
    /// The last address that was put together: most calls go where the one before went.
    last: Arc<Mutex<Option<Last>>>,
}

/// A path, and the address that it leads to. Never one with a query: there may be a key in it.
#[derive(Debug)]
struct Last {
    path: Box<str>,
    address: Uri,
}

/// An address, taken apart once.
#[derive(Debug)]
pub(super) struct Base {
    scheme: http::uri::Scheme,
    authority: http::uri::Authority,
    /// Without a slash at its end.
    path: Box<str>,
}

impl Settings {
    /// `None` where scheme or host are missing.
    pub(super) fn new(kind: Kind, base_url: &Uri) -> Option<Self> {
        let path = base_url.path().trim_end_matches('/');
        let path = if is_host_alone(kind) { path.strip_suffix("/v1").unwrap_or(path) } else { path };
        let base = Base {
            scheme: base_url.scheme()?.clone(),
            authority: base_url.authority()?.clone(),
            path: path.into(),
        };
        Some(Self {
            kind,
            base: Arc::new(base),
            credential: None,
            headers: HeaderMap::new(),
            signer: None,
            last: Arc::default(),
        })
    }

    /// The address of a call: the caller's path under the base, its query without a key in it.
    pub(super) fn address(&self, uri: &Uri) -> Result<Uri, http::Error> {
        if uri.query().is_some() {
            return self.build_address(uri);
        }
        // Whoever finds it locked is faster without it.
        if let Some(last) = self.last.try_lock().as_deref().and_then(Option::as_ref) {
            if *last.path == *uri.path() {
                return Ok(last.address.clone());
            }
        }
        let address = self.build_address(uri)?;
        if let Some(mut last) = self.last.try_lock() {
            *last = Some(Last { path: uri.path().into(), address: address.clone() });
        }
        Ok(address)
    }

    fn build_address(&self, uri: &Uri) -> Result<Uri, http::Error> {
        let path = uri.path();
        // Both sides write `/v1`: the caller's is the SDK's, the base's counts.
        let path = match path.strip_prefix("/v1") {
            Some(rest) if (rest.is_empty() || rest.starts_with('/')) && !is_host_alone(self.kind) => rest,
            _ => path,
        };
        let query = uri.query().unwrap_or_default();
        let mut full = String::with_capacity(self.base.path.len() + path.len() + 1 + query.len());
        full.push_str(&self.base.path);
        full.push_str(path);
        let mut separator = '?';
        for pair in query.split('&') {
            let is_key = pair.split('=').next().is_some_and(|name| name.eq_ignore_ascii_case("key"));
            if !pair.is_empty() && !is_key {
                full.push(separator);
                full.push_str(pair);
                separator = '&';
            }
        }
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.base.scheme.clone());
        parts.authority = Some(self.base.authority.clone());
        parts.path_and_query = Some(PathAndQuery::from_maybe_shared(Bytes::from(full))?);
        Ok(Uri::from_parts(parts)?)
    }
}

/// Anthropic's and Google's SDKs write the host alone and put the version into the path.
fn is_host_alone(kind: Kind) -> bool {
    kind.profile().native != Native::OpenAi
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(kind: Kind, base: &'static str, path: &'static str) -> String {
        let settings = Settings::new(kind, &Uri::from_static(base)).unwrap();
        settings.address(&Uri::from_static(path)).unwrap().to_string()
    }

    #[test]
    fn the_path_goes_below_the_base_as_each_sdk_writes_it() {
        let openai = |base, path| at(Kind::OpenAi, base, path);
        assert_eq!(openai("https://h/v1", "/v1/chat/completions"), "https://h/v1/chat/completions");
        assert_eq!(openai("https://h/api/v3/", "/v1/embeddings?a=b"), "https://h/api/v3/embeddings?a=b");
        assert_eq!(openai("http://h:81", "/v1/x"), "http://h:81/x");
        assert_eq!(
            at(Kind::Anthropic, "https://h", "/v1/messages?beta=true"),
            "https://h/v1/messages?beta=true"
        );
        for base in ["https://h/v1", "https://h/v1/"] {
            assert_eq!(at(Kind::Anthropic, base, "/v1/messages"), "https://h/v1/messages");
            assert_eq!(at(Kind::Gemini, base, "/v1beta/models/m:x"), "https://h/v1beta/models/m:x");
        }
        assert_eq!(at(Kind::Anthropic, "https://h/x/v1", "/v1/messages"), "https://h/x/v1/messages");
    }

    #[test]
    fn an_address_that_is_kept_is_that_of_its_path() {
        let settings = Settings::new(Kind::OpenAi, &Uri::from_static("https://h/v1")).unwrap();
        for path in ["/v1/a", "/v1/a", "/v1/b", "/v1/b?c=d", "/v1/b", "/v1/a"] {
            let address = settings.address(&path.parse().unwrap()).unwrap();
            assert_eq!(address.to_string(), format!("https://h{path}"));
        }
        assert!(settings.last.lock().as_ref().is_some_and(|last| &*last.path == "/v1/a"));
    }

    #[test]
    fn a_key_in_the_query_stays_here() {
        assert_eq!(at(Kind::OpenAi, "https://h/v1", "/v1/x?key=sk-1&a=b&KEY=2"), "https://h/v1/x?a=b");
    }
}
