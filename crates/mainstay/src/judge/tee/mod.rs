//! Reading a stream while it passes.

mod ends;

use super::{
    error::ReplyError,
    framing::{Framing, Unit},
    reading::Reading,
};
use crate::dialect::{Meaning, StreamReader};
use bytes::Bytes;
use http::{Extensions, HeaderMap};
use http_body::Body;
use mainstay_layers::{
    BoxError,
    classify::{Class, Failed},
};
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

/// How much is read on after the terminal, to bring the message of the connection below to its end.
const MOST_DRAINED: usize = 64 << 10;

/// A stream that is read event by event. What it hands out, put together, is what came in, but for names of events that are
/// missing in a dialect that has them.
pub(super) struct Tee<B> {
    /// `None` once it ended: dropped at once, so that nothing below outlives its use.
    inner: Option<Pin<Box<B>>>,
    framing: Framing,
    pub(super) reader: StreamReader,
    pub(super) reading: Reading,
    status: http::StatusCode,
    headers: HeaderMap,
    /// None: a judge does not read its own verdict.
    extensions: Extensions,
    /// The frame that is being cut. Let go before the next one is asked for, so that its buffer can be used again.
    frame: Bytes,
    /// Events that go on together: one slice of the frame.
    run: Option<Bytes>,
    /// What follows `run`.
    last: Option<Step>,
    /// There is no whole event left in what has come, and nothing that waits to be handed on.
    exhausted: bool,
    /// There were signs of life.
    kept_alive: bool,
    drained: usize,
}

/// What a stream does next.
pub(super) enum Step {
    /// These bytes: one or more whole events.
    Pass(Bytes),
    /// These bytes, of which the last event is the terminal.
    Terminal(Bytes),
    /// The stream ended and the answer is whole; these bytes, if any, close it.
    Complete(Bytes),
    /// It failed.
    Failed(Failed),
}

/// One event, judged.
pub(super) struct Judged {
    pub(super) raw: Bytes,
    pub(super) is_content: bool,
    /// It is no comment: it counts among the events that are held.
    pub(super) counts: bool,
    pub(super) is_terminal: bool,
}

/// What the judge makes of the next event.
enum Next {
    Event(Judged),
    End(Step),
}

impl<B> Tee<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    pub(super) fn new(body: B, reading: Reading, status: http::StatusCode, headers: HeaderMap) -> Self {
        Self {
            inner: Some(Box::pin(body)),
            framing: Framing::of(reading.dialect, reading.layer.config().max_event),
            reader: StreamReader::new(reading.dialect),
            status,
            headers,
            extensions: Extensions::new(),
            reading,
            frame: Bytes::new(),
            run: None,
            last: None,
            exhausted: false,
            kept_alive: false,
            drained: 0,
        }
    }

    /// All events of a frame at once, or the end. After the end: pending for ever, so callers stop asking.
    pub(super) fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        loop {
            if self.exhausted {
                let frame = match ready!(self.poll_frame(cx)) {
                    Ok(frame) => frame,
                    Err(end) => return Poll::Ready(end),
                };
                let read = self.read_alike(&frame);
                // Most frames are nothing else, and pass untouched.
                if read > 0 && read == frame.len() {
                    return Poll::Ready(Step::Pass(frame));
                }
                self.exhausted = false;
                self.cut(frame, read);
            }
            match (self.run.take(), self.last.take()) {
                (None, Some(last)) => return Poll::Ready(last),
                (Some(run), Some(last)) => {
                    self.last = Some(last);
                    return Poll::Ready(Step::Pass(run));
                }
                (run, None) => self.run = run,
            }
            let max = self.reading.layer.config().max_event;
            if let Some(alike) = self.framing.next_alike(&mut self.reader, max) {
                self.reading.progress.mark();
                if let Some(before) = self.go_on_with(alike) {
                    return Poll::Ready(Step::Pass(before));
                }
            }
            match self.next() {
                Some(Next::Event(event)) => {
                    let before = self.go_on_with(event.raw);
                    if event.is_terminal {
                        self.last = self.run.take().map(Step::Terminal);
                    }
                    if let Some(before) = before {
                        return Poll::Ready(Step::Pass(before));
                    }
                }
                Some(Next::End(end)) => self.last = Some(end),
                None => {
                    self.exhausted = true;
                    if let Some(run) = self.run.take() {
                        self.frame = Bytes::new();
                        return Poll::Ready(Step::Pass(run));
                    }
                }
            }
        }
    }

    /// Reads the events at the head of a frame that are like the last; how many bytes they take.
    fn read_alike(&mut self, frame: &Bytes) -> usize {
        if !self.framing.is_between_events() {
            return 0;
        }
        let read = self.reader.read_alike(frame, self.reading.layer.config().max_event);
        if read > 0 {
            self.reading.progress.mark();
        }
        read
    }

    /// Begins to cut a frame of which so many bytes are read.
    fn cut(&mut self, mut frame: Bytes, read: usize) {
        self.frame = frame.clone();
        if read > 0 {
            self.run = Some(frame.split_to(read));
        }
        self.framing.push(frame);
    }

    /// Puts an event behind those that go on together; hands those back if it does not lie beside them.
    fn go_on_with(&mut self, event: Bytes) -> Option<Bytes> {
        let Some(run) = self.run.take() else {
            self.run = Some(event);
            return None;
        };
        match join(&self.frame, &run, &event) {
            Some(joined) => {
                self.run = Some(joined);
                None
            }
            None => {
                self.run = Some(event);
                Some(run)
            }
        }
    }

    /// One event at a time, or the end.
    pub(super) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Result<Judged, Step>> {
        loop {
            match self.next() {
                Some(Next::Event(event)) => return Poll::Ready(Ok(event)),
                Some(Next::End(end)) => return Poll::Ready(Err(end)),
                None => match ready!(self.poll_frame(cx)) {
                    Ok(frame) => self.cut(frame, 0),
                    Err(end) => return Poll::Ready(Err(end)),
                },
            }
        }
    }

    /// `b` put behind `a`, where both lie side by side in the frame at hand.
    pub(super) fn join(&self, a: &Bytes, b: &Bytes) -> Option<Bytes> {
        join(&self.frame, a, b)
    }

    /// From here on nothing can be tried again: what only matters for that is let go.
    pub(super) fn commit(&mut self) {
        // Some tell the tokens of the question first; a caller that leaves has asked it all the same.
        self.note_usage();
        self.headers = HeaderMap::new();
    }

    /// Waits for the message of the connection below to end; anything else that still comes is dropped.
    pub(super) fn poll_drained(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(inner) = &mut self.inner {
            match ready!(inner.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => {
                    // A frame counts as something even if it is empty: none may come for ever.
                    self.drained += frame.data_ref().map_or(0, Bytes::len).max(64);
                    if self.drained > MOST_DRAINED {
                        self.inner = None;
                    }
                }
                Some(Err(_)) | None => self.inner = None,
            }
        }
        Poll::Ready(())
    }

    /// Lets the connection below go.
    pub(super) fn let_go(&mut self) {
        self.inner = None;
    }

    /// The next event of what is here.
    fn next(&mut self) -> Option<Next> {
        match self.framing.next() {
            Ok(unit) => Some(self.read(unit?)),
            Err(error) => Some(Next::End(self.uncut(&error))),
        }
    }

    /// Waits for more of the stream; its end, if that is what comes.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, Step>> {
        self.frame = Bytes::new();
        let Some(inner) = &mut self.inner else { return Poll::Pending };
        Poll::Ready(match ready!(inner.as_mut().poll_frame(cx)) {
            // Trailers of a stream say nothing to a caller of an LLM API.
            Some(Ok(frame)) => Ok(frame.into_data().unwrap_or_default()),
            Some(Err(error)) => Err(self.broken(error.into())),
            None => Err(self.eof()),
        })
    }

    fn read(&mut self, unit: Unit) -> Next {
        let meaning = unit.read(&mut self.reader);
        if meaning == Meaning::Error {
            return Next::End(self.provider_failed(unit));
        }
        if meaning == Meaning::Malformed && self.reading.translated {
            let error = ReplyError::NotAnAnswer { what: "an event of its stream is not JSON" };
            return Next::End(self.fail(Class::Malformed.into(), error.into()));
        }
        let is_content = meaning.is_content();
        if is_content {
            self.reading.progress.mark();
        }
        let is_terminal = matches!(meaning, Meaning::Terminal { .. });
        if is_terminal {
            if self.reader.is_empty_answer() {
                return Next::End(self.empty());
            }
            self.note_usage();
        }
        let counts = !unit.is_silent();
        self.kept_alive |= !counts;
        let mut raw = unit.into_named(self.reading.dialect);
        // The LF of its last CRLF is still to come, and nothing behind the terminal is waited for.
        if is_terminal && raw.ends_with(b"\n\r") {
            raw = [&raw[..], b"\n"].concat().into();
        }
        Next::Event(Judged { counts, raw, is_content, is_terminal })
    }
}

impl<B> Tee<B> {
    /// Writes the tokens down for whoever asked, and how many events could not be read.
    fn note_usage(&self) {
        if let Some(cell) = &self.reading.usage {
            cell.set(self.reader.usage());
            if self.reader.malformed() > 0 {
                cell.set_malformed(self.reader.malformed());
            }
        }
    }
}

/// A stream that nobody waits for any more, such as one that lost a race, has used what it told all the same.
impl<B> Drop for Tee<B> {
    fn drop(&mut self) {
        self.note_usage();
    }
}

/// `a` and `b` as one slice of `frame`, where both lie in it side by side. Nothing is copied.
fn join(frame: &Bytes, a: &Bytes, b: &Bytes) -> Option<Bytes> {
    let start = (a.as_ptr() as usize).checked_sub(frame.as_ptr() as usize)?;
    let middle = start.checked_add(a.len())?;
    let end = middle.checked_add(b.len())?;
    // The frame is alive, so an address inside it can be nothing else.
    let side_by_side = b.as_ptr() as usize == (a.as_ptr() as usize).checked_add(a.len())?;
    (side_by_side && end <= frame.len()).then(|| frame.slice(start..end))
}

impl<B> std::fmt::Debug for Tee<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tee").field("dialect", &self.reading.dialect).finish_non_exhaustive()
    }
}
