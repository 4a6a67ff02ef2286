//! Gemini's `generateContent`.

use super::{Asked, CACHED, End, INPUT, OUTPUT, PAGE, Said, Speaker, TITLE, items, known, must, text};
use mainstay_testkit::{Chunk, Recorded, Step, bodies};
use serde_json::{Value, json};

/// Google itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gemini;

const FIELDS: [&str; 6] =
    ["contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"];

const CONFIG: [&str; 12] = [
    "maxOutputTokens",
    "temperature",
    "topP",
    "topK",
    "seed",
    "frequencyPenalty",
    "presencePenalty",
    "stopSequences",
    "responseMimeType",
    "responseJsonSchema",
    "responseSchema",
    "thinkingConfig",
];

impl Speaker for Gemini {
    fn aside(&self, request: &Recorded) -> Option<Step> {
        match request.route().rsplit_once(':')?.1 {
            "countTokens" => Some(Step::json(200, json!({"totalTokens": INPUT}))),
            "batchEmbedContents" => {
                let inputs = request.json().map_or(0, |body| items(&body["requests"]).count());
                let one = json!({"values": [0.5, -0.25]});
                Some(Step::json(200, json!({"embeddings": vec![one; inputs]})))
            }
            _ => None,
        }
    }

    fn read(&self, request: &Recorded) -> Result<Asked, String> {
        let (path, method) = request.route().rsplit_once(':').ok_or("there is nothing at this path")?;
        let stream = match method {
            "generateContent" => false,
            "streamGenerateContent" => true,
            _ => return Err("there is no such method".into()),
        };
        must(request.header("x-goog-api-key").is_some(), "x-goog-api-key is missing")?;
        must(!stream || request.path.contains("alt=sse"), "not asked for events")?;
        let body = request.json().ok_or("no JSON")?;
        known(&body, &FIELDS)?;
        let config = &body["generationConfig"];
        if config.is_object() {
            known(config, &CONFIG)?;
        }
        let thinking = &config["thinkingConfig"];
        must(
            field(thinking, "thinkingBudget").is_null() || field(thinking, "thinkingLevel").is_null(),
            "both a budget and a level",
        )?;
        let calling = &body["toolConfig"]["functionCallingConfig"];
        let declared = items(&body["tools"]).flat_map(|tool| items(&tool["functionDeclarations"]));
        let schema = config.get("responseJsonSchema").or(config.get("responseSchema"));
        let mut asked = Asked {
            model: path.rsplit('/').next().unwrap_or_default().to_owned(),
            stream,
            schema: schema.cloned(),
            thinks: field(thinking, "includeThoughts") == true,
            stops: items(&config["stopSequences"]).map(text).collect(),
            max_tokens: config["maxOutputTokens"].as_u64(),
            tools: declared.map(|function| text(&function["name"])).collect(),
            choice: calling["allowedFunctionNames"][0].as_str().or(calling["mode"].as_str()).map(Into::into),
            system: items(&body["systemInstruction"]["parts"]).map(|part| text(&part["text"])).collect(),
            ..Asked::default()
        };
        let mut open: Vec<String> = Vec::new();
        let newer = !asked.model.contains("gemini-2");
        for content in items(&body["contents"]) {
            let parts: Vec<_> = items(&content["parts"]).collect();
            must(!parts.is_empty(), "a content without parts")?;
            match content["role"].as_str() {
                Some("user") => {
                    let mut said = String::new();
                    let mut results = Vec::new();
                    for part in parts {
                        if let Some(words) = part["text"].as_str() {
                            said += words;
                        } else if let Some(kind) = field(&part["inlineData"], "mimeType").as_str() {
                            must(part["inlineData"]["data"].is_string(), "data without data")?;
                            *(if kind.starts_with("image/") {
                                &mut asked.images
                            } else {
                                &mut asked.files
                            }) += 1;
                        } else if part["functionResponse"].is_object() {
                            let response = &part["functionResponse"];
                            let name = text(&response["name"]);
                            let at =
                                open.iter().position(|open| *open == name).ok_or("a response to no call")?;
                            open.remove(at);
                            must(response["response"].is_object(), "a response must be an object")?;
                            results.push(text(
                                response["response"].get("result").unwrap_or(&response["response"]["error"]),
                            ));
                        } else {
                            return Err(format!("there is no part {part}"));
                        }
                    }
                    must(open.is_empty(), "as many function responses as calls")?;
                    if !said.is_empty() {
                        asked.turns += 1;
                        asked.prompt = said;
                        asked.results.clear();
                    }
                    asked.results.extend(results);
                }
                Some("model") => {
                    asked.turns += 1;
                    let mut calls = parts.iter().filter(|part| part["functionCall"].is_object());
                    if let Some(first) = calls.clone().next() {
                        must(
                            !newer || first["thoughtSignature"].is_string(),
                            "a call is missing a thought_signature",
                        )?;
                    }
                    must(
                        calls.all(|part| part["functionCall"]["args"].is_object()),
                        "args must be an object",
                    )?;
                    let calls = parts.iter().filter_map(|part| part["functionCall"]["name"].as_str());
                    open.extend(calls.map(str::to_owned));
                }
                role => return Err(format!("there is no role {role:?}")),
            }
        }
        must(open.is_empty(), "as many function responses as calls")?;
        Ok(asked)
    }

    fn whole(&self, asked: &Asked, said: &Said) -> Value {
        let mut parts: Vec<Value> = Vec::new();
        parts.extend(said.thought.iter().map(|thought| json!({"text": thought, "thought": true})));
        if !said.text.is_empty() {
            parts.push(json!({"text": said.words()}));
        }
        parts.extend(calls(said));
        response(asked, parts, Some(said))
    }

    fn stream(&self, asked: &Asked, said: &Said) -> Vec<Chunk> {
        let mut all: Vec<Value> = Vec::new();
        let thoughts = said.thought.iter().map(|thought| json!({"text": thought, "thought": true}));
        let words = said.text.iter().map(|piece| json!({"text": piece}));
        all.extend(thoughts.chain(words).chain(calls(said)).map(|part| response(asked, vec![part], None)));
        all.push(response(asked, vec![json!({"text": ""})], Some(said)));
        all.into_iter().map(|data| bodies::event(data).into()).collect()
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let word = match status {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            500 => "INTERNAL",
            503 => "UNAVAILABLE",
            _ => "INVALID_ARGUMENT",
        };
        json!({"error": {"code": status, "message": message, "status": word, "details": []}})
    }

    fn late_error(&self) -> Chunk {
        bodies::event(self.error(503, "the script says so")).into()
    }
}

/// Calls as they come: whole, without ids, the first one signed.
fn calls(said: &Said) -> impl Iterator<Item = Value> {
    said.calls.iter().enumerate().map(|(n, call)| {
        let mut part = json!({"functionCall": {"name": call.name, "args": call.arguments}});
        if n == 0 {
            part["thoughtSignature"] = json!("c2lnbmVk");
        }
        part
    })
}

fn response(asked: &Asked, parts: Vec<Value>, last: Option<&Said>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    let mut usage =
        json!({"promptTokenCount": INPUT, "cachedContentTokenCount": CACHED, "totalTokenCount": INPUT});
    if let Some(said) = last {
        candidate["finishReason"] = if said.end == End::Length { "MAX_TOKENS" } else { "STOP" }.into();
        if let Some(start) = said.cited_from {
            let segment = json!({"startIndex": start, "endIndex": said.words().len()});
            candidate["groundingMetadata"] = json!({
                "webSearchQueries": ["hello"], "groundingChunks": [{"web": {"uri": PAGE, "title": TITLE}}],
                "groundingSupports": [{"segment": segment, "groundingChunkIndices": [0]}],
            });
        }
        // Thoughts are no part of the candidates.
        usage["candidatesTokenCount"] = (OUTPUT - said.thoughts()).into();
        usage["thoughtsTokenCount"] = said.thoughts().into();
        usage["totalTokenCount"] = (INPUT + OUTPUT).into();
    }
    json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": asked.model, "responseId": "scripted"})
}

/// A field by its name in camelCase, as it is or in snake_case: Google takes both, and its SDK sends both.
fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    let snake = name.chars().fold(String::new(), |snake, letter| match letter.is_ascii_uppercase() {
        true => snake + "_" + &letter.to_ascii_lowercase().to_string(),
        false => snake + &letter.to_string(),
    });
    value.get(name).or_else(|| value.get(&snake)).unwrap_or(&Value::Null)
}
