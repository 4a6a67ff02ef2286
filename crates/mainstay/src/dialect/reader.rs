//! Reading a stream event by event.

use super::{
    Dialect, Failure, Finish, Usage,
    alike::{Alike, Pattern},
    chat::Chat,
    gemini::Gemini,
    messages::Messages,
    others::{AnyError, Cohere, Converse, Ollama},
    responses::Responses,
    seen::Seen,
    usage::Tokens,
};
use crate::{
    json::{Shape, Visit, parse},
    sse::{Block, Event, framing::eventstream::Message},
};
use bytes::Bytes;

/// What an event means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing that the caller waits for: role chunks, `message_start`, pings, empty deltas, token counts, events of
    /// unknown kinds. May come at any time.
    Preamble,
    /// Text, reasoning, a refusal, a tool call.
    Content,
    /// A reason for the end was given. Token counts and a terminal may follow.
    Finish {
        /// The event carries content too.
        content: bool,
    },
    /// Nothing follows. No success by itself: see [`StreamReader::is_complete`].
    Terminal {
        /// The event carries content too.
        content: bool,
    },
    /// The stream failed; [`StreamReader::failure`] has what it said.
    Error,
    /// Data that is not JSON, in a dialect that speaks JSON.
    Malformed,
}

impl Meaning {
    /// Whether the event carries content.
    pub fn is_content(self) -> bool {
        matches!(
            self,
            Meaning::Content | Meaning::Finish { content: true } | Meaning::Terminal { content: true }
        )
    }
}

/// Reads the events of one stream and keeps what they amount to.
///
/// An event that differs from the last one in its text alone, as most do, costs no allocation, and no JSON is parsed for it.
/// It means the same as if it had been.
#[derive(Debug)]
pub struct StreamReader {
    dialect: Dialect,
    like: Pattern,
    content: bool,
    text: usize,
    tool: bool,
    finish: Option<Finish>,
    terminal: bool,
    done: bool,
    choices: u128,
    finished: u128,
    tokens: Tokens,
    tokens_final: bool,
    failure: Option<Failure>,
    malformed: u64,
    events: u64,
}

impl StreamReader {
    /// A reader at the head of a stream.
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            like: Pattern::default(),
            content: false,
            text: 0,
            tool: false,
            finish: None,
            terminal: false,
            done: false,
            choices: 0,
            finished: 0,
            tokens: Tokens::default(),
            tokens_final: false,
            failure: None,
            malformed: 0,
            events: 0,
        }
    }

    /// Forgets what events are like: the next is read in full.
    #[cfg(test)]
    pub(super) fn forget(&mut self) {
        self.like = Pattern::default();
    }

    /// Reads a block of the [`Scanner`](crate::sse::Scanner): its event, or an error that stands in the stream as bare
    /// JSON. Blocks without either are [`Meaning::Preamble`].
    pub fn read_block(&mut self, block: &Block) -> Meaning {
        if let Some(event) = &block.event {
            // Without a name it may not pass as it is.
            let unnamed = self.dialect == Dialect::Messages && event.name_bytes().is_empty();
            let raw = Some(&block.raw[..]).filter(|_| block.complete && !unnamed);
            return self.read_in(raw, event.name_bytes(), event.data_bytes());
        }
        let Some(json) = block.bare_json() else { return Meaning::Preamble };
        let mut seen = Seen::default();
        match parse(&json, &mut AnyError(&mut seen)) {
            Ok(_) if seen.failed() => self.fail(&json, &seen, None),
            _ => Meaning::Preamble,
        }
    }

    /// Reads the next event.
    pub fn read(&mut self, event: &Event) -> Meaning {
        self.read_data(event.name_bytes(), event.data_bytes())
    }

    /// Reads a message of an AWS event stream.
    pub fn read_message(&mut self, message: &Message) -> Meaning {
        let exception = message.header_str(":exception-type").or_else(|| message.header_str(":error-code"));
        match message.header(":message-type") {
            Some(b"exception" | b"error") => {
                self.events += 1;
                self.fail(&words(message), &Seen::default(), exception)
            }
            _ => self.read_data(message.header(":event-type").unwrap_or_default(), &message.payload),
        }
    }

    /// Reads all events at the head of `bytes` that are like the last piece of content and nothing else, each with its
    /// whole block; how many bytes they take. `bytes` are what the scanner would begin its next block with, and no block
    /// may be longer than `max`.
    pub(crate) fn read_alike(&mut self, bytes: &[u8], max: usize) -> usize {
        let mut at = 0;
        // Most frames are one event: behind it nothing is looked for.
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let Some(alike) = self.like.block(rest).filter(|alike| alike.len <= max) else { break };
            at += alike.len;
            self.events += 1;
            self.take_alike(alike);
        }
        at
    }

    /// Reads the data of an event, or a line of JSON. `name` is empty where there is none.
    pub fn read_data(&mut self, name: &[u8], data: &Bytes) -> Meaning {
        self.read_in(None, name, data)
    }

    /// Reads the data of an event, and the block that it stands in, if that is known.
    fn read_in(&mut self, block: Option<&[u8]>, name: &[u8], data: &Bytes) -> Meaning {
        self.events += 1;
        if let Some(alike) = self.like.data(name, data) {
            return self.take_alike(alike);
        }
        let trimmed = data.trim_ascii();
        if trimmed == b"[DONE]" {
            self.done = true;
            return match self.dialect {
                Dialect::Messages | Dialect::Responses => Meaning::Preamble,
                _ => {
                    self.tool = false;
                    Meaning::Terminal { content: false }
                }
            };
        }
        let named_error = name == b"error";
        if trimmed.is_empty() && !named_error {
            return Meaning::Preamble;
        }
        let mut seen = Seen::default();
        match self.look(name, data, &mut seen) {
            Some(()) if seen.failed() || named_error => self.fail(data, &seen, None),
            Some(()) => {
                self.like.learn(block, name, data, &seen);
                self.take(&seen)
            }
            None if named_error => self.fail(data, &Seen::default(), None),
            // An error is not to be missed for a byte that is not UTF-8.
            None if std::str::from_utf8(data).is_err() => {
                let data = Bytes::from(String::from_utf8_lossy(data).into_owned());
                let mut seen = Seen::default();
                match self.look(name, &data, &mut seen) {
                    Some(()) if seen.failed() => self.fail(&data, &seen, None),
                    Some(()) => self.take(&seen),
                    None => self.garbage(),
                }
            }
            None => self.garbage(),
        }
    }

    /// What the data says; `None` where it says nothing, being no JSON object.
    fn look<'de>(&self, name: &[u8], data: &'de [u8], seen: &mut Seen<'de>) -> Option<()> {
        let name = std::str::from_utf8(name).unwrap_or_default();
        fn holds<'de>(data: &'de [u8], visit: &mut impl Visit<'de>) -> Option<()> {
            match parse(data, visit) {
                Ok(Shape::Object | Shape::List(_)) => Some(()),
                _ => None,
            }
        }
        match self.dialect {
            Dialect::ChatCompletions | Dialect::Completions | Dialect::Embeddings => {
                holds(data, &mut Chat(seen))
            }
            Dialect::Messages => {
                let mut visit = Messages::new(seen);
                holds(data, &mut visit)?;
                visit.event(name);
                Some(())
            }
            Dialect::Responses => {
                let mut visit = Responses::new(seen);
                holds(data, &mut visit)?;
                visit.event(name);
                Some(())
            }
            Dialect::Gemini => holds(data, &mut Gemini(seen)),
            Dialect::Cohere => holds(data, &mut Cohere(seen)),
            Dialect::Ollama => holds(data, &mut Ollama(seen)),
            Dialect::Converse => holds(data, &mut Converse(seen)),
            Dialect::Other => {
                if parse(data, &mut AnyError(seen)).is_err() {
                    // To be read once more without the bytes that are not UTF-8.
                    std::str::from_utf8(data).ok()?;
                    *seen = Seen::default();
                }
                seen.content = true;
                Some(())
            }
        }
    }

    fn take_alike(&mut self, alike: Alike) -> Meaning {
        self.text += alike.text;
        self.tool |= alike.tool;
        Meaning::Content
    }

    fn take(&mut self, seen: &Seen<'_>) -> Meaning {
        self.content |= seen.content;
        self.text += seen.text;
        self.choices |= seen.choices;
        self.finished |= seen.finished;
        self.finish = seen.finish.or(self.finish);
        self.tokens.update(&seen.tokens);
        self.tokens_final |= seen.tokens_final;
        let ends = seen.block_end || seen.terminal || seen.finish.is_some();
        self.tool = (self.tool || seen.tool) && !ends;
        self.terminal |= seen.terminal;
        match (seen.terminal, seen.finish) {
            (true, _) => Meaning::Terminal { content: seen.content },
            (_, Some(_)) => Meaning::Finish { content: seen.content },
            _ if seen.content => Meaning::Content,
            _ => Meaning::Preamble,
        }
    }

    /// Remembers the first error; what follows one, such as `[DONE]` or a repetition, adds nothing.
    fn fail(&mut self, data: &Bytes, seen: &Seen<'_>, reason: Option<&str>) -> Meaning {
        if self.failure.is_none() {
            let object = seen.error.map_or_else(|| data.clone(), |raw| data.slice_ref(raw.get().as_bytes()));
            self.failure = Some(Failure { object, reason: reason.map(Into::into).or_else(|| seen.reason()) });
        }
        Meaning::Error
    }

    fn garbage(&mut self) -> Meaning {
        self.malformed += 1;
        Meaning::Malformed
    }

    /// The dialect that it reads.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether the answer is whole: no error, and a terminal or a reason for the end of every choice was seen.
    /// `message_stop` for Messages, `response.completed` or `response.incomplete` for Responses. In
    /// [`Dialect::Other`] nothing is known of ends: `true` unless there was an error.
    pub fn is_complete(&self) -> bool {
        let all = self.choices != 0 && self.choices == self.finished;
        self.failure.is_none()
            && match self.dialect {
                Dialect::ChatCompletions | Dialect::Completions | Dialect::Embeddings => self.done || all,
                Dialect::Gemini => all,
                Dialect::Messages | Dialect::Responses | Dialect::Cohere | Dialect::Ollama => self.terminal,
                Dialect::Converse => self.finish.is_some(),
                Dialect::Other => true,
            }
    }

    /// Whether the answer is complete and empty, without a reason to be: no text, no tool call, no tokens, and it
    /// ended as if all had been said. To be asked at the end of the stream, since token counts come last.
    pub fn is_empty_answer(&self) -> bool {
        let guess = self.dialect == Dialect::Messages && !self.tokens_final;
        let output = if guess { None } else { self.tokens.usage().output };
        self.dialect != Dialect::Other
            && self.is_complete()
            && !self.content
            && output.unwrap_or(0) == 0
            && !self.finish.is_some_and(Finish::excuses_emptiness)
    }

    /// Whether `[DONE]` was seen.
    pub fn saw_done(&self) -> bool {
        self.done
    }

    /// Whether content was seen.
    pub fn saw_content(&self) -> bool {
        self.content
    }

    /// Whether a tool call has begun and neither it nor the answer has ended.
    pub fn in_tool_call(&self) -> bool {
        self.tool
    }

    /// Why the answer ended, if that was said; of several choices, the last one's.
    pub fn finish(&self) -> Option<Finish> {
        self.finish
    }

    /// The first error of the stream.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// The tokens that the stream told so far.
    pub fn usage(&self) -> Usage {
        self.tokens.usage()
    }

    /// The text so far in bytes, as written in JSON: an escape counts as its letters. Without reasoning and tool calls.
    pub fn text_len(&self) -> usize {
        self.text
    }

    /// How many events were not JSON.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// How many events were read. In Responses this is the `sequence_number` of the next.
    pub fn events(&self) -> u64 {
        self.events
    }
}

/// What an exception or an error of an AWS event stream says: its payload, or the header that errors without one have.
fn words(message: &Message) -> Bytes {
    match message.header_str(":error-message") {
        Some(said) if message.payload.is_empty() => serde_json::json!({"message": said}).to_string().into(),
        _ => message.payload.clone(),
    }
}
