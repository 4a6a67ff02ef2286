//! The layer.

use super::{BodyLimit, BodyLimits};
use tower_layer::Layer;

/// Bounds the bodies of requests and replies. See the [module](super).
#[derive(Clone, Copy, Debug, Default)]
pub struct BodyLimitLayer {
    limits: BodyLimits,
}

impl BodyLimitLayer {
    /// A layer without limits of its own; requests may bring [`BodyLimits`] along in their extensions.
    pub const fn new() -> Self {
        Self { limits: BodyLimits::new() }
    }

    /// A layer with these limits.
    pub const fn with_limits(limits: BodyLimits) -> Self {
        Self { limits }
    }

    /// Requests may have `bytes`; zero is off.
    #[must_use]
    pub const fn request(mut self, bytes: u64) -> Self {
        self.limits = self.limits.with_request(bytes);
        self
    }

    /// Replies that are no streams may have `bytes`; zero is off.
    #[must_use]
    pub const fn response(mut self, bytes: u64) -> Self {
        self.limits = self.limits.with_response(bytes);
        self
    }

    /// Streams may have `bytes`; zero is off.
    #[must_use]
    pub const fn stream(mut self, bytes: u64) -> Self {
        self.limits = self.limits.with_stream(bytes);
        self
    }
}

impl<S> Layer<S> for BodyLimitLayer {
    type Service = BodyLimit<S>;

    fn layer(&self, inner: S) -> Self::Service {
        BodyLimit::new(inner, self.limits)
    }
}
