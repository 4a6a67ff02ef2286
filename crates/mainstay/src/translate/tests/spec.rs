//! A request in no dialect, to be written in each: what the property of there and back starts from.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, json};

/// A request of which every dialect has a part.
#[derive(Clone, Debug, Default)]
pub(super) struct Spec {
    pub(super) system: Option<String>,
    pub(super) turns: Vec<Turn>,
    /// The name of a tool, whether it is strict.
    pub(super) tools: Vec<(String, bool)>,
    pub(super) choice: Option<Choice>,
    pub(super) one_at_a_time: bool,
    pub(super) max: u64,
    pub(super) temperature: Option<u32>,
    pub(super) top_p: Option<u32>,
    pub(super) top_k: Option<u32>,
    pub(super) seed: Option<u32>,
    pub(super) penalty: Option<u32>,
    pub(super) stop: Vec<String>,
    pub(super) schema: bool,
    pub(super) effort: Option<&'static str>,
    pub(super) user: Option<String>,
    pub(super) stream: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Turn {
    /// The user's words.
    User(String),
    /// Words, and an image as data.
    Image(String, String),
    /// The assistant's words.
    Assistant(String),
    /// Words, calls (id, tool, argument) and what the tools said.
    Calls(String, Vec<(String, String, String)>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Choice {
    Auto,
    None,
    Any,
    Tool(String),
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"p": {"type": "string", "enum": ["\u{e9}", "\""]}}})
}

/// Text that every dialect takes: with something to be read in it.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", any::<String>().prop_map(|text| format!("x{text}"))]
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let call = ("[a-z]{1,6}", "[a-z]{1,6}", text());
    let turn = prop_oneof![
        (text(), text()).prop_map(|(user, said)| vec![Turn::User(user), Turn::Assistant(said)]),
        (text(), "[A-Za-z0-9+/]{4,40}", text())
            .prop_map(|(user, data, said)| vec![Turn::Image(user, data), Turn::Assistant(said)]),
        (text(), prop::collection::vec(call, 1..4), text()).prop_map(|(said, calls, last)| {
            // Every call has an id of its own, in letters that all of them take.
            let calls = calls.into_iter().enumerate();
            let calls = calls.map(|(n, (id, name, argument))| (format!("call_{id}_{n}"), name, argument));
            vec![Turn::User("do".into()), Turn::Calls(said, calls.collect()), Turn::Assistant(last)]
        }),
    ];
    let all = prop::collection::vec(turn, 0..4).prop_map(|all| all.into_iter().flatten().collect::<Vec<_>>());
    (all, text()).prop_map(|(mut all, last)| {
        all.push(Turn::User(last));
        // Ids of calls must differ in the whole conversation.
        for (at, turn) in all.iter_mut().enumerate() {
            if let Turn::Calls(_, calls) = turn {
                calls.iter_mut().for_each(|(id, ..)| *id = format!("{id}_{at}"));
            }
        }
        all
    })
}

prop_compose! {
    pub(super) fn spec()(
        system in prop::option::of(text()),
        turns in turns(),
        tools in prop::collection::vec(("[a-z]{1,6}", any::<bool>()), 0..3),
        choice in prop::option::of(prop_oneof![
            Just(Choice::Auto), Just(Choice::None), Just(Choice::Any), "[a-z]{1,6}".prop_map(Choice::Tool)]),
        one_at_a_time in any::<bool>(),
        max in 2000..100_000u64,
        (temperature, top_p, top_k) in (prop::option::of(0..=10u32), prop::option::of(0..=10u32), prop::option::of(1..99u32)),
        (seed, penalty) in (prop::option::of(any::<u32>()), prop::option::of(1..10u32)),
        stop in prop::collection::vec("[a-z]{1,5}", 0..4),
        (schema, stream) in any::<(bool, bool)>(),
        effort in prop::option::of(prop::sample::select(vec!["low", "medium", "high"])),
        user in prop::option::of("[a-z0-9]{1,20}"),
    ) -> Spec {
        let (choice, one_at_a_time) = if tools.is_empty() { (None, false) } else { (choice, one_at_a_time) };
        Spec { system, turns, tools, choice, one_at_a_time, max, temperature, top_p, top_k, seed, penalty, stop, schema, effort,
               user, stream }
    }
}

impl Spec {
    /// Without what `api` has no place for, or no place beside the rest.
    pub(super) fn for_api(mut self, api: Api) -> Self {
        match api {
            Api::Chat => self.top_k = None,
            Api::Messages => {
                (self.seed, self.penalty) = (None, None);
                // Where it is to think it takes no sampling, and forces no tool.
                if matches!(self.choice, Some(Choice::Any | Choice::Tool(_))) {
                    self.effort = None;
                }
                if self.effort.is_some() {
                    (self.temperature, self.top_p, self.top_k) = (None, None, None);
                }
            }
            Api::Gemini => {
                (self.one_at_a_time, self.user) = (false, None);
                self.tools.iter_mut().for_each(|(_, strict)| *strict = false);
            }
            Api::Responses => {
                (self.seed, self.penalty, self.top_k) = (None, None, None);
                self.stop.clear();
            }
        }
        // A wish for one tool at a time is told as a choice there: the one is the other.
        let told_as_a_choice = api == Api::Messages && self.one_at_a_time;
        if told_as_a_choice && self.choice.is_none() {
            self.choice = Some(Choice::Auto);
        }
        if told_as_a_choice && self.choice == Some(Choice::None) {
            self.one_at_a_time = false;
        }
        self
    }

    pub(super) fn write(&self, api: Api) -> Value {
        let body = match api {
            Api::Chat => self.chat(),
            Api::Messages => self.messages(),
            Api::Gemini => self.gemini(),
            Api::Responses => self.responses(),
        };
        let fields: Map<_, _> = body
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        fields.into()
    }

    fn stream(&self) -> Value {
        if self.stream { json!(true) } else { Value::Null }
    }

    fn chat(&self) -> Value {
        let mut messages: Vec<Value> = Vec::new();
        messages.extend(self.system.iter().map(|text| json!({"role": "system", "content": text})));
        for turn in &self.turns {
            match turn {
                Turn::User(text) => messages.push(json!({"role": "user", "content": text})),
                Turn::Image(text, data) => messages.push(json!({"role": "user", "content": [
                    {"type": "text", "text": text},
                    {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}}]})),
                Turn::Assistant(text) => messages.push(json!({"role": "assistant", "content": text})),
                Turn::Calls(said, calls) => {
                    let made: Vec<_> = calls
                        .iter()
                        .map(|(id, name, argument)| {
                            let arguments = json!({"a": argument}).to_string();
                            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
                        })
                        .collect();
                    messages.push(json!({"role": "assistant", "content": said, "tool_calls": made}));
                    messages.extend(calls.iter().map(
                        |(id, _, argument)| json!({"role": "tool", "tool_call_id": id, "content": argument}),
                    ));
                }
            }
        }
        let tools = self.tools.iter().map(|(name, strict)| {
            let mut function = json!({"name": name, "description": "d", "parameters": schema()});
            if *strict {
                function["strict"] = json!(true);
            }
            json!({"type": "function", "function": function})
        });
        json!({
            "model": "m", "messages": messages, "tools": list(tools), "tool_choice": self.choice.as_ref().map(|choice| match choice {
                Choice::Auto => json!("auto"),
                Choice::None => json!("none"),
                Choice::Any => json!("required"),
                Choice::Tool(name) => json!({"type": "function", "function": {"name": name}}),
            }),
            "parallel_tool_calls": self.one_at_a_time.then_some(false), "max_completion_tokens": self.max,
            "temperature": tenth(self.temperature), "top_p": tenth(self.top_p), "top_k": self.top_k, "seed": self.seed,
            "presence_penalty": tenth(self.penalty), "stop": list(self.stop.iter().map(|stop| json!(stop))),
            "response_format": self.schema.then(|| json!({"type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema(), "strict": true}})),
            "reasoning_effort": self.effort, "user": self.user, "stream": self.stream(),
            "stream_options": self.stream.then(|| json!({"include_usage": true})),
        })
    }

    fn messages(&self) -> Value {
        let mut messages: Vec<Value> = Vec::new();
        for turn in &self.turns {
            match turn {
                Turn::User(text) => messages.push(json!({"role": "user", "content": text})),
                Turn::Image(text, data) => messages.push(json!({"role": "user", "content": [
                    {"type": "text", "text": text},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]})),
                Turn::Assistant(text) => messages.push(json!({"role": "assistant", "content": text})),
                Turn::Calls(said, calls) => {
                    let mut blocks = vec![json!({"type": "text", "text": said})];
                    blocks.extend(calls.iter().map(|(id, name, argument)| {
                        json!({"type": "tool_use", "id": id, "name": name, "input": {"a": argument}})
                    }));
                    messages.push(json!({"role": "assistant", "content": blocks}));
                    let results = calls.iter().map(|(id, _, argument)| {
                        json!({"type": "tool_result", "tool_use_id": id, "content": argument})
                    });
                    messages.push(json!({"role": "user", "content": list(results)}));
                }
            }
        }
        let tools = self.tools.iter().map(|(name, strict)| {
            let mut tool = json!({"name": name, "description": "d", "input_schema": schema()});
            if *strict {
                tool["strict"] = json!(true);
            }
            tool
        });
        let mut choice = self.choice.as_ref().map(|choice| match choice {
            Choice::Auto => json!({"type": "auto"}),
            Choice::None => json!({"type": "none"}),
            Choice::Any => json!({"type": "any"}),
            Choice::Tool(name) => json!({"type": "tool", "name": name}),
        });
        if self.one_at_a_time {
            choice.get_or_insert(json!({"type": "auto"}))["disable_parallel_tool_use"] = json!(true);
        }
        let mut output = json!({});
        if let Some(effort) = self.effort {
            output["effort"] = json!(effort);
        }
        if self.schema {
            output["format"] = json!({"type": "json_schema", "schema": schema()});
        }
        json!({
            "model": "m", "max_tokens": self.max, "system": self.system, "messages": messages, "tools": list(tools),
            "tool_choice": choice, "temperature": tenth(self.temperature), "top_p": tenth(self.top_p), "top_k": self.top_k,
            "stop_sequences": list(self.stop.iter().map(|stop| json!(stop))),
            "thinking": self.effort.map(|_| json!({"type": "adaptive"})),
            "output_config": if output == json!({}) { Value::Null } else { output },
            "metadata": self.user.as_ref().map(|user| json!({"user_id": user})), "stream": self.stream(),
        })
    }

    fn gemini(&self) -> Value {
        let mut contents: Vec<Value> = Vec::new();
        let mut say = |role: &str, parts: Vec<Value>| contents.push(json!({"role": role, "parts": parts}));
        for turn in &self.turns {
            match turn {
                Turn::User(text) => say("user", vec![json!({"text": text})]),
                Turn::Image(text, data) => say(
                    "user",
                    vec![
                        json!({"text": text}),
                        json!({"inlineData": {"mimeType": "image/png", "data": data}}),
                    ],
                ),
                Turn::Assistant(text) => say("model", vec![json!({"text": text})]),
                Turn::Calls(said, calls) => {
                    let mut parts = vec![json!({"text": said})];
                    for (n, (id, name, argument)) in calls.iter().enumerate() {
                        let mut part =
                            json!({"functionCall": {"id": id, "name": name, "args": {"a": argument}}});
                        if n == 0 {
                            part["thoughtSignature"] = json!("skip_thought_signature_validator");
                        }
                        parts.push(part);
                    }
                    say("model", parts);
                    let results = calls.iter().map(|(id, name, argument)| {
                        json!({"functionResponse": {"id": id, "name": name, "response": {"result": argument}}})
                    });
                    say("user", results.collect());
                }
            }
        }
        let functions = self
            .tools
            .iter()
            .map(|(name, _)| json!({"name": name, "description": "d", "parametersJsonSchema": schema()}));
        let functions = list(functions);
        let calling = self.choice.as_ref().map(|choice| match choice {
            Choice::Auto => json!({"mode": "AUTO"}),
            Choice::None => json!({"mode": "NONE"}),
            Choice::Any => json!({"mode": "ANY"}),
            Choice::Tool(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
        });
        let config = json!({
            "maxOutputTokens": self.max, "temperature": tenth(self.temperature), "topP": tenth(self.top_p), "topK": self.top_k,
            "seed": self.seed, "presencePenalty": tenth(self.penalty),
            "stopSequences": list(self.stop.iter().map(|stop| json!(stop))),
            "responseMimeType": self.schema.then_some("application/json"),
            "responseJsonSchema": self.schema.then(schema),
            "thinkingConfig": self.effort.map(|effort| json!({"thinkingLevel": effort.to_uppercase(), "includeThoughts": true})),
        });
        let config: Map<_, _> = config
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, v)| !v.is_null())
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        json!({
            "systemInstruction": self.system.as_ref().map(|text| json!({"parts": [{"text": text}]})), "contents": contents,
            "tools": if functions.is_null() { Value::Null } else { json!([{"functionDeclarations": functions}]) },
            "toolConfig": calling.map(|calling| json!({"functionCallingConfig": calling})), "generationConfig": config,
        })
    }

    fn responses(&self) -> Value {
        let mut input: Vec<Value> = Vec::new();
        for turn in &self.turns {
            let mut say = |role: &str, parts: Value| {
                input.push(json!({"type": "message", "role": role, "content": parts}))
            };
            match turn {
                Turn::User(text) => say("user", json!([{"type": "input_text", "text": text}])),
                Turn::Image(text, data) => say(
                    "user",
                    json!([{"type": "input_text", "text": text}, {"type": "input_image", "detail": "auto",
                        "image_url": format!("data:image/png;base64,{data}")}]),
                ),
                Turn::Assistant(text) => say("assistant", json!([{"type": "output_text", "text": text}])),
                Turn::Calls(said, calls) => {
                    say("assistant", json!([{"type": "output_text", "text": said}]));
                    input.extend(calls.iter().map(|(id, name, argument)| {
                        let arguments = json!({"a": argument}).to_string();
                        json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
                    }));
                    input.extend(calls.iter().map(|(id, _, argument)| {
                        json!({"type": "function_call_output", "call_id": id, "output": argument})
                    }));
                }
            }
        }
        let tools = self.tools.iter().map(|(name, strict)| {
            json!({"type": "function", "name": name, "description": "d", "parameters": schema(), "strict": strict})
        });
        json!({
            "model": "m", "store": false, "instructions": self.system, "input": input, "tools": list(tools),
            "tool_choice": self.choice.as_ref().map(|choice| match choice {
                Choice::Auto => json!("auto"),
                Choice::None => json!("none"),
                Choice::Any => json!("required"),
                Choice::Tool(name) => json!({"type": "function", "name": name}),
            }),
            "parallel_tool_calls": self.one_at_a_time.then_some(false), "max_output_tokens": self.max,
            "temperature": tenth(self.temperature), "top_p": tenth(self.top_p),
            "reasoning": self.effort.map(|effort| json!({"effort": effort, "summary": "auto"})),
            "text": self.schema.then(|| json!({"format": {"type": "json_schema", "name": "answer", "schema": schema(), "strict": true}})),
            "user": self.user, "stream": self.stream(),
        })
    }
}

/// A list, or null where it is empty: what is not asked for is not written.
fn list(items: impl Iterator<Item = Value>) -> Value {
    let items: Vec<_> = items.collect();
    if items.is_empty() { Value::Null } else { items.into() }
}

fn tenth(number: Option<u32>) -> Value {
    number.map_or(Value::Null, |number| json!(f64::from(number) / 10.0))
}
