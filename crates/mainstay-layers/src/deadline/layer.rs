//! The layer and its options.

use super::{Deadline, WithDeadline, grpc_timeout};
use crate::classify::hint;
use http::{HeaderMap, HeaderName};
use std::{sync::Arc, time::Duration};
use tower_layer::Layer;

/// Gives every call a [`Deadline`] and ends it when that has passed. See the [module](super).
#[derive(Clone, Debug, Default)]
pub struct DeadlineLayer {
    pub(super) options: Arc<Options>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    after: Option<Duration>,
    grpc: bool,
    seconds: Vec<HeaderName>,
    pub(super) pass_on: bool,
}

impl Options {
    /// The earliest deadline that a call which starts now has from here; not the one it brought along.
    pub(super) fn deadline(&self, headers: &HeaderMap) -> Option<Deadline> {
        let grpc = if self.grpc { grpc_timeout::from_headers(headers) } else { None };
        let seconds = self.seconds.iter().filter_map(|name| {
            let value = headers.get(name)?.to_str().ok()?;
            hint::seconds(value)
        });
        self.after.into_iter().chain(grpc).chain(seconds).min().map(Deadline::after)
    }
}

impl DeadlineLayer {
    /// A layer that sets no deadline of its own and enforces those that requests bring along.
    pub fn new() -> Self {
        Self::default()
    }

    /// A layer that gives every call at most `after` from the moment at which it is called; zero: sets none.
    pub fn after(after: Duration) -> Self {
        Self::new().with_after(after)
    }

    /// At most `after` from the moment of the call; zero: none.
    #[must_use]
    pub fn with_after(mut self, after: Duration) -> Self {
        self.options_mut().after = (!after.is_zero()).then_some(after);
        self
    }

    /// Reads the caller's `grpc-timeout`; one that is unreadable says nothing. Off by default.
    #[must_use]
    pub fn with_grpc_timeout(mut self, read: bool) -> Self {
        self.options_mut().grpc = read;
        self
    }

    /// Reads a header of the caller's that holds a decimal number of seconds, such as `x-stainless-timeout`, which
    /// some SDKs send; may be used for several. Zero and unreadable values say nothing, over a day is a day.
    ///
    /// A read timeout (`x-stainless-read-timeout`) bounds one read of the SDK's, not the call: as a deadline it cuts
    /// streams that are longer. Read it only where there are none.
    #[must_use]
    pub fn with_seconds_header(mut self, name: HeaderName) -> Self {
        self.options_mut().seconds.push(name);
        self
    }

    /// Writes what is left of the deadline into the request as `grpc-timeout`, in place of the caller's. Off by
    /// default. Belongs below a retry: each try has less left.
    #[must_use]
    pub fn with_pass_on(mut self, write: bool) -> Self {
        self.options_mut().pass_on = write;
        self
    }

    fn options_mut(&mut self) -> &mut Options {
        Arc::make_mut(&mut self.options)
    }
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = WithDeadline<S>;

    fn layer(&self, inner: S) -> Self::Service {
        WithDeadline { inner, options: Arc::clone(&self.options) }
    }
}
