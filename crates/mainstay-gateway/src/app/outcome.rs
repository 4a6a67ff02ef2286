//! What comes of a call.

use super::errors::Refusal;
use http::Response;
use mainstay::route::{self, CallFailed};
use std::{future::Future, pin::Pin};

/// Why there is no answer.
pub(super) enum Failure {
    /// The gateway itself said no.
    Refused(Refusal),
    /// No target answered.
    Failed(Box<CallFailed>),
}

/// A call that is under way.
pub(super) type Pending = Pin<Box<dyn Future<Output = Result<Response<route::ReplyBody>, Failure>> + Send>>;
