//! The layer and its option.

use super::Idempotency;
use http::HeaderName;
use tower_layer::Layer;

/// Gives each request an idempotency key, unless the caller's own is there.
///
/// Stands *outside* [`RetryLayer`](crate::retry::RetryLayer): so all tries of a call carry one key, and a server that
/// knows such keys runs the call once. Leave the layer out (`tower`'s `option_layer`) for servers that refuse the
/// header.
///
/// The key is `mainstay-` and 128 random bits in hex.
///
/// ```
/// use http::{Request, Response};
/// use mainstay_layers::retry::IdempotencyLayer;
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let service = ServiceBuilder::new().layer(IdempotencyLayer::new()).service(service_fn(
///     |request: Request<()>| async move {
///         Ok::<_, std::convert::Infallible>(Response::new(request.headers().contains_key("idempotency-key")))
///     },
/// ));
/// assert!(service.oneshot(Request::new(())).await.unwrap().into_body());
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct IdempotencyLayer {
    header: HeaderName,
}

impl IdempotencyLayer {
    /// Sets `idempotency-key`.
    pub fn new() -> Self {
        Self { header: super::HEADER }
    }

    /// Sets this header instead. Tell the retry layer too if it is to look for the key
    /// ([`RetryLayer::with_key_header`](crate::retry::RetryLayer::with_key_header)).
    #[must_use]
    pub fn with_header(mut self, header: HeaderName) -> Self {
        self.header = header;
        self
    }
}

impl Default for IdempotencyLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for IdempotencyLayer {
    type Service = Idempotency<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Idempotency::new(inner, self.header.clone())
    }
}
