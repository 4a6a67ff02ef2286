//! The layer and its service.

use super::Parameters;
use crate::{body::RequestBody, peek::Call};
use http::{Request, header};
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tower_layer::Layer;
use tower_service::Service;

/// Writes [`Parameters`] into the requests of a target. See the [module](super).
#[derive(Clone, Debug, Default)]
pub struct ParametersLayer(Arc<Parameters>);

impl ParametersLayer {
    /// With these parameters; none leave every request as it is.
    pub fn new(parameters: Parameters) -> Self {
        Self(Arc::new(parameters))
    }
}

impl<S> Layer<S> for ParametersLayer {
    type Service = ParametersService<S>;

    fn layer(&self, inner: S) -> ParametersService<S> {
        ParametersService { inner, parameters: self.0.clone() }
    }
}

/// The service of [`ParametersLayer`].
#[derive(Clone, Debug)]
pub struct ParametersService<S> {
    inner: S,
    parameters: Arc<Parameters>,
}

impl<S> Service<Request<RequestBody>> for ParametersService<S>
where
    S: Service<Request<RequestBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<RequestBody>) -> S::Future {
        if self.parameters.is_empty() {
            return self.inner.call(request);
        }
        let Some(call) = request.extensions().get::<Call>().cloned() else {
            // Without a call there is no telling what the body is.
            return self.inner.call(request);
        };
        if let Some(body) = self.parameters.apply(call.dialect, &request.body().to_bytes()) {
            *request.body_mut() = RequestBody::from(body);
            request.headers_mut().remove(header::CONTENT_LENGTH);
            // The model stands elsewhere now.
            request.extensions_mut().insert(call.in_dialect(call.dialect));
        }
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peek::peek;
    use bytes::Bytes;
    use serde_json::json;
    use std::convert::Infallible;
    use tower::{ServiceExt, service_fn};

    async fn sent(path: &str, body: &'static str) -> Request<RequestBody> {
        let layer = ParametersLayer::new(Parameters::new().with_set("temperature", json!(0)));
        let echo = service_fn(|request: Request<RequestBody>| async { Ok::<_, Infallible>(request) });
        let call = Call::new(path, peek(body.as_bytes()).unwrap());
        let request = Request::post(path).header("content-length", body.len()).body(()).unwrap();
        layer
            .layer(echo)
            .oneshot(call.into_request(request, Bytes::from_static(body.as_bytes())))
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn calls_that_ask_for_an_answer_have_them_and_others_do_not() {
        let body = r#"{"model":"m"}"#;
        for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/completions"] {
            let request = sent(path, body).await;
            assert_eq!(request.body().to_bytes(), r#"{"model":"m","temperature":0}"#, "{path}");
            assert!(!request.headers().contains_key("content-length"));
        }
        for path in ["/v1/embeddings", "/v1/messages/count_tokens", "/v1/images/generations"] {
            let request = sent(path, body).await;
            assert_eq!(request.body().to_bytes(), body, "{path}");
            assert!(request.headers().contains_key("content-length"));
        }
    }
}
