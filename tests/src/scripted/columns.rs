//! The kinds of providers.

use super::{
    answer,
    chat::{Chat, Errors, PLAIN, Thoughts},
    gemini::Gemini,
    messages::Messages,
    responses::Responses,
};
use mainstay_testkit::{Recorded, Step};

/// A kind of provider as a configuration names it, and one that is scripted.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The `kind`.
    pub kind: &'static str,
    /// What follows the host in its `base_url`.
    pub base: &'static str,
    /// What it answers.
    pub answer: fn(&Recorded) -> Step,
}

const fn column(kind: &'static str, base: &'static str, answer: fn(&Recorded) -> Step) -> Column {
    Column { kind, base, answer }
}

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
];

/// Chat completions, and Responses besides.
fn both(request: &Recorded, chat: &Chat) -> Step {
    if request.route().ends_with("/responses") { answer(request, &Responses) } else { answer(request, chat) }
}
