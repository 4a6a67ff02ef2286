//! What is to be done with a reply, as its head has it.

use super::{
    ReplyError,
    framing::{announces_stream, is_type},
    reading::Reading,
};
use crate::dialect::Dialect;
use http::{header, response::Parts};

/// What to do with a reply of which the head is known.
pub(super) enum Plan {
    Refuse(ReplyError),
    PassOn,
    Hold,
    Collect,
}

impl Reading {
    pub(super) fn plan(&self, parts: &Parts) -> Plan {
        if parts.status.is_redirection() {
            return Plan::Refuse(ReplyError::Redirect { status: parts.status });
        }
        // 101: whatever the provider has switched to, it is no answer, and no caller's connection is to be switched.
        if parts.status.is_informational() {
            return Plan::Refuse(ReplyError::NotAnAnswer { what: "it switches protocols" });
        }
        if !parts.status.is_success() {
            return Plan::Collect;
        }
        let coding = parts.headers.get(header::CONTENT_ENCODING);
        if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            let what = "it is compressed in a way that was not asked for";
            return Plan::Refuse(ReplyError::NotAnAnswer { what });
        }
        let is_json = is_type(&parts.headers, "application/json");
        let untyped = !parts.headers.contains_key(header::CONTENT_TYPE);
        match self.dialect {
            // Of an endpoint that we do not know, only JSON can be judged: it may be speech, or a file.
            Dialect::Other if !is_json => Plan::PassOn,
            Dialect::Other => Plan::Collect,
            dialect if announces_stream(dialect, &parts.headers) => {
                if self.stream == Some(false) && self.asks_in_the_body() {
                    let what = "it is a stream, and none was asked for";
                    return Plan::Refuse(ReplyError::NotAnAnswer { what });
                }
                Plan::Hold
            }
            // A stream was asked for and this may be one, from a server that does not name its type.
            _ if self.stream == Some(true) && untyped => Plan::Hold,
            _ => Plan::Collect,
        }
    }

    /// Whether nothing but `"stream": true` asks for a stream in this dialect. In others the path may, and Gemini's streams
    /// may be lists of JSON.
    pub(super) fn asks_in_the_body(&self) -> bool {
        use Dialect::{ChatCompletions, Completions, Embeddings, Messages, Responses};
        matches!(self.dialect, ChatCompletions | Completions | Embeddings | Messages | Responses)
    }
}
