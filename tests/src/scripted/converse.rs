//! Bedrock's `Converse` and `ConverseStream`, with a Claude behind them.

use super::{
    Asked, CACHED, End, INPUT, OUTPUT, PAGE, Said, Speaker, TITLE, converse_blocks::read_messages, items,
    known, must, pieces, sigv4, text,
};
use mainstay_testkit::{Chunk, Recorded, bodies};
use serde_json::{Value, json};

/// Bedrock's runtime, which takes signed requests only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Converse;

const FIELDS: [&str; 6] =
    ["messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields", "outputConfig"];

impl Speaker for Converse {
    fn read(&self, request: &Recorded) -> Result<Asked, String> {
        sigv4::check(request)?;
        let path = request.route().strip_prefix("/model/").and_then(|path| path.rsplit_once('/'));
        let (model, method) = path.ok_or("there is nothing at this path")?;
        let stream = match method {
            "converse" => false,
            "converse-stream" => true,
            _ => return Err("there is no such operation".into()),
        };
        let model = model.replace("%3A", ":");
        must(model.bytes().all(|byte| byte != b'%' && byte != b'/'), "no such model")?;
        let body = request.json().ok_or("no JSON")?;
        known(&body, &FIELDS)?;
        let mut asked = Asked { model, stream, ..Asked::default() };
        for block in items(&body["system"]) {
            one_of(block, &["text", "cachePoint"])?;
            asked.system += block["text"].as_str().unwrap_or_default();
        }
        read_inference(&body["inferenceConfig"], &mut asked)?;
        let thinks = read_additional(&body["additionalModelRequestFields"], asked.max_tokens)?;
        asked.thinks = thinks.is_some();
        read_tools(&body["toolConfig"], thinks.is_some(), &mut asked)?;
        let format = &body["outputConfig"]["textFormat"];
        if !format.is_null() {
            must(format["type"] == "json_schema", "there is no such textFormat")?;
            let schema =
                format["structure"]["jsonSchema"]["schema"].as_str().ok_or("a schema must be text")?;
            asked.schema = Some(serde_json::from_str(schema).map_err(|_| "a schema must be JSON")?);
        }
        let tools = body["toolConfig"].is_object();
        read_messages(&body["messages"], tools, thinks == Some(Thinks::ByBudget), &mut asked)?;
        Ok(asked)
    }

    fn whole(&self, _: &Asked, said: &Said) -> Value {
        let mut content = Vec::new();
        if let Some(thought) = &said.thought {
            content.push(
                json!({"reasoningContent": {"reasoningText": {"text": thought, "signature": "signed"}}}),
            );
        }
        content.extend(said.stretches().into_iter().map(|(words, cited)| {
            if cited {
                json!({"citationsContent": {"content": [{"text": words}], "citations": [citation()]}})
            } else {
                json!({"text": words})
            }
        }));
        let uses = said.calls.iter();
        content.extend(uses.map(
            |call| json!({"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}}),
        ));
        json!({
            "output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason(said),
            "usage": usage(), "metrics": {"latencyMs": 551},
        })
    }

    fn stream(&self, _: &Asked, said: &Said) -> Vec<Chunk> {
        let mut all = vec![message("messageStart", json!({"role": "assistant"}))];
        let mut index = 0;
        let mut block = |start: Option<Value>, deltas: Vec<Value>| {
            if let Some(start) = start {
                all.push(message("contentBlockStart", json!({"contentBlockIndex": index, "start": start})));
            }
            for delta in deltas {
                all.push(message("contentBlockDelta", json!({"contentBlockIndex": index, "delta": delta})));
            }
            all.push(message("contentBlockStop", json!({"contentBlockIndex": index})));
            index += 1;
        };
        if let Some(thought) = &said.thought {
            let pieces = [json!({"text": thought}), json!({"signature": "signed"})];
            block(None, pieces.map(|piece| json!({"reasoningContent": piece})).into());
        }
        for (words, cited) in said.stretches() {
            let words = pieces(&words).into_iter().map(|piece| json!({"text": piece}));
            block(None, words.chain(cited.then(|| json!({"citation": citation()}))).collect());
        }
        for call in &said.calls {
            let input = call.arguments.to_string();
            let (one, other) = input.split_at(input.len() / 2);
            let start = json!({"toolUse": {"toolUseId": call.id, "name": call.name}});
            let pieces = ["", one, other].map(|piece| json!({"toolUse": {"input": piece}}));
            block(Some(start), pieces.into());
        }
        all.push(message("messageStop", json!({"stopReason": reason(said)})));
        all.push(message("metadata", json!({"usage": usage(), "metrics": {"latencyMs": 551}})));
        all
    }

    fn error(&self, _: u16, message: &str) -> Value {
        json!({"message": message})
    }

    fn error_header(&self, status: u16) -> Option<(&'static str, &'static str)> {
        let kind = match status {
            401 => "UnrecognizedClientException",
            403 => "AccessDeniedException",
            404 => "ResourceNotFoundException",
            429 => "ThrottlingException",
            500 => "InternalServerException",
            503 => "ServiceUnavailableException",
            _ => "ValidationException",
        };
        Some(("x-amzn-ErrorType", kind))
    }

    fn late_error(&self) -> Chunk {
        bodies::converse_exception("modelStreamErrorException", "the script says so").into()
    }

    fn stream_type(&self) -> &'static str {
        "application/vnd.amazon.eventstream"
    }
}

/// Exactly one of its fields says what a block is.
pub(super) fn one_of<'a>(block: &'a Value, kinds: &[&'a str]) -> Result<&'a str, String> {
    known(block, kinds)?;
    let mut there = kinds.iter().filter(|kind| !block[**kind].is_null());
    match (there.next(), there.next()) {
        (Some(kind), None) => Ok(kind),
        _ => Err(format!("a block must be one thing: {block}")),
    }
}

fn read_inference(config: &Value, asked: &mut Asked) -> Result<(), String> {
    if config.is_null() {
        return Ok(());
    }
    known(config, &["maxTokens", "temperature", "topP", "stopSequences"])?;
    for name in ["temperature", "topP"] {
        let number = config[name].as_f64();
        must(number.is_none_or(|number| (0.0..=1.0).contains(&number)), "a number is out of bounds")?;
    }
    asked.max_tokens = config["maxTokens"].as_u64();
    must(asked.max_tokens != Some(0), "maxTokens must be at least 1")?;
    asked.stops = items(&config["stopSequences"]).map(text).collect();
    must(asked.stops.iter().all(|stop| !stop.trim().is_empty()), "a stop sequence must be more than blanks")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Thinks {
    ByBudget,
    AsItLikes,
}

/// What goes to the model as it is, by Anthropic's names.
fn read_additional(fields: &Value, limit: Option<u64>) -> Result<Option<Thinks>, String> {
    if fields.is_null() {
        return Ok(None);
    }
    known(fields, &["thinking", "top_k", "output_config"])?;
    match fields["thinking"]["type"].as_str() {
        None => Ok(None),
        Some("adaptive") => Ok(Some(Thinks::AsItLikes)),
        Some("enabled") => {
            let budget = fields["thinking"]["budget_tokens"].as_u64().ok_or("no budget")?;
            let limit = limit.unwrap_or(4096);
            must((1024..limit).contains(&budget), "a budget that is too small or too large")?;
            Ok(Some(Thinks::ByBudget))
        }
        Some(other) => Err(format!("there is no thinking of type {other}")),
    }
}

fn read_tools(config: &Value, thinks: bool, asked: &mut Asked) -> Result<(), String> {
    if config.is_null() {
        return Ok(());
    }
    known(config, &["tools", "toolChoice"])?;
    must(items(&config["tools"]).next().is_some(), "a toolConfig without tools")?;
    for tool in items(&config["tools"]) {
        if one_of(tool, &["toolSpec", "cachePoint"])? == "cachePoint" {
            continue;
        }
        let spec = &tool["toolSpec"];
        known(spec, &["name", "description", "inputSchema"])?;
        must(spec["description"] != "", "a description must be more than nothing")?;
        must(spec["inputSchema"]["json"]["type"] == "object", "a tool without the schema of an object")?;
        asked.tools.push(name(&spec["name"])?);
    }
    let choice = &config["toolChoice"];
    if choice.is_null() {
        return Ok(());
    }
    let kind = one_of(choice, &["auto", "any", "tool"])?;
    must(!thinks || kind == "auto", "no tool may be forced where there is thinking")?;
    asked.choice = Some(choice["tool"]["name"].as_str().unwrap_or(kind).to_owned());
    Ok(())
}

/// A name of a tool, or an id.
pub(super) fn name(value: &Value) -> Result<String, String> {
    let name = value.as_str().ok_or("a name must be text")?;
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    must((1..=64).contains(&name.len()) && name.bytes().all(word), "a name of other characters")?;
    Ok(name.to_owned())
}

/// A message of the stream: its headers, its payload and the two checksums.
fn message(kind: &str, mut data: Value) -> Chunk {
    let headers = [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
    // Each is padded, so that its length says nothing of the words.
    data["p"] = json!("abcdefghijklmnopqrstuvwxyzABCDEFGH");
    bodies::aws_message(&headers, data.to_string().as_bytes()).into()
}

fn citation() -> Value {
    json!({"title": TITLE, "sourceContent": [{"text": "Hello to all."}],
           "location": {"web": {"url": PAGE, "domain": "example.com"}}})
}

fn reason(said: &Said) -> &'static str {
    match said.end {
        End::Stop => "end_turn",
        End::Calls => "tool_use",
        End::Length => "max_tokens",
    }
}

/// Here what comes from a cache is no part of the input.
fn usage() -> Value {
    json!({"inputTokens": INPUT - CACHED, "outputTokens": OUTPUT, "totalTokens": INPUT + OUTPUT,
           "cacheReadInputTokens": CACHED, "cacheWriteInputTokens": 0})
}
