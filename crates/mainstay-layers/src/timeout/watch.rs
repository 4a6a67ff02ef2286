//! The clocks of one call, from its start to the end of its body.
//!
//! Only waiting is counted: a wait begins when the inner future or body is found pending and ends when it has given
//! something. `idle` is the length of one wait. The others add waits up: `spent` since the request was sent whole,
//! `quiet` since the last content.

use super::{
    Phase, Progress, TimeoutConfig, TimeoutError, TimeoutKind,
    sent::{Turn, Upload},
};
use crate::{
    BoxError,
    deadline::{Deadline, DeadlineExceeded},
    media::Media,
    timer::{Timer, later},
};
use std::{
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::Instant;

/// What kind of reply is awaited or under way, as far as the clocks care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Whole,
    Events,
    Grpc,
    /// The caller's own upload: `idle` alone.
    Upload,
}

/// The clock that runs out next.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Instant,
    /// `None`: the deadline.
    clock: Option<(TimeoutKind, Duration)>,
}

#[derive(Debug)]
pub(super) struct Watch {
    clocks: TimeoutConfig,
    /// The configuration came with the request.
    per_request: bool,
    deadline: Option<Deadline>,
    reply: Reply,
    phase: Phase,
    /// `None` once it is known to be done.
    upload: Option<Arc<Upload>>,
    /// The last progress of the upload that is accounted for.
    sent_at: Instant,
    progress: Option<Progress>,
    marks: u64,
    content: bool,
    /// When the wait that is on began; `None`: nobody waits.
    waiting_since: Option<Instant>,
    spent: Duration,
    quiet: Duration,
    /// A clock has begun that may run out before the timer fires. Nothing else can bring what is due forward: waiting
    /// brings it nearer, and everything else puts it off.
    begun: bool,
    pub(super) timer: Timer,
}

impl Watch {
    /// The clocks of a call that begins now, with the wait for its head.
    pub(super) fn call(clocks: TimeoutConfig, per_request: bool, reply: Reply, now: Instant) -> Self {
        Self { waiting_since: Some(now), per_request, ..Self::new(clocks, reply, Phase::Head, now) }
    }

    /// `idle` alone, over a body.
    pub(super) fn idle(idle: Duration, reply: Reply, phase: Phase) -> Self {
        Self::new(TimeoutConfig::new().with_idle(idle), reply, phase, Instant::now())
    }

    fn new(clocks: TimeoutConfig, reply: Reply, phase: Phase, now: Instant) -> Self {
        Self {
            clocks,
            per_request: false,
            deadline: None,
            reply,
            phase,
            upload: None,
            sent_at: now,
            progress: None,
            marks: 0,
            content: false,
            waiting_since: None,
            spent: Duration::ZERO,
            quiet: Duration::ZERO,
            begun: true,
            timer: Timer::default(),
        }
    }

    pub(super) fn with_deadline(mut self, deadline: Option<Deadline>) -> Self {
        self.deadline = deadline;
        self
    }

    pub(super) fn with_upload(mut self, upload: Option<Arc<Upload>>) -> Self {
        self.upload = upload;
        self
    }

    /// Marks that are there already are those of an earlier try.
    pub(super) fn with_progress(mut self, progress: Option<Progress>) -> Self {
        self.marks = progress.as_ref().map_or(0, Progress::marks);
        self.progress = progress;
        self
    }

    /// The head is there and says what it is the head of. `None` where no clock can run from here on.
    pub(super) fn into_body(mut self, media: Media) -> Option<Self> {
        self.catch_up();
        self.end_wait();
        self.begun = true;
        self.phase = Phase::Body;
        self.reply = match media {
            Media::Events => Reply::Events,
            Media::Grpc => Reply::Grpc,
            Media::Whole => Reply::Whole,
            Media::Unknown => self.reply,
        };
        let TimeoutConfig { attempt, idle, first_event, progress } = self.clocks;
        let runs = match self.reply {
            Reply::Whole => attempt.is_some(),
            Reply::Events => idle.or(first_event).or(progress).is_some(),
            Reply::Grpc => idle.is_some() || (self.per_request && attempt.is_some()),
            Reply::Upload => idle.is_some(),
        };
        (runs || self.deadline.is_some()).then_some(self)
    }

    /// The inner body gave a frame, with data in it or not.
    pub(super) fn frame(&mut self, data: bool) {
        if data && self.progress.is_none() && self.reply == Reply::Events {
            self.see_content();
            // All that this wait could have been charged to is over or begins anew.
            self.waiting_since = None;
        } else {
            self.end_wait();
        }
    }

    /// The inner future or body is pending: begins or goes on with a wait, and says when it has lasted too long.
    pub(super) fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<BoxError> {
        if self.waiting_since.is_none() {
            self.waiting_since = Some(Instant::now());
            self.see_marks();
            self.catch_up();
        }
        if self.begun {
            self.begun = false;
            if let Some(due) = self.due() {
                self.timer.arm_by(due.at);
            }
        }
        loop {
            ready!(self.timer.poll_again(cx));
            // It was set for what was known then. What is due now?
            let now = Instant::now();
            if self.see_marks() {
                // Content that another task marked while this wait was on.
                self.waiting_since = Some(now);
            }
            let held = self.catch_up();
            let Some(due) = self.due() else {
                self.timer.disarm();
                return Poll::Pending;
            };
            match due.clock {
                _ if due.at > now => self.timer.arm(due.at),
                None => return Poll::Ready(DeadlineExceeded::new().into()),
                Some((kind, after)) if !held => {
                    return Poll::Ready(TimeoutError::new(kind, self.phase, after).into());
                }
                // The upload waits for its source. Had it gone on this very moment, nothing would be due before this.
                Some(_) => {
                    let restarted = self.clocks.shortest().and_then(|shortest| later(now, shortest));
                    let deadline = self.deadline.map(Deadline::instant);
                    self.timer.arm(restarted.into_iter().chain(deadline).min().unwrap_or(due.at));
                }
            }
        }
    }

    /// What runs out next if nothing happens any more.
    fn due(&self) -> Option<Due> {
        let since = self.waiting_since?;
        let clocks = &self.clocks;
        let due = |kind, limit: Option<Duration>, used| {
            let limit = limit?;
            let at = later(since, limit.saturating_sub(used))?;
            Some(Due { at, clock: Some((kind, limit)) })
        };
        let idle_kind = if self.reply == Reply::Upload { TimeoutKind::UploadIdle } else { TimeoutKind::Idle };
        let idle = due(idle_kind, clocks.idle, Duration::ZERO);
        let attempt = due(TimeoutKind::Attempt, clocks.attempt, self.spent);
        let content = if self.content {
            due(TimeoutKind::Progress, clocks.progress, self.quiet)
        } else {
            due(TimeoutKind::FirstEvent, clocks.first_event, self.spent)
        };
        let (first, second) = match self.reply {
            Reply::Whole => (attempt, None),
            Reply::Events => (idle, content),
            Reply::Grpc => (idle, attempt.filter(|_| self.per_request)),
            Reply::Upload => (idle, None),
        };
        // Of several at the same moment the first stands: after the deadline no other matters.
        let deadline = self.deadline.map(|deadline| Due { at: deadline.instant(), clock: None });
        deadline.into_iter().chain(first).chain(second).min_by_key(|due| due.at)
    }

    /// Ends the wait that is on, and charges it.
    #[inline]
    fn end_wait(&mut self) {
        if self.waiting_since.is_some() {
            if self.adds_up() {
                self.charge();
            }
            self.waiting_since = None;
        }
    }

    /// Adds the wait that ends to what was waited before.
    fn charge(&mut self) {
        let now = Instant::now();
        // Past what was due, the timer would have ended the wait had anyone looked: nobody did, so when the frame came is
        // not known, and the benefit of the doubt is the server's. (What is due is never before what the timer is set
        // for, and that is cheaper to ask.)
        let late = self.timer.fires_before(now) && self.due().is_some_and(|due| due.at < now);
        if let Some(since) = self.waiting_since.filter(|_| !late || self.phase == Phase::Head) {
            let waited = now.saturating_duration_since(since);
            self.spent = self.spent.saturating_add(waited);
            self.quiet = self.quiet.saturating_add(waited);
        }
    }

    /// Whether any clock that can still run adds waits up; if not, the time need not be asked.
    fn adds_up(&self) -> bool {
        match self.reply {
            _ if self.phase == Phase::Head => true,
            Reply::Whole => self.clocks.attempt.is_some(),
            Reply::Events => {
                (!self.content && self.clocks.first_event.is_some()) || self.clocks.progress.is_some()
            }
            Reply::Grpc => self.per_request && self.clocks.attempt.is_some(),
            Reply::Upload => false,
        }
    }

    /// Looks for new marks of content.
    #[inline]
    fn see_marks(&mut self) -> bool {
        let Some(progress) = &self.progress else { return false };
        let marks = progress.marks();
        if marks == self.marks {
            return false;
        }
        self.marks = marks;
        self.see_content();
        true
    }

    fn see_content(&mut self) {
        self.begun |= !self.content;
        self.content = true;
        self.quiet = Duration::ZERO;
    }

    /// Brings the clocks up to where the upload is; says whether it holds them because it waits for its source.
    #[inline]
    fn catch_up(&mut self) -> bool {
        match &self.upload {
            Some(upload) => {
                let (at, turn) = upload.read();
                self.follow(at, turn)
            }
            None => false,
        }
    }

    fn follow(&mut self, at: Instant, turn: Turn) -> bool {
        if turn == Turn::Done {
            self.upload = None;
        }
        if at > self.sent_at {
            self.sent_at = at;
            self.spent = Duration::ZERO;
            self.waiting_since = self.waiting_since.map(|since| since.max(at));
        }
        // A gRPC call may keep its request open for as long as it lives: it holds the clocks only until there is a head.
        turn == Turn::Caller && !(self.reply == Reply::Grpc && self.phase == Phase::Body)
    }
}
