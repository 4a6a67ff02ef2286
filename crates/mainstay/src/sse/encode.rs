//! Writing events.

use bytes::{BufMut, Bytes, BytesMut};
use memchr::memchr2;

/// The event that ends OpenAI's chat streams.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// One event with its closing blank line. Data of several lines becomes several `data:` lines; line ends in the name
/// are dropped.
///
/// ```
/// use mainstay::sse::encode;
///
/// assert_eq!(encode(Some("ping"), b"{}"), "event: ping\ndata: {}\n\n");
/// assert_eq!(encode(None, b"a\nb"), "data: a\ndata: b\n\n");
/// ```
pub fn encode(event: Option<&str>, data: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(event.map_or(0, str::len) + data.len() + 24);
    if let Some(name) = event.filter(|name| !name.is_empty()) {
        out.put_slice(b"event: ");
        out.extend(name.bytes().filter(|b| !matches!(b, b'\r' | b'\n')));
        out.put_u8(b'\n');
    }
    lines(&mut out, b"data: ", data);
    out.put_u8(b'\n');
    out.freeze()
}

/// A comment with its closing blank line: keeps a connection alive and is no event.
///
/// ```
/// assert_eq!(mainstay::sse::comment("waiting"), ": waiting\n\n");
/// ```
pub fn comment(text: &str) -> Bytes {
    let mut out = BytesMut::with_capacity(text.len() + 8);
    lines(&mut out, b": ", text.as_bytes());
    out.put_u8(b'\n');
    out.freeze()
}

/// Each line of `text` behind `head`.
fn lines(out: &mut BytesMut, head: &[u8], text: &[u8]) {
    let mut rest = text;
    loop {
        let end = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(end);
        out.put_slice(head);
        out.put_slice(line);
        out.put_u8(b'\n');
        rest = match tail {
            [] => return,
            [b'\r', b'\n', tail @ ..] | [_, tail @ ..] => tail,
        };
    }
}
