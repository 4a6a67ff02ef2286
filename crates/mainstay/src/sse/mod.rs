//! Server-sent events as bytes: a scanner that is a tee, an encoder, and a stream of events over any body.
//!
//! [`Scanner`] takes the frames of a body as they come and hands back [`Block`]s. Each block has the bytes it was made
//! of, so forwarding all `raw` in order gives the stream back byte for byte, and the [`Event`] that those bytes spell,
//! if they spell one. [`EventStream`] is the same for whoever wants events only. [`encode`] and [`comment`] write.
//! [`framing`] has the two other framings in which LLM APIs stream: lines of JSON, and AWS event streams.
//!
//! This module knows the grammar and nothing of what events mean; that is [`dialect`](crate::dialect)'s.
//!
//! - Grammar: WHATWG HTML §9.2 (BOM, CR, LF and CRLF split anywhere, comments, several data lines, `event`, `id`,
//!   `retry`). Bytes are never decoded: invalid UTF-8 passes as it is.
//! - Lenient at the end of the file: an event that lacks only its blank line counts if its data is a whole JSON object
//!   or array, or `[DONE]`. Otherwise it is discarded, as the standard demands, and its bytes are handed back.
//! - Bounded: no block is longer than [`DEFAULT_MAX_EVENT`] bytes unless set otherwise; a longer one is
//!   [`SseError::EventTooLarge`].
//! - Cost: every byte is searched once. A block that lies in one frame is a slice of it; one that spans frames is
//!   copied once.
//!
//! ```
//! use bytes::Bytes;
//! use mainstay::sse::{Scanner, SseError};
//!
//! # fn main() -> Result<(), SseError> {
//! let mut scanner = Scanner::new();
//! let mut passed_on = Vec::new();
//! let mut said = Vec::new();
//! for frame in [": hi\n\ndata: {\"n\"", ":1}\r\n\r\ndata: [DONE]\n\n"] {
//!     scanner.push(Bytes::from_static(frame.as_bytes()));
//!     while let Some(block) = scanner.next_block()? {
//!         passed_on.extend_from_slice(&block.raw);
//!         said.extend(block.event);
//!     }
//! }
//! assert_eq!(said[0].data(), br#"{"n":1}"#);
//! assert!(said[1].is_done());
//! assert_eq!(passed_on, b": hi\n\ndata: {\"n\":1}\r\n\r\ndata: [DONE]\n\n");
//! # Ok(())
//! # }
//! ```

mod block;
mod encode;
mod error;
mod line;
mod scanner;
mod stream;

pub mod framing;

#[cfg(test)]
mod tests;

pub use self::block::{Block, Event};
pub use self::encode::{DONE, comment, encode};
pub use self::error::{EventStreamError, SseError};
pub use self::scanner::{DEFAULT_MAX_EVENT, Scanner};
pub use self::stream::EventStream;
