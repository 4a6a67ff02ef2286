//! The error: which clock, how long, in which phase.

use crate::classify::{Class, Sent, Verdict};
use http::StatusCode;
use std::{error::Error, fmt, io, time::Duration};

/// Which clock ended a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeoutKind {
    /// There was no connection in time.
    Connect,
    /// The reply was not complete in time.
    Attempt,
    /// The stream fell silent.
    Idle,
    /// The stream brought no content in time.
    FirstEvent,
    /// The stream brought no more content in time.
    Progress,
    /// The caller's upload fell silent.
    UploadIdle,
    /// The caller stopped reading.
    WriteIdle,
}

impl TimeoutKind {
    /// The code of the error, as callers see it: `attempt_timeout`, `idle_timeout`, ...
    pub const fn as_str(self) -> &'static str {
        match self {
            TimeoutKind::Connect => "connect_timeout",
            TimeoutKind::Attempt => "attempt_timeout",
            TimeoutKind::Idle => "idle_timeout",
            TimeoutKind::FirstEvent => "first_event_timeout",
            TimeoutKind::Progress => "progress_timeout",
            TimeoutKind::UploadIdle => "upload_timeout",
            TimeoutKind::WriteIdle => "write_timeout",
        }
    }
}

impl fmt::Display for TimeoutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How far a call had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// There was no connection yet.
    Connect,
    /// The caller's request was being read.
    Upload,
    /// The head of the reply was awaited.
    Head,
    /// The body of the reply was under way.
    Body,
}

impl Phase {
    /// The phase in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Phase::Connect => "connect",
            Phase::Upload => "upload",
            Phase::Head => "head",
            Phase::Body => "body",
        }
    }
}

/// A clock ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutError {
    kind: TimeoutKind,
    after: Duration,
    phase: Phase,
}

impl TimeoutError {
    /// `kind` ran out after `after`, in `phase`.
    pub const fn new(kind: TimeoutKind, phase: Phase, after: Duration) -> Self {
        Self { kind, after, phase }
    }

    /// There was no connection within `after`. For connectors: the clocks here do not see connections.
    pub const fn connect(after: Duration) -> Self {
        Self::new(TimeoutKind::Connect, Phase::Connect, after)
    }

    /// Which clock.
    pub const fn kind(&self) -> TimeoutKind {
        self.kind
    }

    /// How long it was allowed to run.
    pub const fn after(&self) -> Duration {
        self.after
    }

    /// How far the call had come.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// The code of the error; that of its kind.
    pub const fn code(&self) -> &'static str {
        self.kind.as_str()
    }

    /// [`Class::Timeout`] and 504; for the two clocks of which the caller is the cause [`Class::Cancelled`] and 408,
    /// which is no server's fault. Nothing was sent where there was no connection.
    pub fn verdict(&self) -> Verdict {
        let (class, status) = match self.kind {
            TimeoutKind::UploadIdle | TimeoutKind::WriteIdle => {
                (Class::Cancelled, StatusCode::REQUEST_TIMEOUT)
            }
            _ => (Class::Timeout, StatusCode::GATEWAY_TIMEOUT),
        };
        Verdict::new(class)
            .with_sent(if self.kind == TimeoutKind::Connect { Sent::No } else { Sent::Maybe })
            .with_status(Some(status))
            .with_code(Some(self.code()))
            .with_message(Some(&self.to_string()))
    }
}

impl fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = self.after;
        match (self.kind, self.phase) {
            (TimeoutKind::Connect, _) => write!(f, "no connection within {after:?}"),
            (TimeoutKind::Attempt, Phase::Head) => write!(f, "no reply within {after:?} (attempt timeout)"),
            (TimeoutKind::Attempt, _) => {
                write!(f, "the reply was not complete within {after:?} (attempt timeout)")
            }
            (TimeoutKind::Idle, Phase::Head) => {
                write!(f, "the stream did not begin within {after:?} (idle timeout)")
            }
            (TimeoutKind::Idle, _) => write!(f, "the stream was silent for {after:?} (idle timeout)"),
            (TimeoutKind::FirstEvent, _) => {
                write!(f, "the stream brought no content within {after:?} (first event timeout)")
            }
            (TimeoutKind::Progress, _) => {
                write!(f, "the stream brought no more content for {after:?} (progress timeout)")
            }
            (TimeoutKind::UploadIdle, _) => write!(f, "the upload was silent for {after:?} (upload timeout)"),
            (TimeoutKind::WriteIdle, _) => write!(f, "the caller read nothing for {after:?} (write timeout)"),
        }
    }
}

impl Error for TimeoutError {}

impl From<TimeoutError> for io::Error {
    fn from(error: TimeoutError) -> Self {
        io::Error::new(io::ErrorKind::TimedOut, error)
    }
}
