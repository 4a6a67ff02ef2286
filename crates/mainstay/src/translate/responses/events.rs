//! Reading answers of `/v1/responses`, whole and in events.

use crate::{
    dialect::Finish,
    translate::{
        citation::Citation,
        event::{Event, MAX_CALLS, Tokens, filled, made_id},
        json::Json,
    },
};
use std::borrow::Cow;

/// Reads events.
#[derive(Debug, Default)]
pub(in crate::translate) struct Events {
    started: bool,
    ended: bool,
    /// What the answer is called.
    id: String,
    /// The places in the output of the tool calls, and whether their arguments have begun.
    calls: Vec<(u64, bool)>,
    /// The part of an item that the text is of.
    passage: Option<u64>,
}

impl Events {
    pub(in crate::translate) fn read<'a>(
        &mut self,
        name: &str,
        data: Json<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        let [kind, index, part, delta] = data.pick(["type", "output_index", "content_index", "delta"]);
        let kind = kind.and_then(Json::text);
        let index = index.and_then(Json::count).unwrap_or(0);
        let passage = passage(index, part.and_then(Json::count).unwrap_or(0));
        match kind.as_deref().unwrap_or(name) {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.start(data.get("response"), events);
            }
            "response.output_text.delta" => {
                if let Some(text) = filled(delta) {
                    if self.passage != Some(passage) {
                        self.passage = Some(passage);
                        events.push(Event::Passage(self.passage));
                    }
                    events.push(Event::Text(text));
                }
            }
            "response.output_text.annotation.added" => {
                let citation =
                    data.get("annotation").and_then(|it| Citation::of_annotation(it, Some(passage)));
                events.extend(citation.map(|citation| Event::Citation(Box::new(citation))));
            }
            // Not all tell each source by itself. Those that do are told once all the same.
            "response.output_item.done" => {
                self.passage = None;
                events.push(Event::Passage(None));
                if let Some(item) = data.get("item") {
                    read_annotations(index, item, events);
                }
            }
            "response.refusal.delta" => events.extend(filled(delta).map(Event::Refusal)),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                events.extend(filled(delta).map(Event::Thought));
            }
            "response.output_item.added" => {
                if let Some(item) = data.get("item").filter(|item| is_call(*item)) {
                    if self.calls.len() as u64 == MAX_CALLS {
                        return Err("it calls too many tools");
                    }
                    let arguments = filled(item.get("arguments"));
                    self.calls.push((index, arguments.is_some()));
                    events.push(begin_call(&self.id, index, item));
                    events.extend(arguments.map(|text| Event::Arguments { call: index, text }));
                }
            }
            kind @ ("response.function_call_arguments.delta" | "response.function_call_arguments.done") => {
                let whole = kind.ends_with("done");
                let text = filled(if whole { data.get("arguments") } else { delta });
                let call = self.calls.iter_mut().find(|(call, _)| *call == index);
                if let (Some(text), Some((_, begun))) = (text, call) {
                    // The whole repeats the pieces, where there were any.
                    if !(whole && std::mem::replace(begun, true)) {
                        *begun = true;
                        events.push(Event::Arguments { call: index, text });
                    }
                }
            }
            "response.completed" | "response.incomplete" => {
                if let Some(response) = data.get("response") {
                    self.start(Some(response), events);
                    for (index, item) in response.get("output").into_iter().flat_map(Json::each).enumerate() {
                        read_annotations(index as u64, item, events);
                    }
                    close(response, events);
                }
                self.end(events);
            }
            _ => {}
        }
        Ok(())
    }

    fn start<'a>(&mut self, response: Option<Json<'a>>, events: &mut Vec<Event<'a>>) {
        if let Some(response) = response {
            if !std::mem::replace(&mut self.started, true) {
                self.id = id_of(response).unwrap_or_default().into_owned();
                events.push(begin(response));
            }
        }
    }

    pub(in crate::translate) fn end(&mut self, events: &mut Vec<Event<'_>>) {
        if !std::mem::replace(&mut self.ended, true) {
            events.push(Event::End);
        }
    }
}

/// Reads a `response`.
pub(in crate::translate) fn read_answer<'a>(
    body: Json<'a>,
    events: &mut Vec<Event<'a>>,
) -> Result<(), &'static str> {
    events.push(begin(body));
    let id = id_of(body).unwrap_or_default();
    let output = body.get("output").and_then(Json::items).ok_or("it has no output")?;
    for (call, item) in output.enumerate() {
        let call = call as u64;
        if is_call(item) {
            events.push(begin_call(&id, call, item));
            events.extend(filled(item.get("arguments")).map(|text| Event::Arguments { call, text }));
            continue;
        }
        for (at, part) in item.get("content").into_iter().flat_map(Json::each).enumerate() {
            let text = filled(part.get("text"));
            if part.get("type").is_some_and(|kind| kind.is("reasoning_text")) {
                events.extend(text.map(Event::Thought));
                continue;
            }
            events.push(Event::Passage(Some(passage(call, at as u64))));
            events.extend(text.map(Event::Text));
            events.extend(filled(part.get("refusal")).map(Event::Refusal));
        }
        events.push(Event::Passage(None));
        read_annotations(call, item, events);
        for part in item.get("summary").into_iter().flat_map(Json::each) {
            events.extend(filled(part.get("text")).map(Event::Thought));
        }
    }
    close(body, events);
    events.push(Event::End);
    Ok(())
}

/// One name for the place of an item in the output and that of a part in it.
fn passage(item: u64, part: u64) -> u64 {
    item.saturating_mul(1 << 20).saturating_add(part)
}

/// The sources of an item, which counts the characters of each of its parts for itself.
fn read_annotations<'a>(index: u64, item: Json<'a>, events: &mut Vec<Event<'a>>) {
    for (at, part) in item.get("content").into_iter().flat_map(Json::each).enumerate() {
        let annotations = part.get("annotations").into_iter().flat_map(Json::each);
        let name = Some(passage(index, at as u64));
        let citations = annotations.filter_map(|annotation| Citation::of_annotation(annotation, name));
        events.extend(citations.map(|citation| Event::Citation(Box::new(citation))));
    }
}

fn is_call(item: Json<'_>) -> bool {
    item.get("type").is_some_and(|kind| kind.is("function_call"))
}

fn begin<'a>(response: Json<'a>) -> Event<'a> {
    Event::Start {
        id: id_of(response),
        model: response.get("model").and_then(Json::text),
        created: response.get("created_at").and_then(Json::count),
    }
}

fn id_of<'a>(response: Json<'a>) -> Option<Cow<'a, str>> {
    response.get("id").and_then(Json::text)
}

/// A call by the id that its result must name; where there is none by the item's, or by one that is made up.
fn begin_call<'a>(answer: &str, call: u64, item: Json<'a>) -> Event<'a> {
    let id = |name: &str| item.get(name).and_then(Json::text).filter(|id| !id.is_empty());
    let id = id("call_id").or_else(|| id("id")).unwrap_or_else(|| Cow::Owned(made_id(answer, call)));
    Event::Call { call, id, name: item.get("name").and_then(Json::text).unwrap_or_default() }
}

/// The reason for the end, and the tokens.
fn close<'a>(response: Json<'a>, events: &mut Vec<Event<'a>>) {
    let details = response.get("incomplete_details").and_then(|details| details.get("reason")?.text());
    let reason = details.and_then(|reason| Finish::of_reason(&reason)).unwrap_or(Finish::Stop);
    events.push(Event::Finish { reason, stop: None });
    if let Some(usage) = response.get("usage") {
        let count = |of: Json<'_>, name: &str| of.get(name).and_then(Json::count);
        events.push(Event::Tokens(Tokens {
            input: count(usage, "input_tokens"),
            output: count(usage, "output_tokens"),
            cached: usage.get("input_tokens_details").and_then(|details| count(details, "cached_tokens")),
            cache_write: None,
            thoughts: usage
                .get("output_tokens_details")
                .and_then(|details| count(details, "reasoning_tokens")),
        }));
    }
}
