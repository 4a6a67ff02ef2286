//! The two layers.

use super::{GrpcCall, GrpcTry};
use std::time::Duration;
use tower_layer::Layer;

/// Enforces the deadline of a gRPC call and turns errors into gRPC replies. Goes around a retry. See the
/// [module](super).
#[derive(Clone, Copy, Debug, Default)]
pub struct GrpcCallLayer {
    deadline: Option<Duration>,
}

impl GrpcCallLayer {
    /// A layer without a deadline of its own.
    pub const fn new() -> Self {
        Self { deadline: None }
    }

    /// Every call has at most this long, all tries together; zero: no deadline but the caller's. The earlier of the two
    /// holds.
    #[must_use]
    pub const fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = if deadline.is_zero() { None } else { Some(deadline) };
        self
    }
}

impl<S> Layer<S> for GrpcCallLayer {
    type Service = GrpcCall<S>;

    fn layer(&self, inner: S) -> Self::Service {
        GrpcCall::new(inner, self.deadline)
    }
}

/// Tells the server what is left of the deadline and how many tries there were before. Goes below a retry. See the
/// [module](super).
#[derive(Clone, Copy, Debug, Default)]
pub struct GrpcTryLayer(());

impl GrpcTryLayer {
    /// The layer. It has no options.
    pub const fn new() -> Self {
        Self(())
    }
}

impl<S> Layer<S> for GrpcTryLayer {
    type Service = GrpcTry<S>;

    fn layer(&self, inner: S) -> Self::Service {
        GrpcTry::new(inner)
    }
}
