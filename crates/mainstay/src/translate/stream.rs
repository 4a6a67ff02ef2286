//! A reply translated from one dialect to another: whole, or event by event.

use super::{
    Api, chat,
    event::{Answer, Event},
    form::Wishes,
    gemini,
    json::Json,
    messages,
    out::Out,
    responses,
};
use crate::sse;

/// Reads a provider's events.
#[derive(Debug)]
enum Reader {
    Chat(chat::Events),
    Messages(messages::Events),
    Gemini(gemini::Events),
    Responses(responses::Events),
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
}

/// A stream on its way from a provider to a caller.
#[derive(Debug)]
pub(super) struct StreamTranslator {
    reader: Reader,
    writer: Writer,
}

impl StreamTranslator {
    pub(super) fn new(from: Api, to: Api, wishes: Wishes) -> Self {
        let reader = match from {
            Api::Chat => Reader::Chat(chat::Events::default()),
            Api::Messages => Reader::Messages(messages::Events::default()),
            Api::Gemini => Reader::Gemini(gemini::Events::default()),
            Api::Responses => Reader::Responses(responses::Events::default()),
        };
        Self { reader, writer: Writer::new(to, wishes) }
    }

    /// Translates an event; what it becomes, if anything, is added to `out`.
    ///
    /// # Errors
    /// What is wrong with the provider's stream.
    pub(super) fn event(&mut self, event: &sse::Event, out: &mut Out) -> Result<(), &'static str> {
        let mut events = Vec::new();
        if event.is_done() {
            self.read_end(&mut events);
        } else {
            let data = event.data().trim_ascii();
            let sign_of_life = data.is_empty() || matches!(event.name_bytes(), b"ping" | b"keepalive");
            if sign_of_life {
                return Ok(());
            }
            let json = Json::check(data, false).map_err(|_| "an event of its stream is not JSON")?;
            match &mut self.reader {
                Reader::Chat(reader) => reader.read(json, &mut events)?,
                Reader::Messages(reader) => reader.read(event.name(), json, &mut events)?,
                Reader::Gemini(reader) => reader.read(json, &mut events)?,
                Reader::Responses(reader) => reader.read(event.name(), json, &mut events)?,
            }
        }
        self.write(events, out)
    }

    /// The provider's stream is at its end, and whole.
    pub(super) fn end(&mut self, out: &mut Out) -> Result<(), &'static str> {
        let mut events = Vec::new();
        self.read_end(&mut events);
        self.write(events, out)
    }

    /// What cannot be written whole is not written at all: the error that follows must not stand in the midst of an event.
    fn write(&mut self, events: Vec<Event<'_>>, out: &mut Out) -> Result<(), &'static str> {
        events.into_iter().try_for_each(|event| {
            let before = out.len();
            self.writer.write(event, out).inspect_err(|_| out.truncate(before))
        })
    }

    /// The number that the next event of the caller's stream would have.
    pub(super) fn sequence(&self) -> u64 {
        match &self.writer {
            Writer::Responses(stream) => stream.sequence(),
            _ => 0,
        }
    }

    fn read_end(&mut self, events: &mut Vec<Event<'_>>) {
        match &mut self.reader {
            Reader::Chat(reader) => reader.end(events),
            Reader::Messages(reader) => reader.end(events),
            Reader::Gemini(reader) => reader.end(events),
            Reader::Responses(reader) => reader.end(events),
        }
    }
}

/// Translates an answer that is no stream, into a stream if the caller asked for one.
///
/// # Errors
/// What is wrong with the provider's answer.
pub(super) fn translate_answer(
    from: Api,
    to: Api,
    wishes: Wishes,
    stream: bool,
    body: &[u8],
) -> Result<String, &'static str> {
    let json = Json::check(body, false).map_err(|_| "it is not JSON")?;
    let mut events = Vec::new();
    match from {
        Api::Chat => chat::read_answer(json, &mut events)?,
        Api::Messages => messages::read_answer(json, &mut events)?,
        Api::Gemini => gemini::read_answer(json, &mut events)?,
        Api::Responses => responses::read_answer(json, &mut events)?,
    }
    let mut out = Out::with_capacity(body.len() + body.len() / 4 + 512);
    if stream {
        let mut writer = Writer::new(to, wishes);
        events.into_iter().try_for_each(|event| writer.write(event, &mut out))?;
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
