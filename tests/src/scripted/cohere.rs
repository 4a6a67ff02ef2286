//! Cohere's own `/v2/chat`.

use super::{Asked, CACHED, End, INPUT, OUTPUT, Said, Speaker, bearer, items, known, must, text};
use mainstay_testkit::{Chunk, Recorded, bodies};
use serde_json::{Value, json};

/// Cohere itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cohere;

const FIELDS: [&str; 16] = [
    "model",
    "messages",
    "stream",
    "tools",
    "strict_tools",
    "tool_choice",
    "response_format",
    "max_tokens",
    "stop_sequences",
    "temperature",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "k",
    "p",
    "thinking",
];

impl Speaker for Cohere {
    fn read(&self, request: &Recorded) -> Result<Asked, String> {
        must(request.route() == "/v2/chat", "there is nothing at this path")?;
        bearer(request)?;
        let body = request.json().ok_or("no JSON")?;
        known(&body, &FIELDS)?;
        check_numbers(&body)?;
        let format = &body["response_format"];
        must(format.is_null() || format["type"] == "json_object", "there is no such response_format")?;
        let tools = body["tools"].is_array();
        must(format.is_null() || !tools, "response_format is not supported with tools")?;
        must(tools || body["tool_choice"].is_null(), "tool_choice without tools")?;
        let thinking = &body["thinking"];
        let mut asked = Asked {
            model: text(&body["model"]),
            stream: body["stream"] == true,
            schema: format.get("json_schema").cloned(),
            thinks: thinking["type"] == "enabled",
            stops: items(&body["stop_sequences"]).map(text).collect(),
            max_tokens: body["max_tokens"].as_u64(),
            ..Asked::default()
        };
        if !thinking.is_null() {
            known(thinking, &["type", "token_budget"])?;
        }
        match body["tool_choice"].as_str() {
            None | Some("NONE") => {}
            Some("REQUIRED") => asked.choice = Some("any".to_owned()),
            Some(other) => return Err(format!("there is no tool_choice {other}")),
        }
        for tool in items(&body["tools"]) {
            must(tool["type"] == "function", "there are functions only")?;
            must(tool["function"]["parameters"].is_object(), "a tool without parameters")?;
            asked.tools.push(text(&tool["function"]["name"]));
        }
        read_messages(&body["messages"], &mut asked)?;
        Ok(asked)
    }

    fn whole(&self, _: &Asked, said: &Said) -> Value {
        let mut message = json!({"role": "assistant"});
        let thought = said.thought.iter().map(|thought| json!({"type": "thinking", "thinking": thought}));
        let words = (!said.text.is_empty()).then(|| json!({"type": "text", "text": said.words()}));
        let content: Vec<Value> = thought.chain(words).collect();
        if !content.is_empty() {
            message["content"] = content.into();
        }
        if !said.calls.is_empty() {
            message["tool_plan"] = json!("");
            message["tool_calls"] = said.calls.iter().map(|called| call(called, true)).collect();
        }
        json!({"id": ID, "finish_reason": reason(said), "message": message, "usage": usage()})
    }

    fn stream(&self, _: &Asked, said: &Said) -> Vec<Chunk> {
        let mut all: Vec<Chunk> = Vec::new();
        let mut push = |kind: &str, index: Option<usize>, delta: Value| {
            let mut data = json!({"type": kind});
            if let Some(index) = index {
                data["index"] = index.into();
            }
            if kind == "message-start" {
                data["id"] = json!(ID);
            }
            if !delta.is_null() {
                data["delta"] = delta;
            }
            all.push(bodies::named_event(kind, &data).into());
        };
        let part = |content: Value| json!({"message": {"content": content}});
        push(
            "message-start",
            None,
            json!({"message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}}),
        );
        let mut index = 0;
        let mut grow = |kind: &str, pieces: Vec<&str>| {
            let mut empty = json!({"type": kind});
            empty[kind] = json!("");
            push("content-start", Some(index), part(empty));
            for piece in pieces {
                let mut content = json!({});
                content[kind] = json!(piece);
                push("content-delta", Some(index), part(content));
            }
            push("content-end", Some(index), Value::Null);
            index += 1;
        };
        if let Some(thought) = &said.thought {
            grow("thinking", vec![thought]);
        }
        if !said.text.is_empty() {
            grow("text", said.text.iter().map(String::as_str).collect());
        }
        for (index, called) in said.calls.iter().enumerate() {
            let calls = |call: Value| json!({"message": {"tool_calls": call}});
            push("tool-call-start", Some(index), calls(call(called, false)));
            let arguments = called.arguments.to_string();
            let (one, other) = arguments.split_at(arguments.len() / 2);
            for piece in [one, other] {
                push("tool-call-delta", Some(index), calls(json!({"function": {"arguments": piece}})));
            }
            push("tool-call-end", Some(index), Value::Null);
        }
        push("message-end", None, json!({"finish_reason": reason(said), "usage": usage()}));
        all
    }

    fn error(&self, _: u16, message: &str) -> Value {
        bodies::cohere_error(message)
    }

    fn late_error(&self) -> Chunk {
        let delta = json!({"finish_reason": "ERROR", "error": "the script says so"});
        bodies::named_event("message-end", &json!({"type": "message-end", "delta": delta})).into()
    }
}

const ID: &str = "c14c80c3-18eb-4519-9460-6c92edd8cfb4";

fn check_numbers(body: &Value) -> Result<(), String> {
    let scales = [
        ("p", 0.01, 0.99),
        ("k", 0.0, 500.0),
        ("temperature", 0.0, f64::INFINITY),
        ("frequency_penalty", 0.0, 1.0),
        ("presence_penalty", 0.0, 1.0),
    ];
    for (name, least, most) in scales {
        let number = body[name].as_f64();
        must(
            number.is_none_or(|number| (least..=most).contains(&number)),
            &format!("{name} is out of bounds"),
        )?;
    }
    must(items(&body["stop_sequences"]).count() <= 5, "too many stop_sequences")
}

fn read_messages(messages: &Value, asked: &mut Asked) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    for message in items(messages) {
        let role = message["role"].as_str().unwrap_or_default();
        must(role == "tool" || open.is_empty(), "a tool call is left without its result")?;
        match role {
            "system" => asked.system += &read_text(&message["content"], &mut Asked::default())?,
            "user" => {
                asked.turns += 1;
                asked.results.clear();
                asked.prompt = read_text(&message["content"], asked)?;
            }
            "assistant" => {
                known(message, &["role", "content", "tool_plan", "tool_calls"])?;
                asked.turns += 1;
                let acts = message["tool_calls"].is_array();
                must(acts || !message["content"].is_null(), "an assistant says nothing")?;
                must(acts || message["tool_plan"].is_null(), "a tool_plan without tool_calls")?;
                for call in items(&message["tool_calls"]) {
                    let arguments = call["function"]["arguments"].as_str().ok_or("arguments must be text")?;
                    let arguments: Value =
                        serde_json::from_str(arguments).map_err(|_| "arguments must be JSON")?;
                    must(arguments.is_object(), "arguments must be an object")?;
                    open.push(text(&call["id"]));
                }
            }
            "tool" => {
                let id = text(&message["tool_call_id"]);
                let at = open.iter().position(|open| *open == id).ok_or("a result of no call")?;
                open.remove(at);
                asked.results.push(read_text(&message["content"], &mut Asked::default())?);
            }
            role => return Err(format!("there is no role {role}")),
        }
    }
    must(open.is_empty(), "a tool call is left without its result")
}

fn read_text(content: &Value, asked: &mut Asked) -> Result<String, String> {
    if let Some(text) = content.as_str() {
        return Ok(text.to_owned());
    }
    let mut said = String::new();
    must(items(content).next().is_some(), "a content without parts")?;
    for part in items(content) {
        match part["type"].as_str() {
            Some("text") => said += part["text"].as_str().ok_or("text must be text")?,
            Some("image_url") => {
                must(part["image_url"]["url"].is_string(), "an image without an address")?;
                asked.images += 1;
            }
            other => return Err(format!("there is no part {other:?}")),
        }
    }
    Ok(said)
}

fn call(call: &super::Call, whole: bool) -> Value {
    let arguments = if whole { call.arguments.to_string() } else { String::new() };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

fn reason(said: &Said) -> &'static str {
    match said.end {
        End::Stop => "COMPLETE",
        End::Calls => "TOOL_CALL",
        End::Length => "MAX_TOKENS",
    }
}

/// What is billed is less than what was read: templates cost nothing.
fn usage() -> Value {
    json!({"billed_units": {"input_tokens": 1, "output_tokens": OUTPUT}, "cached_tokens": CACHED,
           "tokens": {"input_tokens": INPUT, "output_tokens": OUTPUT}})
}
