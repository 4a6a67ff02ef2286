//! Why an answer ended.

use crate::json::{Raw, string};

/// Why an answer ended, in whatever dialect it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Finish {
    /// The model had said all, or met a stop sequence.
    Stop,
    /// The limit of tokens, or of the context window.
    Length,
    /// Tools are to be called.
    ToolCalls,
    /// A content filter, a guardrail, a refusal.
    ContentFilter,
    /// The generation failed. Never a success, whatever the status.
    Error,
    /// A reason that is not known here, such as Anthropic's `pause_turn`.
    Other,
}

impl Finish {
    /// The meaning of a reason: OpenAI's and its imitators' `finish_reason`, Anthropic's and Bedrock's `stop_reason`,
    /// Gemini's `finishReason`, Cohere's, Ollama's `done_reason`. `None` for one that says that there is none yet.
    pub fn of_reason(reason: &str) -> Option<Self> {
        Some(match reason {
            "" | "null" | "FINISH_REASON_UNSPECIFIED" => return None,
            "stop" | "end_turn" | "stop_sequence" | "STOP" | "COMPLETE" | "STOP_SEQUENCE" | "eos" => {
                Finish::Stop
            }
            // Ollama loaded or unloaded its model, and said nothing: no excuse for an answer without a word.
            "load" | "unload" => Finish::Stop,
            "length"
            | "max_tokens"
            | "model_length"
            | "model_context_window_exceeded"
            | "MAX_TOKENS"
            | "max_output_tokens" => Finish::Length,
            "tool_calls" | "function_call" | "tool_use" | "TOOL_CALL" => Finish::ToolCalls,
            "content_filter"
            | "refusal"
            | "content_filtered"
            | "guardrail_intervened"
            | "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "MODEL_ARMOR"
            | "JAILBREAK" => Finish::ContentFilter,
            "error"
            | "abort"
            | "insufficient_system_resource"
            | "malformed_model_output"
            | "malformed_tool_use"
            | "ERROR"
            | "TIMEOUT"
            | "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "OTHER"
            | "LANGUAGE"
            | "NO_IMAGE"
            | "IMAGE_OTHER" => Finish::Error,
            _ => Finish::Other,
        })
    }

    /// The same for a JSON value; anything but a string and null is a reason that is not known.
    pub(super) fn of_raw(raw: Raw<'_>) -> Option<Self> {
        match raw.get() {
            "null" => None,
            _ => match string(raw) {
                Some(reason) => Self::of_reason(&reason),
                None => Some(Finish::Other),
            },
        }
    }

    /// Whether an answer that ended so may be empty.
    pub(super) fn excuses_emptiness(self) -> bool {
        matches!(self, Finish::Length | Finish::ToolCalls | Finish::ContentFilter | Finish::Other)
    }
}
