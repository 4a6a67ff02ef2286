//! The limits.

/// How many bytes each kind of body may have; `None` and zero are off.
///
/// On the layer it holds for all calls; in the extensions of a request it replaces the layer's for that call, whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BodyLimits {
    /// A request.
    pub request: Option<u64>,
    /// A reply that is no stream.
    pub response: Option<u64>,
    /// A whole stream.
    pub stream: Option<u64>,
}

impl BodyLimits {
    /// No limits.
    pub const fn new() -> Self {
        Self { request: None, response: None, stream: None }
    }

    /// Requests may have `bytes`; zero is off.
    #[must_use]
    pub const fn with_request(mut self, bytes: u64) -> Self {
        self.request = Some(bytes);
        self
    }

    /// Replies that are no streams may have `bytes`; zero is off.
    #[must_use]
    pub const fn with_response(mut self, bytes: u64) -> Self {
        self.response = Some(bytes);
        self
    }

    /// Streams may have `bytes`; zero is off.
    #[must_use]
    pub const fn with_stream(mut self, bytes: u64) -> Self {
        self.stream = Some(bytes);
        self
    }

    /// The same with zeros as `None`.
    pub(super) fn without_zeros(self) -> Self {
        let on = |limit: Option<u64>| limit.filter(|&bytes| bytes > 0);
        Self { request: on(self.request), response: on(self.response), stream: on(self.stream) }
    }
}
