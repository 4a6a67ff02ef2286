//! Anthropic's Messages.

use super::{
    Asked, CACHED, End, INPUT, OUTPUT, PAGE, Said, Speaker, TITLE, items, known, must, pieces, text,
};
use mainstay_testkit::{Chunk, Recorded, Step, bodies};
use serde_json::{Value, json};

/// Anthropic itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Messages;

const FIELDS: [&str; 15] = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "stream",
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "thinking",
    "output_config",
    "metadata",
    "service_tier",
];

impl Speaker for Messages {
    fn aside(&self, request: &Recorded) -> Option<Step> {
        if request.route() == "/v1/messages/count_tokens" {
            return Some(Step::json(200, json!({"input_tokens": INPUT})));
        }
        // Not all that speak it hold conversations; those that do not say so, and the SDK goes on without.
        let thread = request.json().is_some_and(|body| !body["thread"].is_null());
        thread.then(|| {
            let mut error = self.error(400, "no threads here");
            error["error"]["details"] =
                json!({"error_code": "thread_unsupported_request", "unsupported": ["thread"]});
            Step::json(400, error)
        })
    }

    fn read(&self, request: &Recorded) -> Result<Asked, String> {
        must(request.route() == "/v1/messages", "there is nothing at this path")?;
        must(request.header("anthropic-version").is_some(), "anthropic-version is missing")?;
        must(request.header("x-api-key").is_some(), "x-api-key is missing")?;
        let body = request.json().ok_or("no JSON")?;
        known(&body, &FIELDS)?;
        let limit = body["max_tokens"].as_u64().ok_or("max_tokens is missing")?;
        let thinking = &body["thinking"];
        let by_budget = thinking["type"] == "enabled";
        if by_budget {
            let budget = thinking["budget_tokens"].as_u64().ok_or("no budget")?;
            must((1024..limit).contains(&budget), "a budget that is too small or too large")?;
            let forced = ["any", "tool"].iter().any(|kind| body["tool_choice"]["type"] == *kind);
            must(!forced, "no tool may be forced where there is thinking")?;
        }
        let mut asked = Asked {
            model: text(&body["model"]),
            stream: body["stream"] == true,
            schema: body["output_config"]["format"].get("schema").cloned(),
            thinks: by_budget || thinking["type"] == "adaptive",
            stops: items(&body["stop_sequences"]).map(text).collect(),
            max_tokens: Some(limit),
            tools: items(&body["tools"]).map(|tool| text(&tool["name"])).collect(),
            choice: body["tool_choice"]["name"]
                .as_str()
                .or(body["tool_choice"]["type"].as_str())
                .map(Into::into),
            system: read_text(&body["system"], &mut Asked::default())?,
            ..Asked::default()
        };
        for tool in items(&body["tools"]) {
            let own = tool["type"].as_str().is_none_or(|kind| kind == "custom");
            must(!own || tool["input_schema"]["type"] == "object", "a tool without the schema of an object")?;
        }
        let mut open: Vec<String> = Vec::new();
        for message in items(&body["messages"]) {
            let content = &message["content"];
            let of = |kind: &'static str| items(content).filter(move |block| block["type"] == kind);
            match message["role"].as_str() {
                Some("user") => {
                    let results: Vec<_> = of("tool_result").collect();
                    for result in &results {
                        let id = text(&result["tool_use_id"]);
                        let at = open.iter().position(|open| *open == id).ok_or("a result of no call")?;
                        open.remove(at);
                    }
                    must(open.is_empty(), "`tool_use` ids were found without `tool_result`")?;
                    let said = read_text(content, &mut asked)?;
                    if results.is_empty() || !said.is_empty() {
                        asked.turns += 1;
                        asked.prompt = said;
                        asked.results.clear();
                    }
                    for result in results {
                        asked.results.push(read_text(&result["content"], &mut Asked::default())?);
                    }
                }
                Some("assistant") => {
                    must(open.is_empty(), "`tool_use` ids were found without `tool_result`")?;
                    asked.turns += 1;
                    let thought = content[0]["type"] == "thinking";
                    for call in of("tool_use") {
                        must(call["input"].is_object(), "input must be an object")?;
                        must(thought || !by_budget, "Expected `thinking`, but found `tool_use`")?;
                        open.push(text(&call["id"]));
                    }
                    for thought in of("thinking") {
                        must(thought["signature"] == "signed", "Invalid `signature` in `thinking` block")?;
                    }
                }
                role => return Err(format!("there is no role {role:?}")),
            }
        }
        must(open.is_empty(), "`tool_use` ids were found without `tool_result`")?;
        Ok(asked)
    }

    fn whole(&self, asked: &Asked, said: &Said) -> Value {
        let mut message = message(asked, blocks(said));
        message["stop_reason"] = reason(said).into();
        message["usage"] = usage(OUTPUT);
        message
    }

    fn stream(&self, asked: &Asked, said: &Said) -> Vec<Chunk> {
        let mut all: Vec<Chunk> = Vec::new();
        let mut push = |kind: &str, mut data: Value| {
            data["type"] = kind.into();
            all.push(bodies::named_event(kind, &data).into());
        };
        push("message_start", json!({"message": message(asked, Vec::new())}));
        push("ping", json!({}));
        for (index, block) in blocks(said).into_iter().enumerate() {
            let mut empty = block.clone();
            let deltas: Vec<Value> = match block["type"].as_str() {
                Some("thinking") => {
                    (empty["thinking"], empty["signature"]) = (json!(""), json!(""));
                    vec![
                        json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                        json!({"type": "signature_delta", "signature": block["signature"]}),
                    ]
                }
                Some("text") => {
                    empty["text"] = json!("");
                    let citations = items(&block["citations"]);
                    let citations = citations.map(|one| json!({"type": "citations_delta", "citation": one}));
                    if block["citations"].is_array() {
                        empty["citations"] = json!([]);
                    }
                    let words = pieces(&text(&block["text"])).into_iter();
                    // The source comes before the words.
                    citations.chain(words.map(|piece| json!({"type": "text_delta", "text": piece}))).collect()
                }
                _ => {
                    empty["input"] = json!({});
                    let input = block["input"].to_string();
                    let (one, other) = input.split_at(input.len() / 2);
                    ["", one, other]
                        .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                        .into()
                }
            };
            push("content_block_start", json!({"index": index, "content_block": empty}));
            for delta in deltas {
                push("content_block_delta", json!({"index": index, "delta": delta}));
            }
            push("content_block_stop", json!({"index": index}));
        }
        let delta = json!({"stop_reason": reason(said), "stop_sequence": null});
        push("message_delta", json!({"delta": delta, "usage": {"output_tokens": OUTPUT}}));
        push("message_stop", json!({}));
        all
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        bodies::anthropic_error(kind, message)
    }

    fn late_error(&self) -> Chunk {
        bodies::named_event("error", &bodies::anthropic_error("overloaded_error", "the script says so"))
            .into()
    }
}

fn message(asked: &Asked, content: Vec<Value>) -> Value {
    json!({"id": "msg_scripted", "type": "message", "role": "assistant", "model": asked.model, "content": content,
           "stop_reason": null, "stop_sequence": null, "usage": usage(1)})
}

fn blocks(said: &Said) -> Vec<Value> {
    let mut blocks = Vec::new();
    if let Some(thought) = &said.thought {
        blocks.push(json!({"type": "thinking", "thinking": thought, "signature": "signed"}));
    }
    for (words, cited) in said.stretches() {
        let mut block = json!({"type": "text", "text": words});
        if cited {
            block["citations"] = json!([{"type": "web_search_result_location", "url": PAGE, "title": TITLE,
                "cited_text": "Hello to all.", "encrypted_index": "encrypted"}]);
        }
        blocks.push(block);
    }
    let uses = said.calls.iter();
    blocks.extend(
        uses.map(
            |call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}),
        ),
    );
    blocks
}

fn reason(said: &Said) -> &'static str {
    match said.end {
        End::Stop => "end_turn",
        End::Calls => "tool_use",
        End::Length => "max_tokens",
    }
}

/// Here what comes from a cache is no part of the input.
fn usage(output: u64) -> Value {
    json!({"input_tokens": INPUT - CACHED, "cache_creation_input_tokens": 0, "cache_read_input_tokens": CACHED,
           "output_tokens": output})
}

fn read_text(content: &Value, asked: &mut Asked) -> Result<String, String> {
    if let Some(text) = content.as_str() {
        return Ok(text.to_owned());
    }
    let mut said = String::new();
    for block in items(content) {
        match block["type"].as_str() {
            Some("text") => {
                let text = block["text"].as_str().ok_or("text must be text")?;
                must(!text.trim().is_empty(), "text content blocks must be non-empty")?;
                said += text;
            }
            Some("image") => {
                must(
                    ["base64", "url"].iter().any(|kind| block["source"]["type"] == *kind),
                    "an image of no source",
                )?;
                asked.images += 1;
            }
            Some("document") => asked.files += 1,
            Some("tool_result") => {}
            other => return Err(format!("there is no block {other:?}")),
        }
    }
    Ok(said)
}
