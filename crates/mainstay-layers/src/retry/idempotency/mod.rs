//! One key for all tries of a call.

mod layer;
mod service;

pub use self::layer::IdempotencyLayer;
pub use self::service::Idempotency;

use http::HeaderName;

/// The header that the OpenAI and Stripe SDKs use, and that draft-ietf-httpapi-idempotency-key-header names.
pub(super) const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
