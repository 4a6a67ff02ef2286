//! Chat completions, and what those who imitate them do differently.

use super::{
    Asked, CACHED, End, INPUT, OUTPUT, PAGE, Said, Speaker, TITLE, embeddings, items, known, must, text,
};
use mainstay_testkit::{Chunk, Recorded, Step, bodies};
use serde_json::{Value, json};

/// How a provider of OpenAI's family speaks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chat {
    /// Where thoughts stand in a message.
    pub thoughts: Thoughts,
    /// `max_completion_tokens` is known.
    pub new_limit: bool,
    /// Unknown fields are refused, and ids are nine letters or digits (Mistral).
    pub strict: bool,
    /// Streams tell tokens in `x_groq`, and ask for no `stream_options`.
    pub groq: bool,
    /// The first chunk of a stream is the filter's and has no choices (Azure).
    pub filter: bool,
    /// Comments stand between the events.
    pub comments: bool,
    /// Calls of tools come whole, in one delta, and the reason for the end is `stop`.
    pub whole_calls: bool,
    /// Errors are a list of one (Gemini's compatible endpoint) or flat (Mistral, Cohere).
    pub errors: Errors,
    /// A stream ends without `[DONE]`.
    pub no_done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thoughts {
    /// `reasoning_content`
    Content,
    /// `reasoning`
    Reasoning,
    /// A part of a list of contents.
    Part,
    Hidden,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errors {
    OpenAi,
    Flat,
    Number,
}

/// Nothing out of the ordinary.
pub(super) const PLAIN: Chat = Chat {
    thoughts: Thoughts::Content,
    new_limit: false,
    strict: false,
    groq: false,
    filter: false,
    comments: false,
    whole_calls: false,
    errors: Errors::OpenAi,
    no_done: false,
};

const FIELDS: [&str; 29] = [
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "n",
    "stop",
    "response_format",
    "reasoning_effort",
    "user",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "metadata",
    "store",
    "safety_identifier",
    "prompt_cache_key",
    "service_tier",
    "verbosity",
    "modalities",
];

impl Speaker for Chat {
    fn aside(&self, request: &Recorded) -> Option<Step> {
        embeddings(request)
    }

    fn read(&self, request: &Recorded) -> Result<Asked, String> {
        must(request.route().ends_with("/chat/completions"), "there is nothing at this path")?;
        let body = request.json().ok_or("no JSON")?;
        known(&body, &FIELDS)?;
        must(
            self.new_limit || body["max_completion_tokens"].is_null(),
            "max_completion_tokens is not known",
        )?;
        must(!self.strict || body["stream_options"].is_null(), "stream_options is not known")?;
        let mut asked = Asked {
            model: text(&body["model"]),
            stream: body["stream"] == true,
            schema: body["response_format"]["json_schema"].get("schema").cloned(),
            thinks: body["reasoning_effort"].is_string(),
            stops: items(&body["stop"]).map(text).collect(),
            max_tokens: body["max_completion_tokens"].as_u64().or(body["max_tokens"].as_u64()),
            tools: items(&body["tools"]).map(|tool| text(&tool["function"]["name"])).collect(),
            choice: body["tool_choice"]
                .as_str()
                .or(body["tool_choice"]["function"]["name"].as_str())
                .map(Into::into),
            ..Asked::default()
        };
        if let Some(stop) = body["stop"].as_str() {
            asked.stops = vec![stop.to_owned()];
        }
        let mut open: Vec<String> = Vec::new();
        for message in items(&body["messages"]) {
            let role = message["role"].as_str().unwrap_or_default();
            must(role == "tool" || open.is_empty(), "a tool call is left without its result")?;
            match role {
                "system" | "developer" => {
                    asked.system += &read_text(&message["content"], &mut Asked::default())?
                }
                "user" => {
                    asked.turns += 1;
                    asked.results.clear();
                    asked.prompt = read_text(&message["content"], &mut asked)?;
                }
                "assistant" => {
                    asked.turns += 1;
                    must(
                        message["content"].is_string()
                            || message["tool_calls"].is_array()
                            || message["refusal"].is_string(),
                        "an assistant says nothing",
                    )?;
                    for call in items(&message["tool_calls"]) {
                        let id = text(&call["id"]);
                        let nine = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
                        must(nine || !self.strict, "an id is not nine letters and digits")?;
                        let arguments: Value = serde_json::from_str(
                            call["function"]["arguments"].as_str().ok_or("arguments must be text")?,
                        )
                        .map_err(|_| "arguments must be JSON")?;
                        must(arguments.is_object(), "arguments must be an object")?;
                        open.push(id);
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
        must(open.is_empty(), "a tool call is left without its result")?;
        Ok(asked)
    }

    fn whole(&self, asked: &Asked, said: &Said) -> Value {
        let mut message = json!({"role": "assistant", "content": said.words()});
        if !said.calls.is_empty() {
            message["content"] = Value::Null;
            message["tool_calls"] = (0..said.calls.len()).map(|at| self.call(said, at)).collect();
        }
        if let Some(annotations) = annotations(said) {
            message["annotations"] = annotations;
        }
        self.think(&mut message, said);
        json!({
            "id": "chatcmpl-scripted", "object": "chat.completion", "created": bodies::CREATED, "model": asked.model,
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": self.reason(said)}],
            "usage": usage(said),
        })
    }

    fn stream(&self, asked: &Asked, said: &Said) -> Vec<Chunk> {
        let chunk = |delta: Value, finish: Option<&str>| {
            json!({
                "id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": bodies::CREATED, "model": asked.model,
                "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
            })
        };
        let mut all = Vec::new();
        if self.filter {
            all.push(json!({"id": "", "object": "", "created": 0, "model": "", "choices": [],
                            "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}));
        }
        all.push(chunk(json!({"role": "assistant", "content": ""}), None));
        if said.thought.is_some() {
            let mut delta = json!({});
            self.think(&mut delta, said);
            all.push(chunk(delta, None));
        }
        all.extend(said.text.iter().map(|piece| chunk(json!({"content": piece}), None)));
        all.extend(annotations(said).map(|all| chunk(json!({"annotations": all}), None)));
        if self.whole_calls {
            for at in 0..said.calls.len() {
                let mut call = self.call(said, at);
                call["index"] = at.into();
                all.push(chunk(json!({"tool_calls": [call]}), None));
            }
        } else {
            // All begin before any goes on: they grow side by side.
            for (index, call) in said.calls.iter().enumerate() {
                let function = json!({"name": call.name, "arguments": ""});
                let call = json!({"index": index, "id": call.id, "type": "function", "function": function});
                all.push(chunk(json!({"tool_calls": [call]}), None));
            }
            let halves = |call: &super::Call| {
                let text = call.arguments.to_string();
                let (one, other) = text.split_at(text.len() / 2);
                [one.to_owned(), other.to_owned()]
            };
            for half in 0..2 {
                for (index, call) in said.calls.iter().enumerate() {
                    let piece = json!({"index": index, "function": {"arguments": halves(call)[half]}});
                    all.push(chunk(json!({"tool_calls": [piece]}), None));
                }
            }
        }
        let mut last = chunk(json!({}), Some(self.reason(said)));
        if self.groq {
            last["x_groq"] = json!({"id": "req_1", "usage": usage(said)});
        }
        all.push(last);
        if !self.groq {
            let mut tokens = chunk(json!({}), None);
            tokens["choices"] = json!([]);
            tokens["usage"] = usage(said);
            all.push(tokens);
        }
        let mut events: Vec<Chunk> = all.into_iter().map(|data| bodies::event(data).into()).collect();
        if self.comments {
            events.insert(0, ": PROCESSING\n\n".to_owned().into());
            events.insert(2, ": PROCESSING\n\n".to_owned().into());
        }
        if !self.no_done {
            events.push(bodies::event("[DONE]").into());
        }
        events
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let code = format!("code_{status}");
        match self.errors {
            Errors::OpenAi => bodies::openai_error("scripted_error", Some(&code), message),
            Errors::Flat => {
                json!({"object": "error", "message": message, "type": "scripted_error", "param": null, "code": code})
            }
            Errors::Number => json!({"error": {"message": message, "code": status}}),
        }
    }

    fn late_error(&self) -> Chunk {
        bodies::event(bodies::openai_error("server_error", Some("server_error"), "the script says so")).into()
    }
}

impl Chat {
    fn reason(&self, said: &Said) -> &'static str {
        match said.end {
            End::Stop => "stop",
            End::Calls if self.whole_calls => "stop",
            End::Calls => "tool_calls",
            End::Length => "length",
        }
    }

    fn call(&self, said: &Said, at: usize) -> Value {
        let call = &said.calls[at];
        json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments.to_string()}})
    }

    fn think(&self, message: &mut Value, said: &Said) {
        let Some(thought) = &said.thought else { return };
        match self.thoughts {
            Thoughts::Content => message["reasoning_content"] = json!(thought),
            Thoughts::Reasoning => message["reasoning"] = json!(thought),
            Thoughts::Part => {
                let mut parts =
                    vec![json!({"type": "thinking", "thinking": [{"type": "text", "text": thought}]})];
                if let Some(text) = message["content"].as_str().filter(|text| !text.is_empty()) {
                    parts.push(json!({"type": "text", "text": text}));
                }
                message["content"] = parts.into();
            }
            Thoughts::Hidden => {}
        }
    }
}

/// The sources.
fn annotations(said: &Said) -> Option<Value> {
    let (start, end) = said.cited_chars()?;
    let citation = json!({"url": PAGE, "title": TITLE, "start_index": start, "end_index": end});
    Some(json!([{"type": "url_citation", "url_citation": citation}]))
}

fn usage(said: &Said) -> Value {
    json!({
        "prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT,
        "prompt_tokens_details": {"cached_tokens": CACHED},
        "completion_tokens_details": {"reasoning_tokens": said.thoughts()},
    })
}

/// The text of a content; what is shown in it is counted.
fn read_text(content: &Value, asked: &mut Asked) -> Result<String, String> {
    if let Some(text) = content.as_str() {
        return Ok(text.to_owned());
    }
    let mut said = String::new();
    for part in items(content) {
        match part["type"].as_str() {
            Some("text") => said += part["text"].as_str().ok_or("text must be text")?,
            Some("image_url") => {
                let url = part["image_url"]["url"].as_str().ok_or("an image without an address")?;
                must(
                    url.starts_with("data:image/") || url.starts_with("https://"),
                    "an image of another kind",
                )?;
                asked.images += 1;
            }
            Some("input_audio") => must(part["input_audio"]["data"].is_string(), "a sound without data")?,
            Some("file") => {
                must(
                    part["file"]["filename"].is_string() && part["file"]["file_data"].is_string(),
                    "a file without a name",
                )?;
                asked.files += 1;
            }
            other => return Err(format!("there is no part {other:?}")),
        }
    }
    Ok(said)
}
