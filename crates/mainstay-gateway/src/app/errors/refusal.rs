//! What the gateway itself says no to.

use super::{super::upload::UploadError, ReplyBody, error_response};
use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use mainstay::{
    dialect::{Dialect, ErrorBody, ErrorFamily, render_error, render_stream_error},
    peek::PeekError,
    route::ModelNotFound,
};

/// Something that the gateway itself says no to.
#[derive(Debug)]
pub(in super::super) struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
    param: Option<&'static str>,
    /// The connection cannot be used on: the rest of a request is still on its way.
    close: bool,
    /// Whoever tries again by himself makes it worse.
    fatal: bool,
}

impl Refusal {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), param: None, close: false, fatal: false }
    }

    pub(in super::super) fn model_not_found(error: &ModelNotFound) -> Self {
        Self {
            param: Some("model"),
            ..Self::new(StatusCode::NOT_FOUND, "model_not_found", error.to_string())
        }
    }

    pub(in super::super) fn no_model() -> Self {
        Self {
            param: Some("model"),
            ..Self::new(StatusCode::BAD_REQUEST, "invalid_request", "name a model: /explain?model=NAME")
        }
    }

    pub(in super::super) fn no_such_path(path: &str) -> Self {
        let path: String = path.chars().take(200).collect();
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("there is nothing at {path:?}; the API is under /v1/"),
        )
    }

    pub(in super::super) fn method_not_allowed(method: &Method, path: &str, allow: &str) -> Self {
        let path: String = path.chars().take(200).collect();
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            format!("{method} is not what {path:?} takes; it takes {allow}"),
        )
    }

    pub(in super::super) fn unsupported_encoding(encoding: &str) -> Self {
        let message =
            format!("the content-encoding {encoding:?} is not known; there is gzip, br, zstd, deflate");
        Self { close: true, ..Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", message) }
    }

    pub(in super::super) fn unreadable(error: &PeekError) -> Self {
        Self {
            param: error.param(),
            ..Self::new(StatusCode::BAD_REQUEST, "invalid_request", error.to_string())
        }
    }

    pub(in super::super) fn upload(error: &UploadError) -> Self {
        let refusal = match error {
            UploadError::TooLarge { limit } => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "request_too_large",
                format!("the request body is over the limit of {limit} bytes (server.max_request_body)"),
            ),
            UploadError::Idle { after } => Self::new(
                StatusCode::REQUEST_TIMEOUT,
                "upload_timeout",
                format!("nothing of the request body came for {after:?} (server.upload_idle)"),
            ),
            UploadError::Broken(what) => Self::new(
                StatusCode::BAD_REQUEST,
                "invalid_request",
                format!("the request body cannot be read: {what}"),
            ),
        };
        Self { close: true, ..refusal }
    }

    pub(in super::super) fn shutting_down() -> Self {
        Self {
            close: true,
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "shutting_down",
                "the gateway is shutting down; send the call again",
            )
        }
    }

    pub(in super::super) fn loop_detected(passed: u32) -> Self {
        let message = format!(
            "the call has passed {passed} gateways (x-mainstay-hops): some of them have each other as a provider"
        );
        Self { fatal: true, ..Self::new(StatusCode::LOOP_DETECTED, "loop_detected", message) }
    }

    /// An answer that is no stream, when the head of one has gone out already.
    pub(in super::super) fn no_stream() -> Self {
        Self::new(
            StatusCode::BAD_GATEWAY,
            "upstream_malformed",
            "the provider's reply is no stream, though one was asked for",
        )
    }

    pub(in super::super) fn code(&self) -> &'static str {
        self.code
    }

    fn body(&self) -> ErrorBody<'_> {
        ErrorBody { param: self.param, ..ErrorBody::new(self.status.as_u16(), self.code, &self.message) }
    }

    /// The same as the one event of a stream.
    pub(in super::super) fn to_event(&self, dialect: Dialect) -> Bytes {
        render_stream_error(dialect, &self.body(), 0)
    }

    pub(in super::super) fn into_response(self, family: ErrorFamily) -> Response<ReplyBody> {
        let mut response = error_response(self.status, render_error(family, &self.body()));
        if self.close {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if self.fatal {
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
        }
        response
    }
}
