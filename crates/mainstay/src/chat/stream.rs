//! An answer while it is being given.

use super::{
    Answer, ChatError, ChatEvent, ChatResponse, Finish, Usage,
    answer::Origin,
    delta::{self, Calls, Sink},
    reply,
};
use crate::{
    dialect::{Dialect, Meaning, StreamReader},
    secret::Redactor,
    sse::{Event, EventStream, EventStreamError, Scanner, SseError},
};
use bytes::Bytes;
use futures_core::Stream;
use http::response::Parts;
use http_body::Body;
use mainstay_layers::BoxError;
use serde_json::Value;
use std::{
    collections::VecDeque,
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{Sleep, sleep};

/// After the answer, how long the connection gets to end its message, so that it can be used again.
const LINGER: Duration = Duration::from_millis(100);

/// An answer while it is being given: a [`Stream`] of [`ChatEvent`]s.
///
/// A whole answer ends with [`ChatEvent::Done`]. Anything else ends with one error, which keeps
/// [what was said](ChatError::partial); a stream that just ends is never taken for a whole answer. After that there is
/// nothing more. Dropping it cancels the call.
pub struct ChatStream<B> {
    events: Option<EventStream<Pin<Box<B>>>>,
    /// Runs once the answer is whole and the message has not ended.
    linger: Option<Pin<Box<Sleep>>>,
    reader: StreamReader,
    answer: Answer,
    calls: Calls,
    ready: VecDeque<ChatEvent>,
    done: Option<Finish>,
    parts: Parts,
    origin: Origin,
    redactor: Redactor,
    max: usize,
}

impl<B> ChatStream<B> {
    pub(super) fn new(parts: Parts, body: B, origin: Origin, redactor: Redactor, max: usize) -> Self
    where
        B: Body,
    {
        let scanner = Scanner::new().with_max_event(crate::sse::DEFAULT_MAX_EVENT.min(max));
        Self {
            events: Some(EventStream::with_scanner(Box::pin(body), scanner)),
            linger: None,
            reader: StreamReader::new(Dialect::ChatCompletions),
            answer: Answer::default(),
            calls: Calls::default(),
            ready: VecDeque::new(),
            done: None,
            parts,
            origin,
            redactor,
            max,
        }
    }

    /// What was said so far.
    pub fn so_far(&self) -> &Answer {
        &self.answer
    }

    /// Who answers, where a router or a fallback chose.
    pub fn served(&self) -> Option<&crate::route::Served> {
        self.parts.extensions.get()
    }

    /// Reads an event of the stream.
    fn take(&mut self, event: &Event) -> Result<(), ChatError> {
        let meaning = self.reader.read(event);
        match meaning {
            Meaning::Error => {
                let object = self.reader.failure().map(|failure| failure.object.clone()).unwrap_or_default();
                return Err(reply::error_inside(&self.parts, &object, &self.origin, &self.redactor));
            }
            Meaning::Malformed => return Err(self.malformed()),
            _ => {}
        }
        let named = self.answer.model.is_some();
        if !event.is_done() && (meaning.is_content() || !named) {
            self.chunk(event.data())?;
        }
        if matches!(meaning, Meaning::Terminal { .. }) {
            self.finish()?;
        }
        Ok(())
    }

    fn chunk(&mut self, data: &[u8]) -> Result<(), ChatError> {
        if data.trim_ascii().is_empty() {
            return Ok(());
        }
        // What the reader took for a piece by its likeness may yet be none.
        let mut chunk: Value = serde_json::from_slice(data).map_err(|_| self.malformed())?;
        delta::identify(&mut chunk, &mut self.answer);
        if let Some(delta) = delta::first_choice(&mut chunk, "delta") {
            let ready = &mut self.ready;
            let mut tell = |event| ready.push_back(event);
            let (answer, calls) = (&mut self.answer, &mut self.calls);
            delta::read(delta, &mut Sink { answer, calls, events: Some(&mut tell) });
        }
        if self.calls.is_over(self.max) {
            return Err(reply::too_large(&self.origin));
        }
        Ok(())
    }

    /// The answer is whole.
    fn finish(&mut self) -> Result<(), ChatError> {
        if self.reader.is_empty_answer() {
            return Err(reply::empty(&self.origin));
        }
        self.answer.usage = self.reader.usage();
        self.ready.extend(self.answer.tool_calls.iter().cloned().map(ChatEvent::ToolCall));
        if self.answer.usage != Usage::default() {
            self.ready.push_back(ChatEvent::Usage(self.answer.usage));
        }
        let calls = if self.answer.tool_calls.is_empty() { Finish::Other } else { Finish::ToolCalls };
        let finish = self.reader.finish().unwrap_or(calls);
        self.ready.push_back(ChatEvent::Done(finish));
        self.done = Some(finish);
        Ok(())
    }

    /// The body has ended, well or not.
    fn ended(&mut self, error: Option<BoxError>) -> Result<(), ChatError> {
        self.events = None;
        match error {
            // Whole but for the last line.
            _ if self.reader.is_complete() => self.finish(),
            None => Err(reply::truncated(&self.origin)),
            Some(error) => Err(ChatError::call(error, self.origin.clone(), &self.redactor)),
        }
    }

    fn failed(&mut self, error: ChatError) -> ChatError {
        self.events = None;
        // What it has not been told yet is in the partial answer.
        self.ready.clear();
        let usage = self.reader.usage();
        error.with_partial(Answer { usage, ..std::mem::take(&mut self.answer) })
    }

    fn malformed(&self) -> ChatError {
        reply::malformed("an event of its stream is not JSON", &self.origin)
    }
}

impl<B> ChatStream<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    /// The next event; `None` after the last.
    ///
    /// # Errors
    /// Why the answer is not whole; once.
    pub async fn next(&mut self) -> Option<Result<ChatEvent, ChatError>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Reads on to the end: the whole answer, what was read before included.
    ///
    /// # Errors
    /// Why it is not whole. After that error was given once, nothing is known any more, and this says so.
    pub async fn into_response(mut self) -> Result<ChatResponse, ChatError> {
        while let Some(event) = self.next().await {
            if matches!(event?, ChatEvent::Done(_)) {
                break;
            }
        }
        // The end of the message is most often here already, and then the connection lives on; it is not waited for.
        poll_fn(|cx| Poll::Ready(Pin::new(&mut self).poll_next(cx).is_ready())).await;
        match self.done {
            Some(finish) => {
                let (answer, origin) = (std::mem::take(&mut self.answer), self.origin.clone());
                Ok(ChatResponse { answer, finish: Some(finish), raw: Value::Null, origin })
            }
            None => Err(reply::truncated(&self.origin)),
        }
    }
}

impl<B> Stream for ChatStream<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Item = Result<ChatEvent, ChatError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            let Some(events) = &mut this.events else { return Poll::Ready(None) };
            let next = Pin::new(events).poll_next(cx);
            if this.done.is_some() {
                match next {
                    Poll::Ready(Some(Ok(_))) => continue,
                    Poll::Ready(_) => {}
                    Poll::Pending => {
                        let linger = this.linger.get_or_insert_with(|| Box::pin(sleep(LINGER)));
                        ready!(linger.as_mut().poll(cx));
                    }
                }
                this.events = None;
                continue;
            }
            let read = match ready!(next) {
                Some(Ok(event)) => this.take(&event),
                None | Some(Err(EventStreamError::Truncated)) => this.ended(None),
                Some(Err(EventStreamError::Body(error))) => this.ended(Some(error.into())),
                Some(Err(EventStreamError::Sse(error))) => Err(too_large(&error, this)),
            };
            if let Err(error) = read {
                return Poll::Ready(Some(Err(this.failed(error))));
            }
        }
    }
}

fn too_large<B>(error: &SseError, stream: &ChatStream<B>) -> ChatError {
    let SseError::EventTooLarge { .. } = error;
    reply::too_large(&stream.origin)
}

impl<B> fmt::Debug for ChatStream<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatStream")
            .field("answer", &self.answer)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}
