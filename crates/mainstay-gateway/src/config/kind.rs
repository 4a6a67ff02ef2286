//! Which API a provider speaks, and where it lives by default.
//!
//! The only place in the configuration that knows provider names.

use std::fmt;
use std::str::FromStr;

/// The kind of a provider: its dialect, its credentials and its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// OpenAI, and any server that speaks its API.
    OpenAi,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
    /// OpenAI models on Azure.
    AzureOpenAi,
    /// OpenRouter.
    OpenRouter,
    /// DeepSeek.
    DeepSeek,
    /// Mistral.
    Mistral,
    /// Groq.
    Groq,
    /// Cohere.
    Cohere,
    /// AWS Bedrock.
    Bedrock,
    /// A vLLM server.
    Vllm,
    /// An Ollama server.
    Ollama,
    /// A llama.cpp server.
    LlamaCpp,
    /// An LM Studio server.
    LmStudio,
    /// Together.
    Together,
    /// xAI.
    Xai,
    /// Fireworks.
    Fireworks,
}

impl Kind {
    /// Every kind, in the order in which messages list them.
    pub const ALL: &'static [Self] = &[
        Self::OpenAi,
        Self::Anthropic,
        Self::Gemini,
        Self::AzureOpenAi,
        Self::OpenRouter,
        Self::DeepSeek,
        Self::Mistral,
        Self::Groq,
        Self::Cohere,
        Self::Bedrock,
        Self::Vllm,
        Self::Ollama,
        Self::LlamaCpp,
        Self::LmStudio,
        Self::Together,
        Self::Xai,
        Self::Fireworks,
    ];

    /// The name in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::AzureOpenAi => "azure-openai",
            Self::OpenRouter => "openrouter",
            Self::DeepSeek => "deepseek",
            Self::Mistral => "mistral",
            Self::Groq => "groq",
            Self::Cohere => "cohere",
            Self::Bedrock => "bedrock",
            Self::Vllm => "vllm",
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llama-cpp",
            Self::LmStudio => "lm-studio",
            Self::Together => "together",
            Self::Xai => "xai",
            Self::Fireworks => "fireworks",
        }
    }

    /// The `base_url` that stands where none is written; `None` where there is no single one.
    ///
    /// Azure and Bedrock have one per resource or region. llama.cpp's own default port is ours too, so that a
    /// gateway with a guessed address could call itself.
    #[must_use]
    pub const fn default_base_url(self) -> Option<&'static str> {
        Some(match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::OpenRouter => "https://openrouter.ai/api/v1",
            Self::DeepSeek => "https://api.deepseek.com/v1",
            Self::Mistral => "https://api.mistral.ai/v1",
            Self::Groq => "https://api.groq.com/openai/v1",
            Self::Cohere => "https://api.cohere.ai/compatibility/v1",
            Self::Vllm => "http://127.0.0.1:8000/v1",
            Self::Ollama => "http://127.0.0.1:11434/v1",
            Self::LmStudio => "http://127.0.0.1:1234/v1",
            Self::Together => "https://api.together.xyz/v1",
            Self::Xai => "https://api.x.ai/v1",
            Self::Fireworks => "https://api.fireworks.ai/inference/v1",
            Self::AzureOpenAi | Self::Bedrock | Self::LlamaCpp => return None,
        })
    }

    /// Whether `base_url` is the host alone, without the `/v1` that OpenAI's SDKs put there.
    #[must_use]
    pub const fn base_is_host_alone(self) -> bool {
        matches!(self, Self::Anthropic | Self::Gemini)
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name).ok_or(UnknownKind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// There is no such kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKind;

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such kind of provider")
    }
}

impl std::error::Error for UnknownKind {}
