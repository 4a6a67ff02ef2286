//! The layer.

use super::{CircuitBreaker, CircuitBreakerService};
use crate::classify::HttpClassifier;
use tower_layer::Layer;

/// Puts a [`CircuitBreaker`] in front of a service. All clones of the layer and all services that it makes share the
/// circuit that it was made with.
#[derive(Clone, Debug)]
pub struct CircuitBreakerLayer<C = HttpClassifier> {
    breaker: CircuitBreaker,
    classifier: C,
}

impl CircuitBreakerLayer {
    /// With the default classifier: HTTP status, or the verdict that a judge below left on the reply.
    pub fn new(breaker: CircuitBreaker) -> Self {
        Self { breaker, classifier: HttpClassifier::new() }
    }
}

impl<C> CircuitBreakerLayer<C> {
    /// Lets `classifier` say what is a failure.
    pub fn with_classifier<D>(self, classifier: D) -> CircuitBreakerLayer<D> {
        CircuitBreakerLayer { breaker: self.breaker, classifier }
    }

    /// The circuit.
    pub fn breaker(&self) -> &CircuitBreaker {
        &self.breaker
    }
}

impl<S, C: Clone> Layer<S> for CircuitBreakerLayer<C> {
    type Service = CircuitBreakerService<S, C>;

    fn layer(&self, inner: S) -> Self::Service {
        CircuitBreakerService::new(inner, self.breaker.clone(), self.classifier.clone())
    }
}
