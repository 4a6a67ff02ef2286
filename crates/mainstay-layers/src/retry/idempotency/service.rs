//! The service: one header, and the inner service's own future.

use http::{HeaderName, HeaderValue, Request, header::Entry};
use std::task::{Context, Poll};
use tower_service::Service;

/// Gives each request an idempotency key; made by [`IdempotencyLayer`](super::IdempotencyLayer).
#[derive(Clone, Debug)]
pub struct Idempotency<S> {
    inner: S,
    header: HeaderName,
}

impl<S> Idempotency<S> {
    pub(super) fn new(inner: S, header: HeaderName) -> Self {
        Self { inner, header }
    }
}

impl<S, B> Service<Request<B>> for Idempotency<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        if let Ok(Entry::Vacant(entry)) = request.headers_mut().try_entry(self.header.clone()) {
            // No secret, only distinct: the thread's own generator is seeded from the system.
            if let Ok(key) = HeaderValue::from_bytes(&new_key()) {
                // Full means more headers than HTTP allows: then the request goes without.
                let _ = entry.try_insert(key);
            }
        }
        self.inner.call(request)
    }
}

/// `mainstay-` and 32 hexadecimal digits.
fn new_key() -> [u8; 41] {
    let mut key = *b"mainstay-00000000000000000000000000000000";
    let mut random = fastrand::u128(..);
    for digit in key.iter_mut().skip(9) {
        *digit = char::from_digit((random % 16) as u32, 16).map_or(b'0', |digit| digit as u8);
        random /= 16;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retry::IdempotencyLayer;
    use tower::{ServiceBuilder, ServiceExt, service_fn};

    async fn key(layer: IdempotencyLayer, header: &'static str, own: Option<&str>) -> Option<String> {
        let service =
            ServiceBuilder::new().layer(layer).service(service_fn(move |request: Request<()>| async move {
                let keys: Vec<_> = request.headers().get_all(header).iter().collect();
                assert!(keys.len() <= 1);
                Ok::<_, std::convert::Infallible>(keys.first().map(|key| key.to_str().unwrap().to_owned()))
            }));
        let mut request = Request::new(());
        if let Some(own) = own {
            request.headers_mut().insert(header, own.try_into().unwrap());
        }
        service.oneshot(request).await.unwrap()
    }

    #[tokio::test]
    async fn each_call_gets_a_key_of_its_own() {
        let one = key(IdempotencyLayer::new(), "idempotency-key", None).await.unwrap();
        let other = key(IdempotencyLayer::new(), "idempotency-key", None).await.unwrap();
        assert_ne!(one, other);
        let hex = one.strip_prefix("mainstay-").unwrap();
        assert!(hex.len() == 32 && u128::from_str_radix(hex, 16).unwrap() > 0, "{one}");
    }

    #[tokio::test]
    async fn the_callers_own_key_stays() {
        let own = key(IdempotencyLayer::new(), "idempotency-key", Some("mine")).await;
        assert_eq!(own.as_deref(), Some("mine"));
    }

    #[tokio::test]
    async fn the_header_can_be_another() {
        let layer = IdempotencyLayer::new().with_header(HeaderName::from_static("x-request-key"));
        assert!(key(layer.clone(), "x-request-key", None).await.is_some());
        assert!(key(layer, "idempotency-key", None).await.is_none());
    }
}
