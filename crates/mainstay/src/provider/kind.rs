//! Which provider an endpoint is.

use super::Profile;
use std::{fmt, str::FromStr};

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal in $module:ident;)*) => {
        /// The kind of API behind an endpoint: which errors it sends, how it takes a key, where it lives.
        ///
        /// A server that speaks OpenAI's API and is not listed is [`Kind::OpenAi`] with a base URL of its own.
        ///
        /// ```
        /// use mainstay::provider::Kind;
        ///
        /// let kind: Kind = "azure-openai".parse()?;
        /// assert_eq!(kind, Kind::AzureOpenAi);
        /// assert_eq!(kind.to_string(), "azure-openai");
        /// # Ok::<(), mainstay::provider::UnknownKind>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// Every kind, in the order in which they are listed to people.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant),*];

            /// The name in configuration files.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Kind::$variant => $name,)*
                }
            }

            /// What is known about it.
            pub const fn profile(self) -> &'static Profile {
                match self {
                    $(Kind::$variant => &super::$module::PROFILE,)*
                }
            }
        }
    };
}

kinds! {
    /// OpenAI, and any server that speaks its API.
    OpenAi = "openai" in openai;
    /// OpenAI, asked for Responses whatever the caller speaks.
    OpenAiResponses = "openai-responses" in openai_responses;
    /// Anthropic's Messages API.
    Anthropic = "anthropic" in anthropic;
    /// Google's Gemini API.
    Gemini = "gemini" in gemini;
    /// Azure OpenAI.
    AzureOpenAi = "azure-openai" in azure_openai;
    /// OpenRouter.
    OpenRouter = "openrouter" in openrouter;
    /// DeepSeek.
    DeepSeek = "deepseek" in deepseek;
    /// Mistral.
    Mistral = "mistral" in mistral;
    /// Groq.
    Groq = "groq" in groq;
    /// Cohere, by its OpenAI-compatible endpoint.
    Cohere = "cohere" in cohere;
    /// Cohere, by its own `/v2/chat`.
    CohereV2 = "cohere-v2" in cohere_v2;
    /// Amazon Bedrock, by its OpenAI-compatible endpoint.
    Bedrock = "bedrock" in bedrock;
    /// Amazon Bedrock, by `Converse`.
    BedrockConverse = "bedrock-converse" in bedrock_converse;
    /// A vLLM server.
    Vllm = "vllm" in vllm;
    /// An Ollama server, by its OpenAI-compatible endpoint.
    Ollama = "ollama" in ollama;
    /// An Ollama server, by its own API.
    OllamaNative = "ollama-native" in ollama_native;
    /// A llama.cpp server.
    LlamaCpp = "llama-cpp" in llama_cpp;
    /// An LM Studio server.
    LmStudio = "lm-studio" in lm_studio;
    /// Together AI.
    Together = "together" in together;
    /// xAI.
    Xai = "xai" in xai;
    /// Fireworks AI.
    Fireworks = "fireworks" in fireworks;
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        Kind::ALL
            .iter()
            .copied()
            .find(|kind| kind.as_str() == name)
            .ok_or_else(|| UnknownKind(name.to_owned()))
    }
}

impl serde::Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for Kind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

/// A name that is no [`Kind`]. Its message lists those that are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKind(String);

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no provider kind is called {:?}; there are", self.0)?;
        for (n, kind) in Kind::ALL.iter().enumerate() {
            write!(f, "{} {kind}", if n == 0 { "" } else { "," })?;
        }
        f.write_str(". A server that speaks OpenAI's API is openai with a base_url")
    }
}

impl std::error::Error for UnknownKind {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name_and_knows_itself() {
        for &kind in Kind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(kind.profile().kind, kind);
            assert_eq!(serde_json::from_value::<Kind>(serde_json::to_value(kind).unwrap()).unwrap(), kind);
        }
    }

    #[test]
    fn an_unknown_name_is_told_what_there_is() {
        let message = "chatgpt".parse::<Kind>().unwrap_err().to_string();
        assert!(
            message.contains("chatgpt") && message.contains("openai, openai-responses, anthropic"),
            "{message}"
        );
    }
}
