//! The layer.

use super::{Concurrency, ConcurrencyLimit};
use crate::classify::HttpClassifier;
use tower_layer::Layer;

/// Puts a [`ConcurrencyLimit`] in front of a service. All clones of the layer and all services that it makes share the
/// limit that it was made with.
#[derive(Clone, Debug)]
pub struct ConcurrencyLayer<C = HttpClassifier> {
    limit: ConcurrencyLimit,
    classifier: C,
}

impl ConcurrencyLayer {
    /// Under `limit`. An adaptive one reads rate limits by the default classifier.
    pub fn new(limit: ConcurrencyLimit) -> Self {
        Self { limit, classifier: HttpClassifier::new() }
    }
}

impl<C> ConcurrencyLayer<C> {
    /// Lets `classifier` say what is a rate limit. Only an adaptive limit asks it.
    pub fn with_classifier<D>(self, classifier: D) -> ConcurrencyLayer<D> {
        ConcurrencyLayer { limit: self.limit, classifier }
    }

    /// The limit.
    pub fn limit(&self) -> &ConcurrencyLimit {
        &self.limit
    }
}

impl<S, C: Clone> Layer<S> for ConcurrencyLayer<C> {
    type Service = Concurrency<S, C>;

    fn layer(&self, inner: S) -> Self::Service {
        Concurrency::new(inner, self.limit.clone(), self.classifier.clone())
    }
}
