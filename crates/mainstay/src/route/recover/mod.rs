//! Going on where a stream of text was cut.
//!
//! A stream that has begun cannot be tried again silently: the caller has part of an answer. [`RecoverBody`] asks the next
//! target to go on with it, and hands its stream on as if it were the first one's: with its id, without a second role or
//! `message_start`, with one end, each word once, and the tokens of both added up.
//!
//! 1. The text so far is sent as an assistant message at the end of the request; see [`Prefill`]. An answer that goes on
//!    passes; one that begins again with all of the caller's text (8 bytes at least, no mere refrain) loses that text.
//! 2. A target that refuses such a request is asked once more, from the start and without retries. Its answer must repeat
//!    what the caller has, byte for byte, and what follows is handed on.
//! 3. Anything else ends the stream with one error, [`RecoveryFailed`], which has the first one as its source.
//!
//! Chat completions, Messages and Gemini's streams of events only, and only while the answer is text (after reasoning, if
//! any): never after a tool call or a refusal, for several choices, or for JSON output. Reasoning of a continuation is not
//! handed on. At most 1 MiB of text is kept for this; a longer answer is not continued. `max_tokens` holds for each of the
//! replies by itself.
//!
//! What this is not for: a reply that fails before its first content, which nobody has seen. That is the fallback's.

mod body;
mod error;
mod gemini;
mod go_on;
mod heard;
mod request;
mod seam;
mod text;

#[cfg(test)]
mod tests;

pub use self::body::RecoverBody;
pub use self::error::RecoveryFailed;
pub(super) use self::go_on::{Continue, is_stream};
pub use self::request::Prefill;
