//! OpenAI's Responses.

use super::{
    Asked, CACHED, End, INPUT, OUTPUT, PAGE, Said, Speaker, TITLE, embeddings, items, known, must, text,
};
use mainstay_testkit::{Chunk, Recorded, Step, bodies};
use serde_json::{Value, json};

/// The one provider of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Responses;

const FIELDS: [&str; 20] = [
    "model",
    "input",
    "instructions",
    "stream",
    "store",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_output_tokens",
    "temperature",
    "top_p",
    "reasoning",
    "text",
    "user",
    "include",
    "metadata",
    "previous_response_id",
    "truncation",
    "service_tier",
    "stream_options",
];

impl Speaker for Responses {
    fn aside(&self, request: &Recorded) -> Option<Step> {
        embeddings(request)
    }

    fn read(&self, request: &Recorded) -> Result<Asked, String> {
        must(request.route().ends_with("/responses"), "there is nothing at this path")?;
        let body = request.json().ok_or("no JSON")?;
        known(&body, &FIELDS)?;
        let format = &body["text"]["format"];
        let mut asked = Asked {
            model: text(&body["model"]),
            stream: body["stream"] == true,
            system: text(&body["instructions"]),
            schema: format.get("schema").cloned(),
            thinks: body["reasoning"]["effort"].is_string(),
            max_tokens: body["max_output_tokens"].as_u64(),
            tools: items(&body["tools"]).map(|tool| text(&tool["name"])).collect(),
            choice: body["tool_choice"].as_str().or(body["tool_choice"]["name"].as_str()).map(Into::into),
            ..Asked::default()
        };
        for tool in items(&body["tools"]) {
            let own = tool["type"] == "function";
            must(!own || tool["parameters"].is_object(), "a tool without parameters")?;
        }
        if let Some(prompt) = body["input"].as_str() {
            asked.prompt = prompt.to_owned();
            asked.turns = 1;
            return Ok(asked);
        }
        let mut open: Vec<String> = Vec::new();
        for item in items(&body["input"]) {
            match item["type"].as_str().unwrap_or("message") {
                "message" => {
                    let said = read_text(&item["content"], &mut asked)?;
                    match item["role"].as_str() {
                        Some("user") => {
                            must(open.is_empty(), "a call is left without its output")?;
                            asked.turns += 1;
                            asked.results.clear();
                            asked.prompt = said;
                        }
                        Some("assistant") => asked.turns += 1,
                        Some("system" | "developer") => asked.system += &said,
                        role => return Err(format!("there is no role {role:?}")),
                    }
                }
                "function_call" => {
                    let arguments = item["arguments"].as_str().ok_or("arguments must be text")?;
                    must(serde_json::from_str::<Value>(arguments).is_ok(), "arguments must be JSON")?;
                    open.push(text(&item["call_id"]));
                }
                "function_call_output" => {
                    let id = text(&item["call_id"]);
                    let at = open.iter().position(|open| *open == id).ok_or("an output of no call")?;
                    open.remove(at);
                    asked.results.push(read_text(&item["output"], &mut Asked::default())?);
                }
                "reasoning" => {}
                kind => return Err(format!("there is no item {kind}")),
            }
        }
        must(open.is_empty(), "a call is left without its output")?;
        Ok(asked)
    }

    fn whole(&self, asked: &Asked, said: &Said) -> Value {
        let (status, details) = match said.end {
            End::Length => ("incomplete", json!({"reason": "max_output_tokens"})),
            _ => ("completed", Value::Null),
        };
        response(asked, status, &details, output(said), usage(said))
    }

    fn stream(&self, asked: &Asked, said: &Said) -> Vec<Chunk> {
        let mut all: Vec<Chunk> = Vec::new();
        let mut push = |kind: &str, mut data: Value| {
            data["type"] = kind.into();
            data["sequence_number"] = all.len().into();
            all.push(bodies::named_event(kind, &data).into());
        };
        let begun = response(asked, "in_progress", &Value::Null, Vec::new(), Value::Null);
        push("response.created", json!({"response": begun}));
        for (at, item) in output(said).into_iter().enumerate() {
            let mut empty = item.clone();
            for name in ["content", "summary", "arguments"] {
                if let Some(field) = empty.get_mut(name) {
                    *field = if name == "arguments" { json!("") } else { json!([]) };
                }
            }
            push("response.output_item.added", json!({"output_index": at, "item": empty}));
            let id = &item["id"];
            match item["type"].as_str() {
                Some("message") => {
                    let place = |mut data: Value| {
                        data["item_id"] = id.clone();
                        data["output_index"] = at.into();
                        data["content_index"] = 0.into();
                        data
                    };
                    push("response.content_part.added", place(json!({"part": part("", &json!([]))})));
                    for piece in &said.text {
                        push("response.output_text.delta", place(json!({"delta": piece, "logprobs": []})));
                    }
                    for (n, annotation) in items(&annotations(said)).enumerate() {
                        let added = json!({"annotation_index": n, "annotation": annotation});
                        push("response.output_text.annotation.added", place(added));
                    }
                    push("response.output_text.done", place(json!({"text": said.words(), "logprobs": []})));
                    push(
                        "response.content_part.done",
                        place(json!({"part": part(&said.words(), &annotations(said))})),
                    );
                }
                Some("reasoning") => {
                    let place = json!({"item_id": id, "output_index": at, "summary_index": 0});
                    let with = |name: &str, value: Value| {
                        let mut data = place.clone();
                        data[name] = value;
                        data
                    };
                    let part = |text: &Value| json!({"type": "summary_text", "text": text});
                    let thought = &item["summary"][0]["text"];
                    push("response.reasoning_summary_part.added", with("part", part(&json!(""))));
                    push("response.reasoning_summary_text.delta", with("delta", thought.clone()));
                    push("response.reasoning_summary_text.done", with("text", thought.clone()));
                    push("response.reasoning_summary_part.done", with("part", part(thought)));
                }
                _ => {
                    let arguments = item["arguments"].as_str().unwrap_or_default();
                    let (one, other) = arguments.split_at(arguments.len() / 2);
                    for piece in [one, other] {
                        let data = json!({"item_id": id, "output_index": at, "delta": piece});
                        push("response.function_call_arguments.delta", data);
                    }
                    let data = json!({"item_id": id, "output_index": at, "arguments": arguments, "name": item["name"]});
                    push("response.function_call_arguments.done", data);
                }
            }
            push("response.output_item.done", json!({"output_index": at, "item": item}));
        }
        let last = if said.end == End::Length { "response.incomplete" } else { "response.completed" };
        push(last, json!({"response": self.whole(asked, said)}));
        all
    }

    fn error(&self, status: u16, message: &str) -> Value {
        bodies::openai_error("scripted_error", Some(&format!("code_{status}")), message)
    }

    fn late_error(&self) -> Chunk {
        let error = json!({"type": "server_error", "code": "server_error", "message": "the script says so", "param": null});
        bodies::named_event("error", &json!({"type": "error", "sequence_number": 99, "error": error})).into()
    }
}

fn part(text: &str, annotations: &Value) -> Value {
    json!({"type": "output_text", "text": text, "annotations": annotations, "logprobs": []})
}

/// The sources.
fn annotations(said: &Said) -> Value {
    let one = said.cited_chars().map(|(start, end)| {
        json!({"type": "url_citation", "url": PAGE, "title": TITLE, "start_index": start, "end_index": end})
    });
    one.into_iter().collect()
}

fn output(said: &Said) -> Vec<Value> {
    let mut items = Vec::new();
    if let Some(thought) = &said.thought {
        items.push(json!({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": thought}]}));
    }
    if !said.text.is_empty() {
        let part = part(&said.words(), &annotations(said));
        items.push(json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}));
    }
    for (n, call) in said.calls.iter().enumerate() {
        items.push(json!({"id": format!("fc_{n}"), "type": "function_call", "status": "completed", "call_id": call.id,
                          "name": call.name, "arguments": call.arguments.to_string()}));
    }
    items
}

fn response(asked: &Asked, status: &str, details: &Value, output: Vec<Value>, usage: Value) -> Value {
    json!({
        "id": "resp_scripted", "object": "response", "created_at": bodies::CREATED, "status": status, "error": null,
        "incomplete_details": details, "instructions": null, "metadata": {}, "model": asked.model, "output": output,
        "parallel_tool_calls": true, "temperature": 1.0, "text": {"format": {"type": "text"}}, "tool_choice": "auto",
        "tools": [], "top_p": 1.0, "usage": usage,
    })
}

fn usage(said: &Said) -> Value {
    json!({
        "input_tokens": INPUT, "input_tokens_details": {"cached_tokens": CACHED}, "output_tokens": OUTPUT,
        "output_tokens_details": {"reasoning_tokens": said.thoughts()}, "total_tokens": INPUT + OUTPUT,
    })
}

fn read_text(content: &Value, asked: &mut Asked) -> Result<String, String> {
    if let Some(text) = content.as_str() {
        return Ok(text.to_owned());
    }
    let mut said = String::new();
    for part in items(content) {
        match part["type"].as_str() {
            Some("input_text" | "output_text") => said += part["text"].as_str().ok_or("text must be text")?,
            Some("input_image") => {
                must(part["image_url"].is_string(), "an image without an address")?;
                asked.images += 1;
            }
            Some("input_file") => {
                must(part["file_data"].is_string() || part["file_url"].is_string(), "a file without data")?;
                asked.files += 1;
            }
            other => return Err(format!("there is no part {other:?}")),
        }
    }
    Ok(said)
}
