//! Streams of each dialect, event by event.
//!
//! First line: a letter for the dialect (see [`crate::input`]), and `*` for a stream that is made of the bytes that
//! follow (see [`crate::grammar`]). Otherwise the rest is a stream of server-sent events, whatever
//! the dialect's own framing is; in Bedrock's an event becomes a message, and one whose name begins with `!` an
//! exception.
//!
//! - An event means the same to a reader that has seen others like it, and may take the short way, as to a fresh one, which
//!   reads it in full; and it adds the same to what the reader knows, the length of the text included.
//! - What is an error by the documentation of the API is read as one.
//! - An answer that was whole stays whole, unless there is an error, or a choice that was not heard of before.
//! - It is whole when all that was begun was ended, by a slow reading, and then only.
//! - The counts add up; an error is kept if and only if one was met.

use crate::{grammar, input, slow};
use bytes::Bytes;
use mainstay::{
    dialect::{Dialect, Meaning, StreamReader},
    sse::{
        Event, Scanner,
        framing::eventstream::{Decoder, Message},
    },
};

/// Feeds one case.
pub fn check(data: &[u8]) {
    let Some((line, text)) = input::split(data) else { return };
    let dialect = input::dialect(line.first().copied().unwrap_or_default());
    let made = (line.get(1) == Some(&b'*')).then(|| grammar::stream(text));
    let text = made.as_ref().map_or(text, String::as_bytes);
    let mut scanner = Scanner::new();
    scanner.push(Bytes::copy_from_slice(text));
    let mut run = Run::new(dialect);
    while let Ok(Some(block)) = scanner.finish() {
        let Some(event) = &block.event else {
            let meaning = run.quick.read_block(&block);
            assert_eq!(run.full.read_block(&block), meaning);
            assert!(matches!(meaning, Meaning::Preamble | Meaning::Error));
            run.failed |= meaning == Meaning::Error;
            continue;
        };
        run.event(event);
        run.totals();
    }
}

struct Run {
    dialect: Dialect,
    quick: StreamReader,
    /// Sees every event behind blanks, which keep it on the long way.
    full: StreamReader,
    events: u64,
    malformed: u64,
    failed: bool,
    ends: slow::Ends,
}

impl Run {
    fn new(dialect: Dialect) -> Self {
        let reader = || StreamReader::new(dialect);
        let ends = slow::Ends::default();
        Self { dialect, quick: reader(), full: reader(), events: 0, malformed: 0, failed: false, ends }
    }

    /// Reads an event in all ways.
    fn event(&mut self, event: &Event) {
        // Like no other: each has more blanks in front of it than the one before.
        let blanks = vec![b'\n'; 1 + usize::try_from(self.events).unwrap_or_default()];
        let behind_blanks = Event::new(event.name_bytes().to_vec(), [&blanks, event.data()].concat());
        let was_whole = self.quick.is_complete();
        let read = |reader: &mut StreamReader, event: &Event| read(self.dialect, reader, event);
        let meaning = read(&mut self.quick, event);
        let full = read(&mut self.full, &behind_blanks);
        let mut fresh = StreamReader::new(self.dialect);
        assert_eq!(read(&mut fresh, event), full, "a meaning does not depend on what came before");

        self.events += 1;
        self.malformed += u64::from(meaning == Meaning::Malformed);
        self.failed |= meaning == Meaning::Error;
        let name = std::str::from_utf8(event.name_bytes()).unwrap_or_default();
        self.ends.take(self.dialect, name, event.data());
        if let Some(json) = slow::document(event.data()) {
            if slow::is_error(self.dialect, Some(name.trim_start_matches('!')), &json)
                && json.trim_start().starts_with(['{', '['])
            {
                assert_eq!((full, meaning), (Meaning::Error, Meaning::Error), "an error by the book");
            }
            if meaning == Meaning::Malformed {
                assert!(self.dialect != Dialect::Other && !json.trim_start().starts_with('{'));
            }
        }
        if was_whole && meaning != Meaning::Error {
            assert!(self.quick.is_complete() || speaks_of_choices(event), "whole, and then no more");
        }
        assert_eq!(meaning, full, "in short and in full");
    }

    fn totals(&self) {
        let (quick, full) = (&self.quick, &self.full);
        let state = |reader: &StreamReader| {
            (
                (reader.is_complete(), reader.is_empty_answer(), reader.saw_done(), reader.saw_content()),
                (reader.in_tool_call(), reader.finish(), reader.usage(), reader.malformed(), reader.events()),
                reader.text_len(),
            )
        };
        assert_eq!(state(quick), state(full));
        assert_eq!((quick.events(), quick.malformed()), (self.events, self.malformed));
        assert_eq!(quick.failure().is_some(), self.failed);
        if let Some(whole) = self.ends.whole() {
            assert_eq!(quick.is_complete(), whole && !self.failed, "whole: {:?}", self.ends);
        }
        assert!(!(self.failed && (quick.is_complete() || quick.is_empty_answer())));
        let object = |reader: &StreamReader| {
            reader.failure().map(|failure| (failure.object.trim_ascii().to_vec(), failure.reason.clone()))
        };
        assert_eq!(object(quick), object(full));
    }
}

fn read(dialect: Dialect, reader: &mut StreamReader, event: &Event) -> Meaning {
    if dialect != Dialect::Converse {
        return reader.read(event);
    }
    let name = std::str::from_utf8(event.name_bytes()).unwrap_or_default();
    let headers = match name.strip_prefix('!') {
        Some(name) => [(":message-type", "exception"), (":exception-type", name)],
        None => [(":message-type", "event"), (":event-type", name)],
    };
    let mut decoder = Decoder::new();
    decoder.push(Message::encode(&headers, event.data()));
    let message = decoder.next_message().expect("it is well-formed").expect("it is whole");
    reader.read_message(&message)
}

/// Whether an event may tell of a choice that was not known.
fn speaks_of_choices(event: &Event) -> bool {
    let text = String::from_utf8_lossy(event.data());
    ["choices", "candidates", "\\u00"].iter().any(|key| text.contains(key))
}
