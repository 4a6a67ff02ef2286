//! What came back.

use flate2::read::GzDecoder;
use serde_json::Value;
use std::{borrow::Cow, io::Read};

/// A reply, as far as it came.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// `None` when the connection was refused or ended before a head.
    pub status: Option<u16>,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// Without framing; unpacked where the reply says gzip.
    pub body: Vec<u8>,
    /// Whether the message ended as HTTP demands.
    pub complete: bool,
    /// From the start of sending to the first byte of the body.
    pub first_ms: Option<f64>,
    /// From the start of sending to the end.
    pub elapsed_ms: Option<f64>,
}

impl Reply {
    /// The last header of that name; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().rev().find(|(each, _)| each == name).map(|(_, value)| value.as_str())
    }

    /// The body as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The body as JSON; `None` where it is none.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Unpacks a body that says it is gzip. One that is not what it says stays as it is: the checks will tell.
    pub(super) fn unpack(&mut self) {
        if self.header("content-encoding") != Some("gzip") {
            return;
        }
        let mut plain = Vec::new();
        let read = GzDecoder::new(self.body.as_slice()).read_to_end(&mut plain);
        // What came before a cut is what a client would have seen.
        if read.is_ok() || !plain.is_empty() {
            self.body = plain;
        }
    }
}
