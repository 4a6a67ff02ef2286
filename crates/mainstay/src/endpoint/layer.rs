//! The layer.

use super::{Endpoint, headers, settings::Settings};
use crate::{provider::Kind, secret::ApiKey, sigv4::Signer};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use std::sync::Arc;
use tower_layer::Layer;

/// Sends requests to one provider's address. See the [module](super) for what reaches it.
#[derive(Clone)]
pub struct EndpointLayer {
    // One word: the service is cloned for each call, and moved with it from layer to layer.
    pub(super) settings: Arc<Settings>,
}

impl EndpointLayer {
    /// Requests to a provider of `kind` at `base_url`, written as its own SDK wants it: OpenAI's ends in `/v1`,
    /// Anthropic's is the host alone, and a `/v1` behind it is left out. `None` where scheme or host are missing.
    pub fn new(kind: Kind, base_url: &Uri) -> Option<Self> {
        Settings::new(kind, base_url).map(|settings| Self { settings: Arc::new(settings) })
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

impl std::fmt::Debug for EndpointLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Settings { kind, base, credential, signer, .. } = &*self.settings;
        f.debug_struct("EndpointLayer")
            .field("kind", kind)
            .field("base", base)
            .field("credential", credential)
            .field("signer", signer)
            .finish_non_exhaustive()
    }
}

impl<S> Layer<S> for EndpointLayer {
    type Service = Endpoint<S>;

    fn layer(&self, inner: S) -> Endpoint<S> {
        Endpoint::new(inner, self.clone())
    }
}
