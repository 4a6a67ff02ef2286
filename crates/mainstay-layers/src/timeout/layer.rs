//! The layer.

use super::{Timeout, TimeoutConfig};
use tower_layer::Layer;

/// Puts every call under the clocks of a [`TimeoutConfig`]. See the [module](super).
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeoutLayer {
    config: TimeoutConfig,
}

impl TimeoutLayer {
    /// A layer with these clocks. With all of them off (the default) it obeys only what requests bring along: a
    /// [`TimeoutConfig`] or a [`Deadline`](crate::deadline::Deadline) in their extensions.
    pub const fn new(config: TimeoutConfig) -> Self {
        Self { config }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Timeout::new(inner, self.config)
    }
}
