//! The form in which a request is signed: the same on both sides, whatever it looks like on the way.

use crate::peek::percent_decoded;
use http::{HeaderMap, HeaderName, Uri, header};
use std::fmt::Write;

/// Bytes in small hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, byte| {
        // Writing into a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Percent-encodes all but the unreserved characters of RFC 3986 §2.3, and those of `safe`.
fn encode(bytes: &[u8], safe: u8, out: &mut String) {
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') || byte == safe {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// The path as it is sent, encoded once more, as all services but S3 want it.
pub(super) fn path(uri: &Uri) -> String {
    let mut out = String::with_capacity(uri.path().len() + 16);
    encode(uri.path().as_bytes(), b'/', &mut out);
    if out.is_empty() {
        out.push('/');
    }
    out
}

/// The query's pairs in order of their names, each encoded in the same way.
pub(super) fn query(uri: &Uri) -> String {
    let encoded = |text: &str| {
        let mut out = String::with_capacity(text.len());
        encode(&percent_decoded(text), b'~', &mut out);
        out
    };
    let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (encoded(name), encoded(value)))
        .collect();
    pairs.sort_unstable();
    let pairs: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

/// The headers that are signed, as a block of lines, and the list of their names. Others may be changed on the way.
pub(super) fn headers(uri: &Uri, headers: &HeaderMap) -> (String, String) {
    let is_signed = |name: &HeaderName| *name == header::CONTENT_TYPE || name.as_str().starts_with("x-amz-");
    let mut signed: Vec<(&str, String)> = headers
        .keys()
        .filter(|name| is_signed(name))
        .map(|name| {
            let values: Vec<String> =
                headers.get_all(name).iter().map(|value| trimmed(value.as_bytes())).collect();
            (name.as_str(), values.join(","))
        })
        .collect();
    signed.push(("host", host(uri, headers)));
    signed.sort_unstable();
    let lines = signed.iter().fold(String::new(), |mut out, (name, value)| {
        let _ = writeln!(out, "{name}:{value}");
        out
    });
    let names: Vec<&str> = signed.into_iter().map(|(name, _)| name).collect();
    (lines, names.join(";"))
}

/// The host that the client will name: without the port that goes without saying.
fn host(uri: &Uri, headers: &HeaderMap) -> String {
    if let Some(host) = headers.get(header::HOST) {
        return trimmed(host.as_bytes());
    }
    let usual = if uri.scheme_str() == Some("http") { 80 } else { 443 };
    let host = uri.host().unwrap_or_default();
    match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// A value without blanks around it, and with single ones in it.
fn trimmed(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let words: Vec<&str> = text.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}
