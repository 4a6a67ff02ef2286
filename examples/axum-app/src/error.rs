//! The one place where what went wrong becomes a response.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use mainstay::layers::classify::{Class, Verdict};
use serde_json::json;

/// A call that failed, as its verdict says.
#[derive(Debug)]
pub struct AppError(pub Verdict);

impl AppError {
    /// The caller's own mistake.
    pub fn invalid(what: &str) -> Self {
        let verdict = Verdict::new(Class::InvalidRequest).with_message(Some(what));
        Self(verdict.with_status(Some(StatusCode::BAD_REQUEST)))
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let Self(verdict) = self;
        let status = verdict.status.unwrap_or(match verdict.class {
            Class::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Class::Rejected | Class::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Class::Timeout => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::BAD_GATEWAY,
        });
        let code = verdict.code.as_deref().unwrap_or(verdict.class.as_str());
        let message = verdict.message.as_deref().unwrap_or("no provider answered");
        let mut reply = (status, Json(json!({"error": {"code": code, "message": message}}))).into_response();
        if let Some(wait) = verdict.wait {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        reply
    }
}
