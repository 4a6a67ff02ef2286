//! Ollama's own `/api/chat`.

use super::{Asked, End, INPUT, OUTPUT, Said, Speaker, bearer, items, known, must, text};
use mainstay_testkit::{Chunk, Recorded, bodies};
use serde_json::{Value, json};

/// An Ollama server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ollama;

/// The real one overlooks a field that it does not know: what is written there is lost, and so refused here.
const FIELDS: [&str; 8] =
    ["model", "messages", "stream", "format", "keep_alive", "tools", "options", "think"];

const OPTIONS: [&str; 8] =
    ["num_predict", "temperature", "top_p", "top_k", "seed", "stop", "frequency_penalty", "presence_penalty"];

const MESSAGE: [&str; 7] =
    ["role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"];

impl Speaker for Ollama {
    fn read(&self, request: &Recorded) -> Result<Asked, String> {
        must(request.route() == "/api/chat", "there is nothing at this path")?;
        bearer(request)?;
        let body = request.json().ok_or("no JSON")?;
        known(&body, &FIELDS)?;
        let options = &body["options"];
        if !options.is_null() {
            known(options, &OPTIONS)?;
        }
        let format = &body["format"];
        must(format.is_null() || *format == "json" || format.is_object(), "invalid format")?;
        let think = &body["think"];
        let level = ["low", "medium", "high", "max"].iter().any(|level| think == level);
        must(think.is_null() || think.is_boolean() || level, "invalid think value")?;
        let mut asked = Asked {
            model: text(&body["model"]),
            // It streams unless it is told not to.
            stream: body["stream"] != false,
            schema: format.is_object().then(|| format.clone()),
            thinks: level || *think == true,
            stops: items(&options["stop"]).map(text).collect(),
            max_tokens: options["num_predict"].as_u64(),
            ..Asked::default()
        };
        for tool in items(&body["tools"]) {
            must(tool["type"] == "function", "there are functions only")?;
            let function = &tool["function"];
            must(function["parameters"]["type"].is_string(), "a tool without the type of its parameters")?;
            asked.tools.push(text(&function["name"]));
        }
        read_messages(&body["messages"], &mut asked)?;
        Ok(asked)
    }

    fn whole(&self, asked: &Asked, said: &Said) -> Value {
        let mut message = json!({"role": "assistant", "content": said.words()});
        if let Some(thought) = &said.thought {
            message["thinking"] = json!(thought);
        }
        if !said.calls.is_empty() {
            message["tool_calls"] = calls(said);
        }
        last(asked, said, message)
    }

    fn stream(&self, asked: &Asked, said: &Said) -> Vec<Chunk> {
        let part = |field: &str, value: Value| {
            let mut message = json!({"role": "assistant", "content": ""});
            message[field] = value;
            json!({"model": asked.model, "created_at": WHEN, "message": message, "done": false})
        };
        let thought = said.thought.iter().map(|thought| part("thinking", json!(thought)));
        let words = said.text.iter().map(|piece| part("content", json!(piece)));
        let mut lines: Vec<Value> = thought.chain(words).collect();
        if !said.calls.is_empty() {
            lines.push(part("tool_calls", calls(said)));
        }
        lines.push(last(asked, said, json!({"role": "assistant", "content": ""})));
        lines.into_iter().map(line).collect()
    }

    fn error(&self, _: u16, message: &str) -> Value {
        bodies::ollama_error(message)
    }

    fn late_error(&self) -> Chunk {
        line(bodies::ollama_error("the script says so"))
    }

    fn stream_type(&self) -> &'static str {
        "application/x-ndjson"
    }
}

const WHEN: &str = "2026-01-01T00:00:00.123456789Z";

fn read_messages(messages: &Value, asked: &mut Asked) -> Result<(), String> {
    let mut open: Vec<(String, String)> = Vec::new();
    for message in items(messages) {
        known(message, &MESSAGE)?;
        let content = message["content"].as_str().ok_or("a content must be text")?;
        let role = message["role"].as_str().unwrap_or_default();
        must(role == "tool" || open.is_empty(), "a tool call is left without its result")?;
        match role {
            "system" => asked.system += content,
            "user" => {
                asked.turns += 1;
                asked.results.clear();
                asked.prompt = content.to_owned();
                for image in items(&message["images"]) {
                    let data = image.as_str().ok_or("an image must be text")?;
                    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
                    must(!data.is_empty() && data.bytes().all(plain), "illegal base64 data")?;
                    asked.images += 1;
                }
            }
            "assistant" => {
                asked.turns += 1;
                for call in items(&message["tool_calls"]) {
                    let function = &call["function"];
                    must(function["arguments"].is_object(), "arguments must be an object")?;
                    open.push((text(&call["id"]), text(&function["name"])));
                }
            }
            "tool" => {
                let result = (text(&message["tool_call_id"]), text(&message["tool_name"]));
                let at = open.iter().position(|open| *open == result).ok_or("a result of no call")?;
                open.remove(at);
                asked.results.push(content.to_owned());
            }
            role => return Err(format!("there is no role {role}")),
        }
    }
    must(open.is_empty(), "a tool call is left without its result")
}

fn calls(said: &Said) -> Value {
    let call = |(index, call): (usize, &super::Call)| json!({"id": call.id, "function": {"index": index, "name": call.name, "arguments": call.arguments}});
    said.calls.iter().enumerate().map(call).collect()
}

/// The line that ends an answer. Calls of tools end it with `stop` too; what came from a cache is not told.
fn last(asked: &Asked, said: &Said, message: Value) -> Value {
    json!({
        "model": asked.model, "created_at": WHEN, "message": message, "done": true,
        "done_reason": if said.end == End::Length { "length" } else { "stop" },
        "total_duration": 4883583458u64, "load_duration": 1334875, "prompt_eval_count": INPUT,
        "prompt_eval_duration": 342546000, "eval_count": OUTPUT, "eval_duration": 4535599000u64,
    })
}

fn line(data: Value) -> Chunk {
    format!("{data}\n").into()
}
