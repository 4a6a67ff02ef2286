//! What a translation must know about the provider that it writes for.

use super::TargetApi;
use crate::provider::{Kind, Native};
use std::{borrow::Cow, sync::Arc};

/// A provider, as far as requests are written differently for it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// For messages: the name in the configuration, or the provider's.
    pub(super) name: Arc<str>,
    pub(super) api: TargetApi,
    /// Written where the API demands a limit and the caller gave none.
    pub(super) default_max_tokens: u32,
    /// Which of OpenAI's two names the limit goes by.
    pub(super) max_completion_tokens: bool,
    /// Whether a chat stream can be asked for its tokens.
    pub(super) stream_options: bool,
    pub(super) ids: IdStyle,
    /// Whether it has OpenAI's Responses besides chat completions.
    pub(super) responses: bool,
}

/// What ids of tool calls may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdStyle {
    /// `[a-zA-Z0-9_-]`, as long as one likes (Anthropic).
    Word,
    /// The same, and at most 64 of them (Bedrock).
    ShortWord,
    /// At most 40 bytes (OpenAI).
    Short,
    /// Nine letters or digits (Mistral).
    Nine,
}

impl Target {
    pub(super) fn new(kind: Kind) -> Self {
        let profile = kind.profile();
        let api = match profile.native {
            Native::OpenAi if kind == Kind::OpenAiResponses => TargetApi::Responses,
            Native::OpenAi => TargetApi::Chat,
            Native::Anthropic => TargetApi::Messages,
            Native::Gemini => TargetApi::Gemini,
            Native::Ollama => TargetApi::Ollama,
            Native::Cohere => TargetApi::Cohere,
            Native::Converse => TargetApi::Converse,
        };
        Self {
            name: profile.name.into(),
            api,
            default_max_tokens: profile.default_max_tokens.unwrap_or(8192),
            max_completion_tokens: matches!(
                kind,
                Kind::OpenAi | Kind::AzureOpenAi | Kind::OpenRouter | Kind::Groq | Kind::Xai
            ),
            // Mistral's API takes no field that it does not know; its streams tell the tokens anyway.
            responses: profile.native == Native::OpenAi
                && !matches!(
                    kind,
                    Kind::DeepSeek | Kind::Mistral | Kind::Cohere | Kind::Together | Kind::Bedrock
                ),
            stream_options: kind != Kind::Mistral,
            ids: match (api, kind) {
                (_, Kind::Mistral) => IdStyle::Nine,
                (TargetApi::Messages, _) => IdStyle::Word,
                (TargetApi::Converse, _) => IdStyle::ShortWord,
                _ => IdStyle::Short,
            },
        }
    }
}

/// The id of a tool call as the target takes it. The same id always becomes the same, so that call and result agree.
pub(super) fn fit_id(id: &str, style: IdStyle) -> Cow<'_, str> {
    match style {
        IdStyle::Word if !id.is_empty() && id.bytes().all(is_word) => Cow::Borrowed(id),
        IdStyle::Word if id.is_empty() => Cow::Borrowed("call"),
        IdStyle::Word => {
            Cow::Owned(id.chars().map(|c| if c.is_ascii() && is_word(c as u8) { c } else { '_' }).collect())
        }
        IdStyle::ShortWord if (1..=64).contains(&id.len()) && id.bytes().all(is_word) => Cow::Borrowed(id),
        IdStyle::ShortWord => Cow::Owned(format!("call_{:016x}", digest(id))),
        IdStyle::Short if id.len() <= 40 => Cow::Borrowed(id),
        IdStyle::Short => Cow::Owned(format!("call_{:016x}", digest(id))),
        IdStyle::Nine if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Cow::Borrowed(id)
        }
        IdStyle::Nine => {
            const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
            let mut rest = digest(id);
            let nine = (0..9).map(|_| {
                let digit = DIGITS.get((rest % 36) as usize).copied().unwrap_or(b'0');
                rest /= 36;
                char::from(digit)
            });
            Cow::Owned(nine.collect())
        }
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// FNV-1a: the same in every process and version, since callers send ids back days later.
pub(super) fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_fit_and_stay_where_they_fit_already() {
        assert_eq!(fit_id("toolu_01-A", IdStyle::Word), "toolu_01-A");
        assert_eq!(fit_id("functions.run:0", IdStyle::Word), "functions_run_0");
        assert_eq!(fit_id("call_1", IdStyle::Short), "call_1");
        let long = "x".repeat(60);
        assert!(fit_id(&long, IdStyle::Short).len() <= 40);
        assert_eq!(fit_id(&long, IdStyle::Short), fit_id(&long, IdStyle::Short));
        assert_ne!(fit_id(&long, IdStyle::Short), fit_id(&"y".repeat(60), IdStyle::Short));
        for id in ["call_1", "", "toolu_01ABC"] {
            let nine = fit_id(id, IdStyle::Nine);
            assert!(nine.len() == 9 && nine.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{nine}");
        }
        assert_eq!(fit_id("abcdef123", IdStyle::Nine), "abcdef123");
        assert_eq!(fit_id("tooluse_a-B", IdStyle::ShortWord), "tooluse_a-B");
        for id in ["functions.run:0", "", &long, &"x".repeat(65)] {
            let word = fit_id(id, IdStyle::ShortWord);
            assert!((1..=64).contains(&word.len()) && word.bytes().all(is_word), "{word}");
        }
    }
}
