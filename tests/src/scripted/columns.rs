//! The kinds of providers.

use super::{
    answer,
    chat::{Chat, Errors, PLAIN, Thoughts},
    cohere::Cohere,
    converse::Converse,
    gemini::Gemini,
    messages::Messages,
    ollama::Ollama,
    responses::Responses,
    sigv4,
};
use mainstay_testkit::{Recorded, Step};

/// A kind of provider as a configuration names it, and one that is scripted.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The `kind`.
    pub kind: &'static str,
    /// What follows the host in its `base_url`.
    pub base: &'static str,
    /// The model behind it, where its name tells how it is to be asked; else it is asked by the route's name.
    pub model: Option<&'static str>,
    /// Whether requests are signed with AWS's keys; else they carry one key.
    pub signed: bool,
    /// What it answers.
    pub answer: fn(&Recorded) -> Step,
}

impl Column {
    /// Its lines in a configuration that say how it is paid, and the variables that these name.
    pub fn credentials(&self) -> (String, Vec<(&'static str, &'static str)>) {
        if !self.signed {
            return ("api_key_env = \"UP_KEY\"".to_owned(), vec![("UP_KEY", "sk-test-secret-0123456789")]);
        }
        let lines = format!(
            "aws_region = \"{}\"\naws_access_key_id_env = \"UP_ID\"\naws_secret_access_key_env = \"UP_SECRET\"",
            sigv4::REGION
        );
        (lines, vec![("UP_ID", sigv4::KEY_ID), ("UP_SECRET", sigv4::SECRET)])
    }
}

const fn column(kind: &'static str, base: &'static str, answer: fn(&Recorded) -> Step) -> Column {
    Column { kind, base, model: None, signed: false, answer }
}

/// A model of Claude's on Bedrock: one that is told a budget to think by.
const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

/// All of them, one a line, each with what is out of the ordinary about it.
#[rustfmt::skip]
pub const COLUMNS: &[Column] = &[
    column("openai", "/v1", |request| both(request, &Chat { new_limit: true, thoughts: Thoughts::Hidden, ..PLAIN })),
    column("openai-responses", "/v1", |request| answer(request, &Responses)),
    column("anthropic", "", |request| answer(request, &Messages)),
    column("gemini", "", |request| answer(request, &Gemini)),
    column("azure-openai", "/openai/v1", |request| both(request, &Chat { new_limit: true, filter: true, thoughts: Thoughts::Hidden, ..PLAIN })),
    column("openrouter", "/api/v1", |request| both(request, &Chat { new_limit: true, comments: true, thoughts: Thoughts::Reasoning, errors: Errors::Number, ..PLAIN })),
    column("deepseek", "", |request| answer(request, &Chat { comments: true, ..PLAIN })),
    column("mistral", "/v1", |request| answer(request, &Chat { strict: true, thoughts: Thoughts::Part, errors: Errors::Flat, ..PLAIN })),
    column("groq", "/openai/v1", |request| both(request, &Chat { new_limit: true, groq: true, thoughts: Thoughts::Reasoning, ..PLAIN })),
    column("cohere", "/compatibility/v1", |request| answer(request, &Chat { errors: Errors::Flat, ..PLAIN })),
    column("bedrock", "/openai/v1", |request| answer(request, &PLAIN)),
    column("vllm", "/v1", |request| both(request, &Chat { errors: Errors::Number, ..PLAIN })),
    column("ollama", "/v1", |request| both(request, &Chat { whole_calls: true, thoughts: Thoughts::Reasoning, ..PLAIN })),
    column("llama-cpp", "/v1", |request| both(request, &Chat { no_done: true, errors: Errors::Number, ..PLAIN })),
    column("lm-studio", "/v1", |request| both(request, &PLAIN)),
    column("together", "/v1", |request| answer(request, &PLAIN)),
    column("xai", "/v1", |request| both(request, &Chat { new_limit: true, ..PLAIN })),
    column("fireworks", "/inference/v1", |request| both(request, &PLAIN)),
    column("ollama-native", "", |request| answer(request, &Ollama)),
    column("cohere-v2", "", |request| answer(request, &Cohere)),
    Column { model: Some(CLAUDE), signed: true, ..column("bedrock-converse", "", |request| answer(request, &Converse)) },
];

/// Chat completions, and Responses besides.
fn both(request: &Recorded, chat: &Chat) -> Step {
    if request.route().ends_with("/responses") { answer(request, &Responses) } else { answer(request, chat) }
}
