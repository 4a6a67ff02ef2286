//! Reading streams of `streamGenerateContent`, and whole answers.

use super::{
    answer::read_tokens,
    grounding::{Grounding, PartKind},
};
use crate::{
    dialect::Finish,
    translate::{
        event::{Event, WholeCalls, filled},
        json::Json,
    },
};

/// Reads responses, each of which is a piece of the answer.
#[derive(Debug, Default)]
pub(in crate::translate) struct Events {
    started: bool,
    ended: bool,
    calls: WholeCalls,
    grounding: Grounding,
}

impl Events {
    /// For an answer in one piece, whose parts are as they are counted.
    pub(super) fn of_whole() -> Self {
        Self { grounding: Grounding::of_whole(), ..Self::default() }
    }

    pub(in crate::translate) fn read<'a>(
        &mut self,
        response: Json<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        if !response.is_object() {
            return Err("an event of its stream is no object");
        }
        let [id, model, feedback, candidates, usage] =
            response.pick(["responseId", "modelVersion", "promptFeedback", "candidates", "usageMetadata"]);
        if !std::mem::replace(&mut self.started, true) {
            let (id, model) = (id.and_then(Json::text), model.and_then(Json::text));
            self.calls = WholeCalls::of(id.as_deref().unwrap_or_default());
            events.push(Event::Start { id, model, created: None });
        }
        if feedback.and_then(|feedback| feedback.get("blockReason")).is_some() {
            events.push(Event::Finish { reason: Finish::ContentFilter, stop: None });
        }
        for candidate in candidates.into_iter().flat_map(Json::each) {
            const FIELDS: [&str; 5] =
                ["index", "content", "finishReason", "groundingMetadata", "citationMetadata"];
            let [index, content, reason, grounding, citations] = candidate.pick(FIELDS);
            if index.and_then(Json::count).unwrap_or(0) != 0 {
                continue;
            }
            let parts = content.and_then(|content| content.get("parts"));
            for part in parts.into_iter().flat_map(Json::each) {
                self.read_part(part, events)?;
            }
            self.grounding.read(grounding, citations, events);
            if let Some(reason) = reason.and_then(Json::text) {
                if let Some(reason) = Finish::of_reason(&reason) {
                    events.push(Event::Finish { reason, stop: None });
                }
            }
        }
        if let Some(usage) = usage {
            events.push(Event::Tokens(read_tokens(usage)));
        }
        Ok(())
    }

    fn read_part<'a>(&mut self, part: Json<'a>, events: &mut Vec<Event<'a>>) -> Result<(), &'static str> {
        let [text, thought, function] = part.pick(["text", "thought", "functionCall"]);
        let (text, thought) = (filled(text), thought.and_then(Json::as_bool) == Some(true));
        let kind = match text {
            Some(_) if thought => PartKind::Thought,
            Some(_) => PartKind::Text,
            None if function.is_some() => PartKind::Other,
            None => PartKind::Nothing,
        };
        self.grounding.part(kind, events);
        if let Some(text) = text {
            events.push(if thought { Event::Thought(text) } else { Event::Text(text) });
        }
        let Some(function) = function else { return Ok(()) };
        let [id, name, args] = function.pick(["id", "name", "args"]);
        self.calls.push(id, name.and_then(Json::text), args, events)
    }

    pub(in crate::translate) fn end(&mut self, events: &mut Vec<Event<'_>>) {
        if !std::mem::replace(&mut self.ended, true) {
            self.grounding.end(events);
            events.push(Event::End);
        }
    }
}
