//! The other framings in which LLM APIs stream: lines of JSON ([`ndjson`], Ollama) and AWS event streams
//! ([`eventstream`], Bedrock).
//!
//! Both work as [`Scanner`](super::Scanner) does: frames go in without a copy, whole units come out with their raw
//! bytes, and nothing is unbounded. They know no provider.

pub mod eventstream;
pub mod ndjson;

mod crc;
mod frames;
