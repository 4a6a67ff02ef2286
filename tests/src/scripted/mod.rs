//! Scripted providers that understand what they are asked: each reads a request in its own dialect, as strictly as the
//! real one, and answers what the request shows to have arrived.
//!
//! A dialect is a `Speaker`: it reads an `Asked` and writes a `Said`, whole and as a stream. What is said does not
//! depend on the dialect, so that one test fits all of them. A request that the real provider would refuse is answered
//! with [`REFUSED`], a status that nothing else here uses.
//!
//! [`COLUMNS`] lists the kinds of providers. A new one is a line there.
//!
//! Not a model: a few words of the prompt decide what is said; [`Said::to`] has them all.

mod chat;
mod cohere;
mod columns;
mod converse;
mod converse_blocks;
mod gemini;
mod messages;
mod ollama;
mod responses;
mod said;
mod sigv4;

pub use self::columns::{COLUMNS, Column};
pub use self::said::{Asked, CACHED, Call, End, INPUT, OUTPUT, PAGE, Said, THOUGHTS, TITLE};

use self::said::pieces;

use mainstay_testkit::{Chunk, Recorded, Step, bodies};
use serde_json::Value;

/// The status of an answer to a request that the real provider would have refused: the translation is at fault.
pub const REFUSED: u16 = 418;

/// The code of an error that the model's name asks for, at the end: `m-status-429`.
const STATUS: &str = "-status-";

/// A stream of a model whose name ends so breaks off after its first words, with an error event.
const LATE_ERROR: &str = "-late-error";

/// A model whose name ends so says nothing, for ever.
const SILENT: &str = "-silent";

/// A dialect as a provider speaks it.
trait Speaker: Sync {
    /// What is asked, or what the real provider would refuse it for.
    fn read(&self, request: &Recorded) -> Result<Asked, String>;

    /// The answer as one body.
    fn whole(&self, asked: &Asked, said: &Said) -> Value;

    /// The answer as a stream, one event an item, the ones at the end after the last words included.
    fn stream(&self, asked: &Asked, said: &Said) -> Vec<Chunk>;

    /// The body of an error.
    fn error(&self, status: u16, message: &str) -> Value;

    /// The header that says what kind of error it is, where one does.
    fn error_header(&self, _: u16) -> Option<(&'static str, &'static str)> {
        None
    }

    /// The answer to a request that asks for no words, such as embeddings; `None` if this is another.
    fn aside(&self, _: &Recorded) -> Option<Step> {
        None
    }

    /// An error in the middle of a stream.
    fn late_error(&self) -> Chunk;

    /// The content type of a stream.
    fn stream_type(&self) -> &'static str {
        "text/event-stream"
    }
}

/// Answers a request in a dialect.
fn answer(request: &Recorded, speaker: &dyn Speaker) -> Step {
    if let Some(aside) = speaker.aside(request) {
        return aside;
    }
    let asked = match speaker.read(request) {
        Ok(asked) => asked,
        Err(why) => {
            return failed(REFUSED, &format!("refused by the script: {why}"), speaker);
        }
    };
    let status = asked.model.split(STATUS).nth(1).and_then(|status| status.parse().ok());
    if let Some(status) = status {
        return failed(status, "the script says so", speaker);
    }
    if asked.model.ends_with(SILENT) {
        return Step::stall();
    }
    let said = Said::to(&asked);
    if !asked.stream {
        return Step::json(200, speaker.whole(&asked, &said));
    }
    let mut events = speaker.stream(&asked, &said);
    if asked.model.ends_with(LATE_ERROR) {
        let words = Said { text: vec!["Hello ".into()], ..Said::default() };
        events = speaker.stream(&asked, &words);
        let first = events.iter().position(|event| format!("{event:?}").contains("Hello "));
        events.truncate(first.map_or(0, |at| at + 1));
        events.push(speaker.late_error());
    }
    Step::chunks(events).header("content-type", speaker.stream_type())
}

fn failed(status: u16, message: &str, speaker: &dyn Speaker) -> Step {
    let step = Step::json(status, speaker.error(status, message));
    match speaker.error_header(status) {
        Some((name, value)) => step.header(name, value),
        None => step,
    }
}

/// Embeddings in OpenAI's form.
fn embeddings(request: &Recorded) -> Option<Step> {
    let body = request.json().filter(|_| request.route().ends_with("/embeddings"))?;
    let (model, inputs) = (text(&body["model"]), body["input"].as_array().map_or(1, Vec::len));
    let base64 = body["encoding_format"] == "base64";
    let made = if base64 { bodies::openai_embeddings_base64 } else { bodies::openai_embeddings };
    Some(Step::json(200, made(&model, inputs)))
}

/// Complains of the first field that the provider does not know.
fn known(body: &Value, fields: &[&str]) -> Result<(), String> {
    let body = body.as_object().ok_or("the body is no object")?;
    match body.keys().find(|name| !fields.contains(&name.as_str())) {
        Some(name) => Err(format!("there is no field {name}")),
        None => Ok(()),
    }
}

/// Complains of a request that comes without a key.
fn bearer(request: &Recorded) -> Result<(), String> {
    let key = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    must(key.is_some_and(|key| !key.is_empty()), "no api key supplied")
}

/// The items of a list; none where it is none.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn must(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}
