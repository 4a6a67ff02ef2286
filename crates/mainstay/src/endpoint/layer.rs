//! The layer.

use super::{Endpoint, headers};
use crate::{
    provider::{Kind, Native},
    secret::ApiKey,
    sigv4::Signer,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, uri::PathAndQuery};
use parking_lot::Mutex;
use std::sync::Arc;
use tower_layer::Layer;

/// Sends requests to one provider's address. See the [module](super) for what reaches it.
#[derive(Clone)]
pub struct EndpointLayer {
    // One word: the service is cloned for each call, and moved with it from layer to layer.
    pub(super) settings: Arc<Settings>,
}

/// What was set, shared by all clones.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) kind: Kind,
    base: Arc<Base>,
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
struct Base {
    scheme: http::uri::Scheme,
    authority: http::uri::Authority,
    /// Without a slash at its end.
    path: Box<str>,
}

impl EndpointLayer {
    /// Requests to a provider of `kind` at `base_url`, written as its own SDK wants it: OpenAI's ends in `/v1`,
    /// Anthropic's is the host alone, and a `/v1` behind it is left out. `None` where scheme or host are missing.
    pub fn new(kind: Kind, base_url: &Uri) -> Option<Self> {
        let path = base_url.path().trim_end_matches('/');
        let path = if is_host_alone(kind) { path.strip_suffix("/v1").unwrap_or(path) } else { path };
        let base = Base {
            scheme: base_url.scheme()?.clone(),
            authority: base_url.authority()?.clone(),
            path: path.into(),
        };
        let settings = Settings {
            kind,
            base: Arc::new(base),
            credential: None,
            headers: HeaderMap::new(),
            signer: None,
            last: Arc::default(),
        };
        Some(Self { settings: Arc::new(settings) })
    }

    /// The provider's key. Without one the caller's own credentials are passed on.
    #[must_use]
    pub fn with_key(mut self, key: ApiKey) -> Self {
        let settings = Arc::make_mut(&mut self.settings);
        settings.credential = key.header(headers::prefix(settings.kind));
        self
    }

    /// Signs every try in place of a key. Neither a key nor the caller's own credentials are sent then. A
    /// [`PayloadHashLayer`](crate::sigv4::PayloadHashLayer) must stand above.
    #[must_use]
    pub fn with_signer(mut self, signer: Signer) -> Self {
        Arc::make_mut(&mut self.settings).signer = Some(signer);
        self
    }

    /// Adds a header to every request; it wins over the caller's.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        Arc::make_mut(&mut self.settings).headers.insert(name, value);
        self
    }

    /// Adds headers to every request; they win over the caller's.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        Arc::make_mut(&mut self.settings).headers.extend(headers);
        self
    }
}

impl Settings {
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

impl std::fmt::Debug for EndpointLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndpointLayer")
            .field("kind", &self.settings.kind)
            .field("base", &self.settings.base)
            .field("credential", &self.settings.credential)
            .field("signer", &self.settings.signer)
            .finish_non_exhaustive()
    }
}

impl<S> Layer<S> for EndpointLayer {
    type Service = Endpoint<S>;

    fn layer(&self, inner: S) -> Endpoint<S> {
        Endpoint::new(inner, self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(kind: Kind, base: &'static str, path: &'static str) -> String {
        let layer = EndpointLayer::new(kind, &Uri::from_static(base)).unwrap();
        layer.settings.address(&Uri::from_static(path)).unwrap().to_string()
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
        let layer = EndpointLayer::new(Kind::OpenAi, &Uri::from_static("https://h/v1")).unwrap();
        for path in ["/v1/a", "/v1/a", "/v1/b", "/v1/b?c=d", "/v1/b", "/v1/a"] {
            let address = layer.settings.address(&path.parse().unwrap()).unwrap();
            assert_eq!(address.to_string(), format!("https://h{path}"));
        }
        assert!(layer.settings.last.lock().as_ref().is_some_and(|last| &*last.path == "/v1/a"));
    }

    #[test]
    fn a_key_in_the_query_stays_here() {
        assert_eq!(at(Kind::OpenAi, "https://h/v1", "/v1/x?key=sk-1&a=b&KEY=2"), "https://h/v1/x?a=b");
    }
}
