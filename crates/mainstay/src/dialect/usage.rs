//! Tokens.

use crate::json::{NotJson, Value, Visit, count, raw, skip, walk};

/// The tokens of a call, as far as the reply told them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the request, those from a cache included.
    pub input: Option<u64>,
    /// Tokens of the answer, reasoning included.
    pub output: Option<u64>,
    /// Those of `input` that were read from a cache.
    pub cached: Option<u64>,
    /// Those of `output` that were reasoning.
    pub reasoning: Option<u64>,
}

/// Count by count; what neither knows stays unknown.
impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        Self {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cached: sum(self.cached, other.cached),
            reasoning: sum(self.reasoning, other.reasoning),
        }
    }
}

/// The fields of all dialects. What is told again replaces what was told before: running counts are taken, not added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Cached tokens included (OpenAI, Gemini, Ollama).
    input: Option<u64>,
    /// Cached tokens not included (Anthropic's `input_tokens` beside cache fields, Bedrock).
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    /// Cached tokens that `input` includes.
    cached: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    /// Reasoning that `output` does not include (Gemini).
    thoughts: Option<u64>,
}

impl Tokens {
    /// Takes what `newer` knows.
    pub(super) fn update(&mut self, newer: &Self) {
        self.input = newer.input.or(self.input);
        self.cache_read = newer.cache_read.or(self.cache_read);
        self.cache_write = newer.cache_write.or(self.cache_write);
        self.cached = newer.cached.or(self.cached);
        self.output = newer.output.or(self.output);
        self.reasoning = newer.reasoning.or(self.reasoning);
        self.thoughts = newer.thoughts.or(self.thoughts);
    }

    /// Whether nothing was told.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn usage(&self) -> Usage {
        let sum = |parts: [Option<u64>; 3]| parts.into_iter().flatten().reduce(u64::saturating_add);
        Usage {
            input: sum([self.input, self.cache_read, self.cache_write]),
            output: sum([self.output, self.thoughts, None]),
            cached: self.cached.or(self.cache_read),
            reasoning: self.reasoning.or(self.thoughts),
        }
    }
}

impl<'de> Visit<'de> for Tokens {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        let place = match key {
            "prompt_tokens" | "input_tokens" | "promptTokenCount" | "inputTokens" | "prompt_eval_count" => {
                &mut self.input
            }
            "completion_tokens"
            | "output_tokens"
            | "candidatesTokenCount"
            | "outputTokens"
            | "eval_count" => &mut self.output,
            "cache_read_input_tokens" | "cacheReadInputTokens" => &mut self.cache_read,
            "cache_creation_input_tokens" | "cacheWriteInputTokens" => &mut self.cache_write,
            "cached_tokens" | "prompt_cache_hit_tokens" | "cachedContentTokenCount" => &mut self.cached,
            "reasoning_tokens" => &mut self.reasoning,
            "thoughtsTokenCount" => &mut self.thoughts,
            // Details of OpenAI's, and Cohere's `tokens`.
            "prompt_tokens_details"
            | "input_tokens_details"
            | "completion_tokens_details"
            | "output_tokens_details"
            | "tokens" => return walk(value, self).map(drop),
            _ => return skip(value),
        };
        *place = count(raw(value)?).or(*place);
        Ok(())
    }
}
