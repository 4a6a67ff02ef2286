//! One reply of a script.

use super::{FaultBody, ScriptedError};
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use mainstay_layers::BoxError;
use serde_json::Value;
use std::{fmt, sync::Arc, time::Duration};

/// What a [`ScriptedService`](super::ScriptedService) does with one call.
pub struct Reply {
    pub(super) after: Duration,
    pub(super) reads: bool,
    outcome: Outcome,
}

enum Outcome {
    Response { status: StatusCode, headers: Vec<(HeaderName, HeaderValue)>, body: FaultBody },
    Fail(Arc<dyn Fn() -> BoxError + Send + Sync>),
    Never,
}

impl Reply {
    /// Status 200 with that body.
    pub fn ok(body: FaultBody) -> Self {
        Self::new(Outcome::Response { status: StatusCode::OK, headers: Vec::new(), body })
    }

    /// That status, no body; 500 where it is no status.
    pub fn status(status: u16) -> Self {
        Self::ok(FaultBody::new()).with_status(status)
    }

    /// That status with a JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        let body = FaultBody::from(body.to_string());
        Self::ok(body)
            .with_status(status)
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
    }

    /// Status 200 with an event stream, one frame an event, which goes on as `body` when all events were sent.
    pub fn sse(events: impl IntoIterator<Item = String>, body: FaultBody) -> Self {
        let mut all = FaultBody::new().frames(events);
        all.append(body);
        Self::ok(all).header(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"))
    }

    /// No response: a [`ScriptedError`].
    pub fn fail(message: impl Into<String>) -> Self {
        let error = ScriptedError::new(message);
        Self::fail_with(move || error.clone().into())
    }

    /// No response: an error that is made for each call.
    pub fn fail_with(error: impl Fn() -> BoxError + Send + Sync + 'static) -> Self {
        Self::new(Outcome::Fail(Arc::new(error)))
    }

    /// No response, ever.
    pub fn never() -> Self {
        Self::new(Outcome::Never)
    }

    fn new(outcome: Outcome) -> Self {
        Self { after: Duration::ZERO, reads: true, outcome }
    }

    /// Another status; 500 where it is none.
    pub fn with_status(mut self, new: u16) -> Self {
        if let Outcome::Response { status, .. } = &mut self.outcome {
            *status = StatusCode::from_u16(new).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        }
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        if let Outcome::Response { headers, .. } = &mut self.outcome {
            headers.push((name, value));
        }
        self
    }

    /// Comes so long after the request's body was read.
    pub fn after(mut self, wait: Duration) -> Self {
        self.after = wait;
        self
    }

    /// Does not read the request's body: it is dropped when the reply comes.
    pub fn unread(mut self) -> Self {
        self.reads = false;
        self
    }

    /// The result for one call; `None`: never.
    pub(super) fn result(&self) -> Option<Result<Response<FaultBody>, BoxError>> {
        match &self.outcome {
            Outcome::Never => None,
            Outcome::Fail(error) => Some(Err(error())),
            Outcome::Response { status, headers, body } => {
                let mut response = Response::new(body.again());
                *response.status_mut() = *status;
                response.headers_mut().extend(headers.iter().cloned());
                Some(Ok(response))
            }
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome: &dyn fmt::Debug = match &self.outcome {
            Outcome::Response { status, .. } => status,
            Outcome::Fail(_) => &"error",
            Outcome::Never => &"never",
        };
        f.debug_struct("Reply").field("outcome", outcome).field("after", &self.after).finish_non_exhaustive()
    }
}
