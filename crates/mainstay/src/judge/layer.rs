//! The layer.

use super::{Judge, JudgeConfig};
use crate::provider::{ErrorBody, Kind, ProviderClassifier, finish};
use mainstay_layers::classify::{Head, Verdict};
use tower_layer::Layer;

/// The longest reason that is looked up.
const LONGEST_REASON: usize = 128;

/// Judges the replies of a provider. See the [module](super) for what it reads and hands on.
#[derive(Clone, Debug)]
pub struct JudgeLayer {
    pub(super) kind: Kind,
    pub(super) classifier: ProviderClassifier,
    pub(super) config: JudgeConfig,
}

impl JudgeLayer {
    /// Judges by the table of `kind`, within the default bounds.
    pub fn new(kind: Kind) -> Self {
        Self { kind, classifier: ProviderClassifier::new(kind), config: JudgeConfig::default() }
    }

    /// Sets the bounds.
    #[must_use]
    pub fn with_config(mut self, config: JudgeConfig) -> Self {
        self.config = config;
        self
    }
}

impl JudgeLayer {
    /// The verdict on an error that came inside a success: `object` as the provider wrote it, and the reason for the end
    /// of the answer where that made it one.
    pub(super) fn inside(&self, head: Head<'_>, object: &[u8], reason: Option<&str>) -> Verdict {
        // "error" says only that there is one; other reasons say more than the chunk that they stand in.
        let by_reason = reason
            .filter(|reason| *reason != "error")
            .and_then(|reason| finish(self.kind, reason).verdict(true))
            .map(|verdict| verdict.with_code(reason));
        by_reason.unwrap_or_else(|| {
            let mut body = ErrorBody::read(object);
            // An exception of an AWS event stream has its type beside it.
            if body.kind.is_none() {
                body.kind = reason.map(|reason| reason.chars().take(LONGEST_REASON).collect());
            }
            self.classifier.error_in_reply(head, &body)
        })
    }
}

impl<S> Layer<S> for JudgeLayer {
    type Service = Judge<S>;

    fn layer(&self, inner: S) -> Judge<S> {
        Judge::new(inner, self.clone())
    }
}
