//! The body of a stream that others may go on with.

use super::{
    super::target::ReplyBody,
    error::RecoveryFailed,
    go_on::{self, Continue, Continued},
    heard::Heard,
    seam::{Out, Seam},
};
use crate::{
    dialect::Dialect,
    peek::Call,
    sse::{Block, Scanner},
};
use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, Failed, HttpClassifier, Verdict},
};
use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// The body of a stream that is continued by the next target if it is cut; see the module's rules. Until then it passes
/// byte for byte.
///
/// Made by [`Fallback::with_recovery`](super::super::Fallback::with_recovery).
pub struct RecoverBody {
    state: State,
    scanner: Scanner,
    heard: Heard,
    /// Whole events for the caller.
    out: VecDeque<Bytes>,
}

enum State {
    Passing { inner: ReplyBody, seam: Option<Seam>, plan: Box<Continue> },
    Asking { future: Asking, cut: Option<Cut> },
    Ended { error: Option<BoxError> },
}

type Asking = Pin<Box<dyn Future<Output = Result<Continued, Box<Continue>>> + Send>>;

/// What cut a stream.
struct Cut {
    verdict: Verdict,
    error: BoxError,
}

impl Cut {
    /// The error of a stream that nobody went on with.
    fn into_error(self, why: &'static str) -> BoxError {
        let failed = RecoveryFailed::new(why, self.error);
        let words = failed.to_string();
        Failed::new(self.verdict.with_message(Some(&words)).with_committed(true), failed).into()
    }
}

impl RecoverBody {
    /// Whether a reply to `call` may be continued, as far as its head tells.
    pub(in super::super) fn takes<B>(call: &Call, response: &Response<B>) -> bool {
        go_on::takes(call, response)
    }

    pub(in super::super) fn new(inner: ReplyBody, dialect: Dialect, plan: Box<Continue>) -> Self {
        Self {
            state: State::Passing { inner, seam: None, plan },
            scanner: Scanner::new(),
            heard: Heard::new(dialect),
            out: VecDeque::new(),
        }
    }

    /// Takes what the scanner has.
    fn take_blocks(&mut self) -> Result<(), BoxError> {
        while let Some(block) = self.scanner.next_block()? {
            self.take_block(block)?;
        }
        Ok(())
    }

    fn take_block(&mut self, block: Block) -> Result<(), BoxError> {
        let State::Passing { seam, .. } = &mut self.state else { return Ok(()) };
        match (seam, &block.event) {
            (None, event) => {
                if let Some(event) = event {
                    self.heard.note(event);
                }
                self.out.push_back(block.raw);
            }
            (Some(seam), Some(event)) => {
                let mut out = Out { heard: &mut self.heard, events: &mut self.out };
                if seam.take(event, block.raw, &mut out).is_err() {
                    let why = "the next target says something else than what was handed on before";
                    let cut = Cut {
                        verdict: Class::Malformed.into(),
                        error: crate::judge::ReplyError::Truncated.into(),
                    };
                    return Err(cut.into_error(why));
                }
            }
            (Some(_), None) => self.out.push_back(block.raw),
        }
        Ok(())
    }

    /// What is below has ended.
    fn end(&mut self) {
        let rest = match self.scanner.finish() {
            Ok(Some(block)) => self.take_block(block),
            Ok(None) => Ok(()),
            Err(error) => Err(error.into()),
        };
        self.state = State::Ended { error: rest.err() };
    }

    /// What is below broke.
    fn cut(&mut self, error: BoxError) {
        let State::Passing { plan, .. } = mem::replace(&mut self.state, State::Ended { error: None }) else {
            return;
        };
        self.scanner = Scanner::new();
        let verdict = HttpClassifier::new().error(&*error);
        let obstacle = if is_cut(verdict.class) {
            self.heard.obstacle().or_else(|| plan.obstacle())
        } else {
            // The provider ended it for a reason that holds elsewhere too.
            self.state = State::Ended { error: Some(error) };
            return;
        };
        if let Some(why) = obstacle {
            tracing::debug!(from = %plan.from, why, "a cut stream is not continued");
            self.state = State::Ended { error: Some(error) };
            return;
        }
        let future = Box::pin(plan.go_on(self.heard.text.clone()));
        self.state = State::Asking { future, cut: Some(Cut { verdict, error }) };
    }
}

/// Whether a failure in mid-stream is one that another target may do without.
fn is_cut(class: Class) -> bool {
    matches!(
        class,
        Class::Transport
            | Class::Timeout
            | Class::Malformed
            | Class::ServerError
            | Class::Overloaded
            | Class::RateLimited
            | Class::QuotaExhausted
    )
}

impl Body for RecoverBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.out.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(event))));
            }
            match &mut this.state {
                State::Passing { inner, .. } => match ready!(Pin::new(inner).poll_frame(cx)) {
                    Some(Ok(frame)) => {
                        // Trailers of a stream say nothing to a caller of an LLM API.
                        let Ok(data) = frame.into_data() else { continue };
                        this.scanner.push(data);
                        if let Err(error) = this.take_blocks() {
                            this.state = State::Ended { error: Some(error) };
                        }
                    }
                    Some(Err(error)) => this.cut(error),
                    None => this.end(),
                },
                State::Asking { future, cut } => {
                    let outcome = ready!(future.as_mut().poll(cx));
                    let cut = cut.take();
                    this.state = match outcome {
                        Ok(Continued { body, splice, plan }) => {
                            let seam = Seam::new(splice, &this.heard);
                            State::Passing { inner: body, seam: Some(seam), plan }
                        }
                        Err(plan) => {
                            plan.tell(None);
                            let error = cut.map(|cut| cut.into_error("no other target could go on with it"));
                            State::Ended { error }
                        }
                    };
                }
                State::Ended { error } => return Poll::Ready(error.take().map(Err)),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.out.is_empty() && matches!(self.state, State::Ended { error: None })
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

impl fmt::Debug for RecoverBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the text.
        f.write_str("RecoverBody")
    }
}
