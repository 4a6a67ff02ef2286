//! Which dialect a path speaks.

/// The API that a request is made to, as far as its replies differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI's `/v1/chat/completions`, and all that imitates it.
    ChatCompletions,
    /// OpenAI's old `/v1/completions`.
    Completions,
    /// OpenAI's `/v1/responses`.
    Responses,
    /// Anthropic's `/v1/messages`.
    Messages,
    /// OpenAI's `/v1/embeddings`.
    Embeddings,
    /// Gemini's `:generateContent` and `:streamGenerateContent`.
    Gemini,
    /// Cohere's `/v2/chat`.
    Cohere,
    /// Ollama's own `/api/chat` and `/api/generate`, which stream lines of JSON.
    Ollama,
    /// Bedrock's `/converse` and `/converse-stream`, which streams AWS event-stream messages.
    Converse,
    /// Anything else: only errors are known.
    Other,
}

/// The shape in which errors are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorFamily {
    /// `{"error": {"message", "type", "param", "code"}}`.
    OpenAi,
    /// `{"type": "error", "error": {"type", "message"}}`.
    Anthropic,
    /// `{"error": {"code", "message", "status", "details"}}`.
    Gemini,
}

impl Dialect {
    /// The dialect of a request's path, with or without `/v1`, a prefix, a query.
    ///
    /// ```
    /// use mainstay::dialect::Dialect;
    ///
    /// assert_eq!(Dialect::of_path("/v1/chat/completions"), Dialect::ChatCompletions);
    /// assert_eq!(Dialect::of_path("/v1beta/models/m:streamGenerateContent?alt=sse"), Dialect::Gemini);
    /// assert_eq!(Dialect::of_path("/v1/messages/count_tokens"), Dialect::Other);
    /// ```
    pub fn of_path(path: &str) -> Self {
        if let Some(dialect) = Self::of_known(path) {
            return dialect;
        }
        let path = plain(path);
        let ends =
            |end: &str| path.strip_suffix(end).is_some_and(|head| head.is_empty() || head.ends_with('/'));
        if ends("chat/completions") {
            Dialect::ChatCompletions
        } else if ends("completions") {
            Dialect::Completions
        } else if ends("v1/messages") || matches!(path, "messages" | "/messages") {
            // Not `/v1/threads/{id}/messages`, which is OpenAI's.
            Dialect::Messages
        } else if ends("responses") {
            Dialect::Responses
        } else if ends("embeddings") {
            Dialect::Embeddings
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Dialect::Gemini
        } else if ends("v2/chat") {
            Dialect::Cohere
        } else if ends("api/chat") || ends("api/generate") {
            Dialect::Ollama
        } else if ends("converse") || ends("converse-stream") {
            Dialect::Converse
        } else {
            Dialect::Other
        }
    }

    /// The dialect of a path that is just what an SDK writes: most are, and it is asked for several times a call.
    fn of_known(path: &str) -> Option<Self> {
        Some(match path {
            "/v1/chat/completions" => Dialect::ChatCompletions,
            "/v1/messages" => Dialect::Messages,
            "/v1/responses" => Dialect::Responses,
            "/v1/embeddings" => Dialect::Embeddings,
            _ => return None,
        })
    }

    /// How errors are told to callers of this API. For [`Dialect::Other`] the path knows more:
    /// [`ErrorFamily::of_path`].
    pub fn error_family(self) -> ErrorFamily {
        match self {
            Dialect::Messages => ErrorFamily::Anthropic,
            Dialect::Gemini => ErrorFamily::Gemini,
            _ => ErrorFamily::OpenAi,
        }
    }
}

impl ErrorFamily {
    /// How errors are told to callers of this path.
    ///
    /// ```
    /// use mainstay::dialect::ErrorFamily;
    ///
    /// assert_eq!(ErrorFamily::of_path("/v1/messages/count_tokens"), ErrorFamily::Anthropic);
    /// assert_eq!(ErrorFamily::of_path("/v1beta/models/m:countTokens"), ErrorFamily::Gemini);
    /// assert_eq!(ErrorFamily::of_path("/v1/audio/speech"), ErrorFamily::OpenAi);
    /// ```
    pub fn of_path(path: &str) -> Self {
        if let Some(dialect) = Dialect::of_known(path) {
            return dialect.error_family();
        }
        let family = Dialect::of_path(path).error_family();
        let path = plain(path);
        if path.contains("v1/messages/") {
            ErrorFamily::Anthropic
        } else if path.contains("models/") && path.contains(':') || is_gemini_beta(path) {
            ErrorFamily::Gemini
        } else {
            family
        }
    }
}

/// `/v1beta/...`, but not Gemini's imitation of OpenAI.
fn is_gemini_beta(path: &str) -> bool {
    path.trim_start_matches('/')
        .strip_prefix("v1beta")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') && !rest.starts_with("/openai"))
}

/// The path without query and closing slash.
fn plain(path: &str) -> &str {
    let path = path.split_once(['?', '#']).map_or(path, |(path, _)| path);
    path.trim_end_matches('/')
}
