//! The error: which side, the limit, and what was declared.

use crate::classify::{Class, Sent, Verdict};
use http::StatusCode;
use std::{error::Error, fmt};

/// Which body was too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The caller's.
    Request,
    /// The server's.
    Response,
}

/// A body went over its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyTooLarge {
    limit: u64,
    side: Side,
    declared: Option<u64>,
}

impl BodyTooLarge {
    /// A body of `side` went over `limit` bytes; `declared` is the size by which that was known beforehand.
    pub const fn new(side: Side, limit: u64, declared: Option<u64>) -> Self {
        Self { limit, side, declared }
    }

    /// The limit, in bytes.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Which body it was.
    pub const fn side(&self) -> Side {
        self.side
    }

    /// The size that the message declared, where that alone was too much; `None` where it was found by counting.
    pub const fn declared(&self) -> Option<u64> {
        self.declared
    }

    /// `request_too_large` or `response_too_large`.
    pub const fn code(&self) -> &'static str {
        match self.side {
            Side::Request => "request_too_large",
            Side::Response => "response_too_large",
        }
    }

    /// [`Class::TooLarge`]; 413 for a request, 502 for a reply. Nothing was sent of a request that declared its size.
    pub fn verdict(&self) -> Verdict {
        let (status, sent) = match (self.side, self.declared) {
            (Side::Request, Some(_)) => (StatusCode::PAYLOAD_TOO_LARGE, Sent::No),
            (Side::Request, None) => (StatusCode::PAYLOAD_TOO_LARGE, Sent::Maybe),
            (Side::Response, _) => (StatusCode::BAD_GATEWAY, Sent::Maybe),
        };
        Verdict::new(Class::TooLarge)
            .with_sent(sent)
            .with_status(Some(status))
            .with_code(Some(self.code()))
            .with_message(Some(&self.to_string()))
    }
}

impl fmt::Display for BodyTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Request => "request",
            Side::Response => "response",
        };
        match self.declared {
            Some(declared) => {
                write!(f, "the {side} body has {declared} bytes, over the limit of {}", self.limit)
            }
            None => write!(f, "the {side} body is over the limit of {} bytes", self.limit),
        }
    }
}

impl Error for BodyTooLarge {}
