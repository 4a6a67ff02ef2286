//! A reply translated from one dialect to another: whole, or event by event.

use super::{
    Api, TargetApi, chat,
    citations::Citations,
    cohere, converse,
    event::{Answer, Event},
    form::Wishes,
    gemini,
    json::Json,
    messages, ollama,
    out::Out,
    responses,
};
use crate::sse;
use std::{borrow::Cow, sync::Arc};

/// Reads a provider's events.
#[derive(Debug)]
enum Reader {
    Chat(chat::Events),
    Messages(messages::Events),
    Gemini(gemini::Events),
    Responses(responses::Events),
    Ollama(ollama::Events),
    Cohere(cohere::Events),
    Converse(converse::Events),
}

impl Reader {
    fn new(from: TargetApi) -> Self {
        match from {
            TargetApi::Chat => Reader::Chat(chat::Events::default()),
            TargetApi::Messages => Reader::Messages(messages::Events::default()),
            TargetApi::Gemini => Reader::Gemini(gemini::Events::default()),
            TargetApi::Responses => Reader::Responses(responses::Events::default()),
            TargetApi::Ollama => Reader::Ollama(ollama::Events::default()),
            TargetApi::Cohere => Reader::Cohere(cohere::Events::default()),
            TargetApi::Converse => Reader::Converse(converse::Events::default()),
        }
    }

    fn read<'a>(
        &mut self,
        name: &str,
        json: Json<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        match self {
            Reader::Chat(reader) => reader.read(json, events),
            Reader::Messages(reader) => reader.read(name, json, events),
            Reader::Gemini(reader) => reader.read(json, events),
            Reader::Responses(reader) => reader.read(name, json, events),
            Reader::Ollama(reader) => reader.read(json, events),
            Reader::Cohere(reader) => reader.read(json, events),
            Reader::Converse(reader) => reader.read(json, events),
        }
    }

    fn end(&mut self, events: &mut Vec<Event<'_>>) {
        match self {
            Reader::Chat(reader) => reader.end(events),
            Reader::Messages(reader) => reader.end(events),
            Reader::Gemini(reader) => reader.end(events),
            Reader::Responses(reader) => reader.end(events),
            Reader::Ollama(reader) => reader.end(events),
            Reader::Cohere(reader) => reader.end(events),
            Reader::Converse(reader) => reader.end(events),
        }
    }
}

/// Writes the caller's.
#[derive(Debug)]
enum Writer {
    Chat(chat::Stream),
    Messages(messages::Stream),
    Gemini(gemini::Stream),
    Responses(responses::Stream),
}

impl Writer {
    fn new(to: Api, wishes: Wishes) -> Self {
        match to {
            Api::Chat => Writer::Chat(chat::Stream::new(wishes)),
            Api::Messages => Writer::Messages(messages::Stream::new(wishes)),
            Api::Gemini => Writer::Gemini(gemini::Stream::new(wishes)),
            Api::Responses => Writer::Responses(responses::Stream::new(wishes)),
        }
    }

    fn write(&mut self, event: Event<'_>, out: &mut Out) -> Result<(), &'static str> {
        match self {
            Writer::Chat(stream) => stream.write(event, out),
            Writer::Messages(stream) => stream.write(event, out),
            Writer::Gemini(stream) => stream.write(event, out),
            Writer::Responses(stream) => stream.write(event, out),
        }
    }

    /// What cannot be written whole is not written at all: the error that follows must not stand in the midst of an event.
    fn write_all(&mut self, events: Vec<Event<'_>>, out: &mut Out) -> Result<(), &'static str> {
        events.into_iter().try_for_each(|event| {
            let before = out.len();
            self.write(event, out).inspect_err(|_| out.truncate(before))
        })
    }
}

/// A stream on its way from a provider to a caller.
#[derive(Debug)]
pub(super) struct StreamTranslator {
    reader: Reader,
    citations: Option<Citations>,
    writer: Writer,
    model: Arc<str>,
}

impl StreamTranslator {
    pub(super) fn new(from: impl Into<TargetApi>, to: Api, wishes: Wishes) -> Self {
        let from = from.into();
        let (reader, citations) = (Reader::new(from), Citations::new(from, to));
        Self { reader, citations, writer: Writer::new(to, wishes), model: Arc::default() }
    }

    /// The model that was asked, for a stream that does not name its own.
    pub(super) fn with_model(mut self, model: Arc<str>) -> Self {
        self.model = model;
        self
    }

    /// Translates an event; what it becomes, if anything, is added to `out`.
    ///
    /// # Errors
    /// What is wrong with the provider's stream.
    pub(super) fn event(&mut self, event: &sse::Event, out: &mut Out) -> Result<(), &'static str> {
        let mut events = Vec::new();
        if event.is_done() {
            self.reader.end(&mut events);
        } else {
            let data = event.data().trim_ascii();
            let sign_of_life = data.is_empty() || matches!(event.name_bytes(), b"ping" | b"keepalive");
            if sign_of_life {
                return Ok(());
            }
            let json = Json::check(data, false).map_err(|_| "an event of its stream is not JSON")?;
            self.reader.read(event.name(), json, &mut events)?;
            name_model(&mut events, &self.model);
        }
        if let Some(citations) = &mut self.citations {
            citations.pass(&mut events);
        }
        self.writer.write_all(events, out)
    }

    /// The provider's stream is at its end, and whole.
    pub(super) fn end(&mut self, out: &mut Out) -> Result<(), &'static str> {
        let mut events = Vec::new();
        self.reader.end(&mut events);
        if let Some(citations) = &mut self.citations {
            citations.pass(&mut events);
        }
        self.writer.write_all(events, out)
    }

    /// The number that the next event of the caller's stream would have.
    pub(super) fn sequence(&self) -> u64 {
        match &self.writer {
            Writer::Responses(stream) => stream.sequence(),
            _ => 0,
        }
    }
}

/// Says which model answers, where the answer does not.
fn name_model<'a>(events: &mut [Event<'a>], asked: &'a str) {
    if let Some(Event::Start { model: model @ None, .. }) = events.first_mut() {
        *model = (!asked.is_empty()).then_some(Cow::Borrowed(asked));
    }
}

/// Translates an answer that is no stream, into a stream if the caller asked for one.
///
/// # Errors
/// What is wrong with the provider's answer.
pub(super) fn translate_answer(
    from: impl Into<TargetApi>,
    to: Api,
    wishes: Wishes,
    stream: bool,
    asked: &str,
    body: &[u8],
) -> Result<String, &'static str> {
    let json = Json::check(body, false).map_err(|_| "it is not JSON")?;
    let mut events = Vec::new();
    let from = from.into();
    match from {
        TargetApi::Chat => chat::read_answer(json, &mut events)?,
        TargetApi::Messages => messages::read_answer(json, &mut events)?,
        TargetApi::Gemini => gemini::read_answer(json, &mut events)?,
        TargetApi::Responses => responses::read_answer(json, &mut events)?,
        TargetApi::Ollama => ollama::read_answer(json, &mut events)?,
        TargetApi::Cohere => cohere::read_answer(json, &mut events)?,
        TargetApi::Converse => converse::read_answer(json, &mut events)?,
    }
    name_model(&mut events, asked);
    if let Some(mut citations) = Citations::new(from, to) {
        citations.pass(&mut events);
    }
    let mut out = Out::with_capacity(body.len() + body.len() / 4 + 512);
    if stream {
        let mut writer = Writer::new(to, wishes);
        writer.write_all(events, &mut out)?;
        return Ok(out.finish());
    }
    let answer = Answer::of(events);
    match to {
        Api::Chat => chat::write_answer(&answer, &mut out),
        Api::Messages => messages::write_answer(&answer, wishes, &mut out)?,
        Api::Gemini => gemini::write_answer(&answer, wishes, &mut out)?,
        Api::Responses => responses::write_answer(&answer, wishes, &mut out),
    }
    Ok(out.finish())
}
