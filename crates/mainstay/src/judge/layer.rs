//! The layer.

use super::{Judge, JudgeConfig};
use crate::provider::{Kind, ProviderClassifier};
use tower_layer::Layer;

/// Judges the replies of a provider. See the [module](super) for what it reads and hands on.
#[derive(Clone, Debug)]
pub struct JudgeLayer {
    pub(super) classifier: ProviderClassifier,
    pub(super) config: JudgeConfig,
}

impl JudgeLayer {
    /// Judges by the table of `kind`, within the default bounds.
    pub fn new(kind: Kind) -> Self {
        Self { classifier: ProviderClassifier::new(kind), config: JudgeConfig::default() }
    }

    /// Sets the bounds.
    #[must_use]
    pub fn with_config(mut self, config: JudgeConfig) -> Self {
        self.config = config;
        self
    }
}

impl<S> Layer<S> for JudgeLayer {
    type Service = Judge<S>;

    fn layer(&self, inner: S) -> Judge<S> {
        Judge::new(inner, self.clone())
    }
}
