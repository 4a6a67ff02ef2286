//! The body of a reply to a caller.

use super::{
    calls::{self, Failure, Pending},
    cut::{Cut, UntilCut},
    errors::{self, Refusal},
    log::Record,
};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use mainstay::{
    BoxError,
    dialect::{Dialect, keepalive},
    route::{self, Cached, Served},
    secret::Redactor,
};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep_until};

/// A reply's body: held whole, passed on, or a stream that always ends as one.
///
/// Whatever goes wrong in a stream after its head becomes exactly one error event in the caller's dialect and a proper
/// end of the HTTP message, without `[DONE]` or `message_stop`: a broken connection tells a client nothing, and can
/// take the head with it. With `server.keepalive` a stream's head may go out before anyone has answered; then signs of
/// life go out while nothing else does, and a call that fails is that one error event.
//
// Boxed here, once: a reply is moved a dozen times on its way to its connection.
#[derive(Debug)]
pub struct ReplyBody(Pin<Box<State>>);

pin_project! {
    #[project = StateProj]
    enum State {
        Whole { bytes: Bytes },
        Passing {
            #[pin]
            inner: route::ReplyBody,
            record: Option<Record>,
        },
        Stream {
            source: Source,
            #[pin]
            cut: UntilCut,
            teller: Teller,
            tail: Tail,
            record: Option<Record>,
        },
    }
}

/// The last bytes that went out, to know whether an event ended with them. Streams of endpoints that nobody judges pass as
/// they come, and may break in the middle of one.
#[derive(Default)]
struct Tail([u8; 4]);

impl Tail {
    fn saw(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().skip(bytes.len().saturating_sub(4)) {
            self.0.rotate_left(1);
            self.0[3] = *byte;
        }
    }

    /// Closes off what was sent, if it is half an event.
    fn close(&self, event: Bytes) -> Bytes {
        let whole = match self.0 {
            [0, 0, 0, 0] => true,
            [_, _, b'\n', b'\n'] | [_, _, b'\r', b'\r'] | [b'\r', b'\n', b'\r', b'\n'] => true,
            // The LF of the last one may have been cut off.
            [_, b'\r', b'\n', b'\r'] => true,
            _ => false,
        };
        if whole { event } else { [b"\n\n", &event[..]].concat().into() }
    }
}

/// Where a stream's events come from.
enum Source {
    /// Nobody has answered yet.
    Waiting(Pending),
    Answer(route::ReplyBody),
    /// What is below is let go at once.
    Ended,
}

/// What of a call is needed to tell its caller how it goes.
pub(super) struct Teller {
    dialect: Dialect,
    /// Knows the caller's own credential too.
    pub(super) redactor: Redactor,
    alive: Option<Alive>,
}

/// Signs of life for a caller that hears nothing else.
struct Alive {
    every: Duration,
    /// When something last went out.
    last: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Teller {
    pub(super) fn new(dialect: Dialect, redactor: Redactor, every: Option<Duration>) -> Self {
        let alive = every.map(|every| Alive { every, last: Instant::now(), sleep: None });
        Self { dialect, redactor, alive: alive.filter(|_| is_sse(dialect)) }
    }

    /// Whether a caller of this dialect can be kept waiting with signs of life.
    pub(super) fn can_wait(&self) -> bool {
        self.alive.is_some()
    }

    /// Something else went out.
    fn spoke(&mut self) {
        if let Some(alive) = &mut self.alive {
            alive.last = Instant::now();
        }
    }

    /// Waits until it is time for a sign of life.
    fn poll_sign(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let Some(alive) = &mut self.alive else { return Poll::Pending };
        loop {
            let due = alive.last + alive.every;
            let sleep = alive.sleep.get_or_insert_with(|| Box::pin(sleep_until(due)));
            ready!(sleep.as_mut().poll(cx));
            let now = Instant::now();
            if due <= now {
                alive.last = now;
                sleep.as_mut().reset(now + alive.every);
                return Poll::Ready(keepalive(self.dialect));
            }
            // It was set before the last event went out.
            sleep.as_mut().reset(due);
        }
    }
}

/// Whether this dialect streams server-sent events, of which it is known where one ends.
fn is_sse(dialect: Dialect) -> bool {
    !matches!(dialect, Dialect::Ollama | Dialect::Converse | Dialect::Embeddings | Dialect::Other)
}

impl ReplyBody {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self::boxed(State::Whole { bytes })
    }

    pub(super) fn passing(inner: route::ReplyBody, record: Record) -> Self {
        Self::boxed(State::Passing { inner, record: Some(record) })
    }

    pub(super) fn stream(inner: route::ReplyBody, mut teller: Teller, cut: Cut, record: Record) -> Self {
        teller.spoke();
        Self::of(Source::Answer(inner), teller, cut, record)
    }

    /// The body of a stream that nobody has begun yet. Its first sign of life is due.
    pub(super) fn waiting(pending: Pending, teller: Teller, cut: Cut, record: Record) -> Self {
        Self::of(Source::Waiting(pending), teller, cut, record)
    }

    fn of(source: Source, teller: Teller, cut: Cut, record: Record) -> Self {
        Self::boxed(State::Stream {
            source,
            cut: cut.cancelled(),
            teller,
            tail: Tail::default(),
            record: Some(record),
        })
    }

    fn boxed(state: State) -> Self {
        Self(Box::pin(state))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.0.as_mut().project() {
            StateProj::Whole { bytes } if bytes.is_empty() => Poll::Ready(None),
            StateProj::Whole { bytes } => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            StateProj::Passing { mut inner, record } => {
                let frame = ready!(inner.as_mut().poll_frame(cx));
                match &frame {
                    Some(Ok(_)) if !inner.is_end_stream() => {}
                    Some(Err(_)) => finish(record, "broken"),
                    _ => finish(record, "success"),
                }
                Poll::Ready(frame)
            }
            StateProj::Stream { source, mut cut, teller, tail, record } => loop {
                let (event, outcome) = match source.poll(cx, record, &teller.redactor) {
                    Poll::Ready(Next::Answered) => continue,
                    Poll::Ready(Next::Frame(frame)) => {
                        teller.spoke();
                        tail.saw(frame.data_ref().map(Bytes::as_ref).unwrap_or_default());
                        return Poll::Ready(Some(Ok(frame)));
                    }
                    Poll::Ready(Next::End) => {
                        *source = Source::Ended;
                        finish(record, "success");
                        return Poll::Ready(None);
                    }
                    Poll::Ready(Next::Broken(error)) => {
                        tracing::debug!(error = &*error, "a stream ended in an error");
                        errors::stream_error(&teller.redactor, teller.dialect, &error, &failed_tries(record))
                    }
                    Poll::Ready(Next::Failed(failure)) => {
                        if let Some(record) = record {
                            record.failed(&failure, &teller.redactor);
                        }
                        let event = match &failure {
                            Failure::Refused(refusal) => refusal.to_event(teller.dialect),
                            Failure::Failed(failed) => {
                                errors::failed_event(failed, teller.dialect, &teller.redactor)
                            }
                        };
                        (event, "failed")
                    }
                    Poll::Pending if cut.as_mut().poll(cx).is_ready() => {
                        let error = errors::ShuttingDown.into();
                        errors::stream_error(&teller.redactor, teller.dialect, &error, &failed_tries(record))
                    }
                    Poll::Pending => {
                        return teller.poll_sign(cx).map(|sign| Some(Ok(Frame::data(sign))));
                    }
                };
                *source = Source::Ended;
                finish(record, outcome);
                return Poll::Ready(Some(Ok(Frame::data(tail.close(event)))));
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match &*self.0 {
            State::Whole { bytes } => bytes.is_empty(),
            State::Passing { inner, .. } => inner.is_end_stream(),
            State::Stream { source, .. } => matches!(source, Source::Ended),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &*self.0 {
            State::Whole { bytes } => SizeHint::with_exact(bytes.len() as u64),
            State::Passing { inner, .. } => inner.size_hint(),
            State::Stream { .. } => SizeHint::default(),
        }
    }
}

/// What a stream's source does next.
enum Next {
    /// There is an answer now.
    Answered,
    Frame(Frame<Bytes>),
    End,
    /// A stream that had begun failed.
    Broken(BoxError),
    /// No target answered.
    Failed(Failure),
}

impl Source {
    fn poll(&mut self, cx: &mut Context<'_>, record: &mut Option<Record>, redactor: &Redactor) -> Poll<Next> {
        match self {
            Source::Waiting(pending) => {
                let (parts, body) = match ready!(pending.as_mut().poll(cx)) {
                    Ok(response) => response.into_parts(),
                    Err(failure) => return Poll::Ready(Next::Failed(failure)),
                };
                if let Some(record) = record {
                    record.answered(&parts.headers, parts.extensions.get::<Served>(), redactor);
                    record.kept(parts.extensions.get::<Cached>());
                }
                if !calls::is_event_stream(&parts.headers) {
                    return Poll::Ready(Next::Failed(Failure::Refused(Refusal::no_stream())));
                }
                *self = Source::Answer(body);
                Poll::Ready(Next::Answered)
            }
            Source::Answer(body) => Poll::Ready(match ready!(Pin::new(body).poll_frame(cx)) {
                Some(Ok(frame)) => Next::Frame(frame),
                Some(Err(error)) => Next::Broken(error),
                None => Next::End,
            }),
            Source::Ended => Poll::Ready(Next::End),
        }
    }
}

/// The tries that failed, for an error event.
fn failed_tries(record: &Option<Record>) -> Vec<route::Attempt> {
    record.as_ref().map(|record| record.log.failed()).unwrap_or_default()
}

/// Writes the line of a request that has ended.
fn finish(record: &mut Option<Record>, outcome: &'static str) {
    if let Some(mut record) = record.take() {
        record.outcome.get_or_insert(outcome);
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            State::Whole { .. } => "Whole",
            State::Passing { .. } => "Passing",
            State::Stream { .. } => "Stream",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(frames: &[&str]) -> Bytes {
        let mut tail = Tail::default();
        frames.iter().for_each(|frame| tail.saw(frame.as_bytes()));
        tail.close(Bytes::from_static(b"E"))
    }

    #[test]
    fn half_an_event_is_closed_off_before_another_one() {
        for frames in
            [&["data: x"][..], &["data: x\n"], &["d"], &["data: x\r\n"], &["\n\n", "data"], &["x", "\n"]]
        {
            assert_eq!(after(frames), "\n\nE", "{frames:?}");
        }
        let wholes = [
            &[][..],
            &["data: x\n\n"],
            &["data: x\n", "\n"],
            &["x\r\n\r\n"],
            &["x", "\r", "\n", "\r", "\n"],
            &["x\r\r"],
            &["x\r\n\r"],
        ];
        for frames in wholes {
            assert_eq!(after(frames), "E", "{frames:?}");
        }
    }
}
