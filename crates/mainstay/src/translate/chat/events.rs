//! Reading streams of `/v1/chat/completions`, and whole completions.

use super::answer::read_tokens;
use crate::{
    dialect::Finish,
    translate::{
        citation::Citation,
        event::{Event, MAX_CALLS, filled, made_id},
        json::Json,
    },
};
use std::borrow::Cow;

/// Arguments that are held until the name of their call is known.
const MAX_EARLY: usize = 1 << 20;

/// Reads chunks, and whole completions.
#[derive(Debug, Default)]
pub(in crate::translate) struct Events {
    started: bool,
    ended: bool,
    id: String,
    calls: Vec<Begun>,
    early: usize,
}

/// A tool call that was spoken of.
#[derive(Debug)]
struct Begun {
    index: Option<u64>,
    id: String,
    /// Arguments that came before the name. `None` once the name is known.
    early: Option<String>,
}

impl Events {
    /// Reads a chunk, or a completion.
    pub(in crate::translate) fn read<'a>(
        &mut self,
        chunk: Json<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        // A list that holds one reply.
        let chunk = chunk.items().and_then(|mut items| items.next()).unwrap_or(chunk);
        if !chunk.is_object() {
            return Err("an event of its stream is no object");
        }
        let (mut choices, mut usage, mut id, mut model, mut created) = (None, None, None, None, None);
        for (name, value) in chunk.fields() {
            match &*name {
                "choices" => choices = Some(value),
                "usage" => usage = Some(value),
                "x_groq" => usage = value.get("usage").or(usage),
                "id" => id = value.text().filter(|id| !id.is_empty()),
                "model" => model = value.text(),
                "created" => created = value.count(),
                _ => {}
            }
        }
        if !std::mem::replace(&mut self.started, true) {
            self.id = id.as_deref().unwrap_or_default().to_owned();
            events.push(Event::Start { id, model, created });
        }
        let choice = choices.into_iter().flat_map(Json::each);
        for choice in choice {
            const FIELDS: [&str; 5] = ["index", "delta", "message", "finish_reason", "annotations"];
            let [index, delta, message, reason, beside] = choice.pick(FIELDS);
            // The first of several: one was asked for.
            if index.and_then(Json::count).unwrap_or(0) == 0 {
                self.read_choice(delta.or(message), reason, events)?;
                // Beside the message is where some of OpenRouter's hosts put them.
                read_annotations(beside, events);
                break;
            }
        }
        if let Some(usage) = usage.filter(|usage| usage.is_object()) {
            events.push(Event::Tokens(read_tokens(usage)));
        }
        Ok(())
    }

    fn read_choice<'a>(
        &mut self,
        delta: Option<Json<'a>>,
        reason: Option<Json<'a>>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        if let Some(delta) = delta {
            self.read_delta(delta, events)?;
        }
        if let Some(reason) = reason.and_then(Json::text) {
            if let Some(reason) = Finish::of_reason(&reason) {
                events.push(Event::Finish { reason, stop: None });
            }
        }
        Ok(())
    }

    fn read_delta<'a>(&mut self, delta: Json<'a>, events: &mut Vec<Event<'a>>) -> Result<(), &'static str> {
        let mut thought = None;
        let mut rank = usize::MAX;
        let (mut content, mut refusal, mut calls, mut function) = (None, None, None, None);
        let mut annotations = None;
        for (name, value) in delta.fields() {
            // Some tell the same thought under two names.
            const THOUGHTS: [&str; 4] = ["reasoning_content", "reasoning", "reasoning_text", "thinking"];
            if let Some(at) = THOUGHTS.iter().position(|thought| *thought == name) {
                if at < rank {
                    if let Some(text) = filled(Some(value)) {
                        (thought, rank) = (Some(text), at);
                    }
                }
                continue;
            }
            match &*name {
                "content" => content = Some(value),
                "refusal" => refusal = filled(Some(value)),
                "tool_calls" => calls = Some(value),
                "function_call" => function = Some(value),
                "annotations" => annotations = Some(value),
                _ => {}
            }
        }
        events.extend(thought.map(Event::Thought));
        if let Some(content) = content {
            read_content(content, events);
        }
        events.extend(refusal.map(Event::Refusal));
        read_annotations(annotations, events);
        for call in calls.into_iter().flat_map(Json::each) {
            self.read_call(call, events)?;
        }
        if let Some(function) = function.filter(|function| function.is_object()) {
            self.read_function(Some(0), None, function, events)?;
        }
        Ok(())
    }

    fn read_call<'a>(&mut self, call: Json<'a>, events: &mut Vec<Event<'a>>) -> Result<(), &'static str> {
        let index = call.get("index").and_then(Json::count);
        let id = call.get("id").and_then(Json::text).filter(|id| !id.is_empty());
        let function = call.get("function").unwrap_or(call);
        self.read_function(index, id, function, events)
    }

    fn read_function<'a>(
        &mut self,
        index: Option<u64>,
        id: Option<Cow<'a, str>>,
        function: Json<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        let name = function.get("name").and_then(Json::text).filter(|name| !name.is_empty());
        let arguments = match function.get("arguments") {
            Some(object) if object.is_object() => {
                Some(Cow::Owned(crate::translate::out::escape(object.raw())))
            }
            text => filled(text),
        };
        let found = match (&id, index) {
            // Ids beat indexes: some count every call 0, some not at all, some repeat the id in each piece.
            (Some(id), _) => self.calls.iter().rposition(|call| call.id == **id),
            (None, Some(index)) => self.calls.iter().rposition(|call| call.index == Some(index)),
            // A name begins a call.
            (None, None) if name.is_some() => None,
            (None, None) => self.calls.len().checked_sub(1),
        };
        let call = match found {
            Some(call) => call,
            None if self.calls.len() as u64 == MAX_CALLS => return Err("it calls too many tools"),
            None => {
                let id = id.map_or_else(|| made_id(&self.id, self.calls.len() as u64), Cow::into_owned);
                self.calls.push(Begun { index, id, early: Some(String::new()) });
                self.calls.len() - 1
            }
        };
        let Some(begun) = self.calls.get_mut(call) else { return Ok(()) };
        let call = call as u64;
        match (&mut begun.early, name) {
            (Some(early), Some(name)) => {
                events.push(Event::Call { call, id: Cow::Owned(begun.id.clone()), name });
                if !early.is_empty() {
                    events.push(Event::Arguments { call, text: Cow::Owned(std::mem::take(early)) });
                }
                begun.early = None;
            }
            (Some(early), None) => {
                let more = arguments.unwrap_or_default();
                self.early += more.len();
                if self.early > MAX_EARLY {
                    return Err("a tool call has no name");
                }
                early.push_str(&more);
                return Ok(());
            }
            (None, _) => {}
        }
        events.extend(arguments.map(|text| Event::Arguments { call, text }));
        Ok(())
    }

    /// The end: `[DONE]`, or that of the body.
    pub(in crate::translate) fn end(&mut self, events: &mut Vec<Event<'_>>) {
        if !std::mem::replace(&mut self.ended, true) {
            events.push(Event::End);
        }
    }
}

/// Sources, in characters of all of the content.
fn read_annotations<'a>(annotations: Option<Json<'a>>, events: &mut Vec<Event<'a>>) {
    let annotations = annotations.into_iter().flat_map(Json::each);
    let citations = annotations.filter_map(|annotation| Citation::of_annotation(annotation, None));
    events.extend(citations.map(|citation| Event::Citation(Box::new(citation))));
}

/// Text, or a list of parts (Mistral).
fn read_content<'a>(content: Json<'a>, events: &mut Vec<Event<'a>>) {
    if content.items().is_none() {
        events.extend(filled(Some(content)).map(Event::Text));
        return;
    }
    for part in content.each() {
        match part.get("type").and_then(Json::text).as_deref() {
            Some("text" | "output_text") => events.extend(filled(part.get("text")).map(Event::Text)),
            Some("refusal") => events.extend(filled(part.get("refusal")).map(Event::Refusal)),
            Some("thinking") => {
                let inner = part.get("thinking");
                events.extend(filled(inner).map(Event::Thought));
                for piece in inner.into_iter().flat_map(Json::each) {
                    events.extend(filled(piece.get("text")).map(Event::Thought));
                }
            }
            _ => {}
        }
    }
}
