//! The body of a reply.

use super::{TranslateLayer, out::Out, reply, request::Plan, stream::StreamTranslator};
use crate::{
    dialect::Dialect,
    judge::{
        ReplyError,
        framing::{Framing, Uncut, Unit},
    },
    sse::Event,
};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use mainstay_layers::{
    BoxError,
    classify::{Class, Failed, Verdict},
};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// The body of a reply: untouched, whole, or a stream that is translated as it comes.
    #[derive(Debug)]
    pub struct TranslateBody<B> {
        #[pin]
        state: State<B>,
    }
}

pin_project! {
    #[project = StateProj]
    #[derive(Debug)]
    enum State<B> {
        Untouched {
            #[pin]
            inner: B,
        },
        Whole { bytes: Bytes },
        Stream {
            // `None` once it ended: what is below is let go at once.
            #[pin]
            inner: Option<B>,
            stream: Box<Stream>,
        },
    }
}

#[derive(Debug)]
struct Stream {
    framing: Framing,
    translator: StreamTranslator,
    caller: Dialect,
    out: Out,
    /// What ends the stream, after what is in `out`.
    error: Option<BoxError>,
}

impl<B> TranslateBody<B> {
    pub(super) fn untouched(inner: B) -> Self {
        Self { state: State::Untouched { inner } }
    }

    pub(super) fn whole(bytes: Bytes) -> Self {
        Self { state: State::Whole { bytes } }
    }

    pub(super) fn stream(inner: B, layer: &TranslateLayer, plan: &Plan) -> Self {
        let stream = Stream {
            framing: Framing::of(layer.target.api.dialect(), layer.max_event),
            translator: StreamTranslator::new(layer.target.api, plan.caller, plan.wishes)
                .with_model(plan.model.clone()),
            caller: plan.caller.dialect(),
            out: Out::default(),
            error: None,
        };
        Self { state: State::Stream { inner: Some(inner), stream: Box::new(stream) } }
    }
}

impl Stream {
    /// Translates every event that is here. `Err`: nothing can follow.
    fn translate(&mut self) -> Result<(), BoxError> {
        while let Some(unit) = self.framing.next().map_err(uncut)? {
            self.read(unit)?;
        }
        Ok(())
    }

    /// The end of the body below, which ended properly.
    fn finish(&mut self) -> Result<(), BoxError> {
        while let Some(unit) = self.framing.finish().map_err(uncut)? {
            self.read(unit)?;
        }
        self.translator.end(&mut self.out).map_err(reply::malformed)
    }

    fn read(&mut self, unit: Unit) -> Result<(), BoxError> {
        match event_of(unit) {
            Some(event) => self.translator.event(&event, &mut self.out).map_err(reply::malformed),
            None => Ok(()),
        }
    }
}

/// The event of a unit, whichever way it was framed; `None` where there is none in it.
pub(super) fn event_of(unit: Unit) -> Option<Event> {
    match unit {
        Unit::Block(block) => block.event,
        Unit::Line(line) => (!line.data.is_empty()).then(|| Event::new("", line.data)),
        Unit::Message(message) => {
            let name = Bytes::copy_from_slice(message.header(":event-type").unwrap_or_default());
            Some(Event::new(name, message.payload))
        }
    }
}

fn uncut(error: Uncut) -> BoxError {
    match error {
        Uncut::TooLarge { limit } => {
            let verdict = Verdict::new(Class::TooLarge).with_committed(true);
            Failed::new(verdict, ReplyError::EventTooLarge { limit }).into()
        }
        Uncut::Garbled { what } => reply::malformed(what),
        Uncut::Half => reply::malformed("its stream ends inside an event"),
    }
}

impl<B> Body for TranslateBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let (mut inner, stream) = match self.project().state.project() {
            StateProj::Untouched { inner } => return inner.poll_frame(cx).map_err(Into::into),
            StateProj::Whole { bytes } if bytes.is_empty() => return Poll::Ready(None),
            StateProj::Whole { bytes } => {
                return Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes)))));
            }
            StateProj::Stream { inner, stream } => (inner, stream),
        };
        loop {
            if !stream.out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(stream.out.take().into()))));
            }
            if let Some(error) = stream.error.take() {
                return Poll::Ready(Some(Err(error)));
            }
            let Some(below) = inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
            let outcome = match ready!(below.poll_frame(cx)) {
                // Trailers of a stream say nothing to a caller of an LLM API.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        stream.framing.push(data);
                        stream.translate()
                    }
                    Err(_) => Ok(()),
                },
                Some(Err(error)) => {
                    Err(reply::stream_error(error.into(), stream.caller, stream.translator.sequence()))
                }
                None => {
                    inner.set(None);
                    stream.finish()
                }
            };
            if let Err(error) = outcome {
                inner.set(None);
                stream.error = Some(error);
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Untouched { inner } => inner.is_end_stream(),
            State::Whole { bytes } => bytes.is_empty(),
            State::Stream { inner, stream } => {
                inner.is_none() && stream.out.is_empty() && stream.error.is_none()
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Untouched { inner } => inner.size_hint(),
            State::Whole { bytes } => SizeHint::with_exact(bytes.len() as u64),
            State::Stream { .. } => SizeHint::default(),
        }
    }
}
