//! The faults there are.

use bytes::Bytes;
use http::{Response, StatusCode};
use std::time::Duration;

/// What happens to one call.
///
/// Faults of the body count its bytes, and begin after the first so many; a body that is over before has none.
#[derive(Clone, Debug)]
pub struct Fault {
    pub(super) delay: Duration,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Reply(Response<Bytes>),
    Hang,
    DropBefore,
    DropAfter(Duration),
    LostReply,
    Body(Bend),
}

/// What happens to a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bend {
    No,
    Error { after: u64 },
    Truncate { after: u64 },
    Stall { after: u64 },
    Garbage { after: u64 },
    Dribble { bytes: usize, every: Duration },
}

impl Fault {
    const fn new(kind: Kind) -> Self {
        Self { delay: Duration::ZERO, kind }
    }

    /// Nothing: the call passes.
    pub const fn pass() -> Self {
        Self::new(Kind::Body(Bend::No))
    }

    /// The call passes after `delay`.
    pub const fn delay(delay: Duration) -> Self {
        Self::pass().with_delay(delay)
    }

    /// An empty reply of this status; the inner service is not called.
    pub fn status(status: StatusCode) -> Self {
        let mut reply = Response::new(Bytes::new());
        *reply.status_mut() = status;
        Self::reply(reply)
    }

    /// This reply; the inner service is not called.
    pub const fn reply(reply: Response<Bytes>) -> Self {
        Self::new(Kind::Reply(reply))
    }

    /// No reply, ever; the inner service is not called.
    pub const fn hang() -> Self {
        Self::new(Kind::Hang)
    }

    /// The connection is refused: nothing was sent, the inner service is not called.
    pub const fn drop_before() -> Self {
        Self::new(Kind::DropBefore)
    }

    /// The connection drops `after` the inner service was called, or when it replies if that is earlier; the inner
    /// call is cancelled.
    pub const fn drop_after(after: Duration) -> Self {
        Self::new(Kind::DropAfter(after))
    }

    /// The inner service does its work, and its reply is lost: the server acted on a call that failed.
    pub const fn lost_reply() -> Self {
        Self::new(Kind::LostReply)
    }

    /// The body breaks after `bytes`.
    pub const fn body_error(bytes: u64) -> Self {
        Self::new(Kind::Body(Bend::Error { after: bytes }))
    }

    /// The body ends after `bytes`, as if that were all.
    pub const fn truncate(bytes: u64) -> Self {
        Self::new(Kind::Body(Bend::Truncate { after: bytes }))
    }

    /// The body falls silent after `bytes`.
    pub const fn stall(bytes: u64) -> Self {
        Self::new(Kind::Body(Bend::Stall { after: bytes }))
    }

    /// The body comes in pieces of at most `bytes` (at least one), each `every` after the one before.
    pub fn dribble(bytes: usize, every: Duration) -> Self {
        Self::new(Kind::Body(Bend::Dribble { bytes: bytes.max(1), every }))
    }

    /// The body is random bytes after the first `bytes`, as many as it would have had.
    pub const fn garbage(bytes: u64) -> Self {
        Self::new(Kind::Body(Bend::Garbage { after: bytes }))
    }

    /// The same, after a wait.
    #[must_use]
    pub const fn with_delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}
