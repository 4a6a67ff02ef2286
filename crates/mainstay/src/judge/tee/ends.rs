//! How a stream ends: whole, cut, empty, by an error of its own, or broken below.

use super::{
    super::{
        error::{ErrorEvent, ReplyError},
        framing::{Uncut, Unit},
    },
    Next, Step, Tee,
};
use crate::dialect::stream_end;
use bytes::Bytes;
use http_body::Body;
use mainstay_layers::{
    BoxError,
    classify::{Class, Failed, Head, Verdict},
};

impl<B> Tee<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    pub(super) fn provider_failed(&mut self, unit: Unit) -> Step {
        let head = Head::new(self.status, &self.headers, &self.extensions);
        let (object, reason) = match self.reader.failure() {
            Some(failure) => (&*failure.object, failure.reason.as_deref()),
            None => (&[][..], None),
        };
        let verdict = self.reading.layer.inside(head, object, reason);
        let data = unit.data();
        self.fail(verdict, ReplyError::Provider(ErrorEvent::new(unit.into_raw(), data)).into())
    }

    pub(super) fn eof(&mut self) -> Step {
        self.inner = None;
        match self.framing.finish() {
            // Half an event is never handed on; blanks and comments at the end are.
            Ok(Some(unit)) if unit.is_silent() => self.closing(unit.into_raw()),
            Ok(Some(unit)) => match unit.closed_off().map(|unit| self.read(unit)) {
                // An event that lacks its blank line, but is whole.
                Some(Next::Event(event)) => self.closing(event.raw),
                Some(Next::End(end)) => end,
                None => self.closing(Bytes::new()),
            },
            Ok(None) | Err(Uncut::Half) => self.closing(Bytes::new()),
            Err(error) => self.uncut(&error),
        }
    }

    pub(super) fn broken(&mut self, error: BoxError) -> Step {
        self.inner = None;
        if self.reader.is_complete() {
            return self.closing(Bytes::new());
        }
        let verdict = self.reading.layer.error(&*error);
        self.fail(verdict, error)
    }

    /// The end of a stream that was not cut: complete, or truncated.
    fn closing(&mut self, rest: Bytes) -> Step {
        if !self.reader.is_complete() {
            return self.truncated();
        }
        if self.reader.is_empty_answer() {
            return self.empty();
        }
        self.note_usage();
        match stream_end(self.reading.dialect) {
            Some(end) if !self.reader.saw_done() => Step::Complete([rest, end].concat().into()),
            _ => Step::Complete(rest),
        }
    }

    fn truncated(&mut self) -> Step {
        // Nothing but signs of life, and then the end: the provider waited for its model until its own time was up.
        let gave_up = self.kept_alive && self.reader.events() == 0;
        let class = if gave_up { Class::Timeout } else { Class::Malformed };
        self.fail(class.into(), ReplyError::Truncated.into())
    }

    pub(super) fn empty(&mut self) -> Step {
        let what = "the stream ended without a word, a tool call or a token";
        let verdict = self.reading.layer.empty(Head::new(self.status, &self.headers, &self.extensions));
        self.fail(verdict, ReplyError::NotAnAnswer { what }.into())
    }

    pub(super) fn uncut(&mut self, error: &Uncut) -> Step {
        match *error {
            Uncut::TooLarge { limit } => {
                self.fail(Class::TooLarge.into(), ReplyError::EventTooLarge { limit }.into())
            }
            Uncut::Garbled { what } => {
                self.fail(Class::Malformed.into(), ReplyError::NotAnAnswer { what }.into())
            }
            Uncut::Half => self.truncated(),
        }
    }

    pub(super) fn fail(&mut self, verdict: Verdict, error: BoxError) -> Step {
        self.inner = None;
        self.note_usage();
        Step::Failed(Failed::new(verdict, error))
    }
}
