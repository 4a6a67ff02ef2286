//! The error of a deadline that has passed.

use crate::classify::{Class, Sent, Verdict};
use std::{error::Error, fmt};

/// The deadline of the call has passed. There is no time left for another try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeadlineExceeded {
    sent: Sent,
}

impl DeadlineExceeded {
    /// The name of this error in codes and labels.
    pub const CODE: &'static str = "deadline_exceeded";

    /// It passed while the call was under way.
    pub const fn new() -> Self {
        Self { sent: Sent::Maybe }
    }

    /// It had passed before anything was sent.
    pub const fn unsent() -> Self {
        Self { sent: Sent::No }
    }

    /// How much of the request the server can have seen.
    pub const fn sent(&self) -> Sent {
        self.sent
    }

    /// `deadline_exceeded`.
    pub const fn code(&self) -> &'static str {
        Self::CODE
    }

    /// [`Class::Timeout`], never to be retried, standing for a 504.
    pub fn verdict(&self) -> Verdict {
        Verdict::new(Class::Timeout)
            .with_retry(Some(false))
            .with_sent(self.sent)
            .with_status(Some(http::StatusCode::GATEWAY_TIMEOUT))
            .with_code(Some(Self::CODE))
            .with_message(Some(self.words()))
    }

    const fn words(&self) -> &'static str {
        match self.sent {
            Sent::No => "the deadline had passed before the request was sent",
            Sent::Maybe => "the deadline passed before the reply was complete",
        }
    }
}

impl fmt::Display for DeadlineExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl Error for DeadlineExceeded {}
