//! The classifier for gRPC over HTTP/2: `grpc-status`, wherever it stands.

use super::{
    Class, Classify, Head, HttpClassifier, Verdict,
    hint::{self, Pushback},
};
use http::{HeaderMap, StatusCode};
use std::{error::Error, time::Duration};

/// Judges gRPC replies: `grpc-status` in the headers of a trailers-only reply (which is how a unary error comes) and in
/// trailers, and the HTTP status where there is no `grpc-status` at all, as a proxy's 503.
///
/// | code | class | same target again |
/// | --- | --- | --- |
/// | 0 OK | `Success` | |
/// | 1 CANCELLED | `Cancelled` | no |
/// | 2 UNKNOWN, 15 DATA_LOSS | `ServerError` | no: it may have been done |
/// | 3 INVALID_ARGUMENT, 6 ALREADY_EXISTS, 9 FAILED_PRECONDITION, 11 OUT_OF_RANGE | `InvalidRequest` | no |
/// | 4 DEADLINE_EXCEEDED | `Timeout` | yes |
/// | 5 NOT_FOUND, 12 UNIMPLEMENTED | `NotFound` | no |
/// | 7 PERMISSION_DENIED, 16 UNAUTHENTICATED | `Auth` | no |
/// | 8 RESOURCE_EXHAUSTED | `RateLimited` | only where the server says when |
/// | 10 ABORTED | `RateLimited` | yes |
/// | 13 INTERNAL | `ServerError` | yes |
/// | 14 UNAVAILABLE | `Overloaded` | yes |
///
/// The wait is `grpc-retry-pushback-ms` (gRFC A6), else `RetryInfo` in `grpc-status-details-bin`
/// (google/rpc/error_details.proto), else that of the headers. A pushback that is negative or unreadable forbids another
/// try. [`Verdict::code`] is the name of the code, [`Verdict::status`] the HTTP status that google/rpc/code.proto gives
/// it.
///
/// A 200 without a `grpc-status` in its head is `Success` as far as the head goes: the trailers decide.
///
/// ```
/// use http::Response;
/// use mainstay_layers::classify::{Class, Classify, GrpcClassifier, Head};
///
/// let reply = Response::builder().header("grpc-status", "14").header("grpc-message", "try%20later").body(()).unwrap();
/// let verdict = GrpcClassifier::new().head(Head::of(&reply));
/// assert_eq!(verdict.class, Class::Overloaded);
/// assert_eq!(verdict.message.as_deref(), Some("try later"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct GrpcClassifier(());

/// At most this much of a message is kept, and of the details read.
const MAX_MESSAGE: usize = 2 * 1024;
const MAX_DETAILS: usize = 16 * 1024;

impl GrpcClassifier {
    /// The classifier. It has no options: wrap it to change a rule.
    pub const fn new() -> Self {
        Self(())
    }

    /// The class of a `grpc-status` code; codes that do not exist are UNKNOWN.
    pub const fn class_of_code(code: u32) -> Class {
        match code {
            0 => Class::Success,
            1 => Class::Cancelled,
            3 | 6 | 9 | 11 => Class::InvalidRequest,
            4 => Class::Timeout,
            5 | 12 => Class::NotFound,
            7 | 16 => Class::Auth,
            8 | 10 => Class::RateLimited,
            14 => Class::Overloaded,
            _ => Class::ServerError,
        }
    }

    /// The code that says best what a class is: for a client of our own, which wants a code for an error that no server
    /// sent.
    pub const fn code_of_class(class: Class) -> u32 {
        match class {
            Class::Success => 0,
            Class::Cancelled => 1,
            Class::InvalidRequest | Class::ContextLength | Class::ContentPolicy => 3,
            Class::Timeout => 4,
            Class::NotFound => 5,
            Class::RateLimited | Class::QuotaExhausted | Class::TooLarge => 8,
            Class::ServerError | Class::Malformed => 13,
            Class::Overloaded | Class::Transport | Class::Rejected => 14,
            Class::Auth => 16,
        }
    }

    /// The code of a verdict: the one that it names, if [`Verdict::code`] is the name of a gRPC code, else that of its
    /// class.
    pub fn code_of_verdict(verdict: &Verdict) -> u32 {
        let named = verdict.code.as_deref().and_then(|code| (0..=16).find(|number| name(*number).0 == code));
        named.unwrap_or(Self::code_of_class(verdict.class))
    }
}

impl Classify for GrpcClassifier {
    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        HttpClassifier::new().error(error)
    }

    fn head(&self, head: Head<'_>) -> Verdict {
        if let Some(verdict) = head.extensions.get::<Verdict>() {
            return verdict.clone();
        }
        match code(head.headers) {
            Some(code) => judge(code, head.headers),
            None if head.status == StatusCode::OK => Class::Success.into(),
            None => {
                let mut verdict = judge(code_of_status(head.status), head.headers);
                if head.status == StatusCode::TOO_MANY_REQUESTS {
                    // UNAVAILABLE by gRPC's mapping; yet a rate limit is not ill health.
                    verdict.class = Class::RateLimited;
                }
                verdict
            }
        }
    }

    /// Trailers without a `grpc-status` end a call as UNKNOWN.
    fn trailers(&self, trailers: &HeaderMap) -> Option<Verdict> {
        Some(judge(code(trailers).unwrap_or(UNKNOWN), trailers))
    }
}

const UNKNOWN: u32 = 2;

/// `grpc-status`; one that cannot be read is UNKNOWN.
fn code(metadata: &HeaderMap) -> Option<u32> {
    let value = metadata.get("grpc-status")?;
    Some(
        value
            .to_str()
            .ok()
            .and_then(|value| value.trim().parse().ok())
            .filter(|code| *code <= 16)
            .unwrap_or(UNKNOWN),
    )
}

/// The code of a reply that is no gRPC (grpc doc/http-grpc-status-mapping.md).
const fn code_of_status(status: StatusCode) -> u32 {
    match status.as_u16() {
        400 | 431 => 13,
        401 => 16,
        403 => 7,
        404 => 12,
        429 | 502 | 503 | 504 => 14,
        _ => UNKNOWN,
    }
}

/// The name of a code and the HTTP status that it stands for (google/rpc/code.proto).
const fn name(code: u32) -> (&'static str, u16) {
    match code {
        0 => ("OK", 200),
        1 => ("CANCELLED", 499),
        3 => ("INVALID_ARGUMENT", 400),
        4 => ("DEADLINE_EXCEEDED", 504),
        5 => ("NOT_FOUND", 404),
        6 => ("ALREADY_EXISTS", 409),
        7 => ("PERMISSION_DENIED", 403),
        8 => ("RESOURCE_EXHAUSTED", 429),
        9 => ("FAILED_PRECONDITION", 400),
        10 => ("ABORTED", 409),
        11 => ("OUT_OF_RANGE", 400),
        12 => ("UNIMPLEMENTED", 501),
        13 => ("INTERNAL", 500),
        14 => ("UNAVAILABLE", 503),
        15 => ("DATA_LOSS", 500),
        16 => ("UNAUTHENTICATED", 401),
        _ => ("UNKNOWN", 500),
    }
}

fn judge(code: u32, metadata: &HeaderMap) -> Verdict {
    let class = GrpcClassifier::class_of_code(code);
    if class == Class::Success {
        return class.into();
    }
    let pushback = hint::pushback(metadata);
    let wait = match pushback {
        Some(Pushback::After(wait)) => Some(wait).filter(|wait| !wait.is_zero()),
        Some(Pushback::Never) => None,
        None => retry_info(metadata).or_else(|| hint::from_headers(metadata)),
    };
    let told_when = wait.is_some() || pushback.is_some();
    let retry = match code {
        _ if pushback == Some(Pushback::Never) => Some(false),
        // It may have been done: not safe to repeat unasked.
        2 | 15 => Some(false),
        8 if !told_when => Some(false),
        _ => None,
    };
    let (name, status) = name(code);
    Verdict::new(class)
        .with_wait(wait)
        .with_retry(retry)
        .with_status(StatusCode::from_u16(status).ok())
        .with_code(Some(name))
        .with_message(message(metadata).as_deref())
}

/// `grpc-message`, percent-decoded (grpc doc/PROTOCOL-HTTP2.md); what is no escape stays as it is.
fn message(metadata: &HeaderMap) -> Option<String> {
    let raw = metadata.get("grpc-message")?.as_bytes();
    let raw = raw.get(..3 * MAX_MESSAGE).unwrap_or(raw);
    let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, hex(tail.first()), hex(tail.get(1))) {
            (b'%', Some(high), Some(low)) => {
                text.push(u8::try_from(high * 16 + low).unwrap_or_default());
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                text.push(first);
                rest = tail;
            }
        }
    }
    let text: String =
        String::from_utf8_lossy(&text).chars().filter(|c| !c.is_control() || *c == '\n').collect();
    let end = (0..=MAX_MESSAGE.min(text.len())).rev().find(|end| text.is_char_boundary(*end))?;
    text.get(..end).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// `RetryInfo.retry_delay` in `grpc-status-details-bin`, a google.rpc.Status.
fn retry_info(metadata: &HeaderMap) -> Option<Duration> {
    let value = metadata.get("grpc-status-details-bin")?.to_str().ok()?;
    // Several values of a -bin header may be joined by commas.
    let details =
        proto::base64(value.split(',').next()?.trim().get(..).filter(|text| text.len() <= MAX_DETAILS)?)?;
    // Status { int32 code = 1; string message = 2; repeated Any details = 3; }
    // Any { string type_url = 1; bytes value = 2; }  RetryInfo { Duration retry_delay = 1; }
    proto::fields(&details, 3).find_map(|any| {
        proto::fields(any, 1).next()?.ends_with(b"google.rpc.RetryInfo").then_some(())?;
        let delay = proto::fields(proto::fields(any, 2).next()?, 1).next()?;
        // Duration { int64 seconds = 1; int32 nanos = 2; }: negative ones are huge as unsigned ones are read.
        let seconds = proto::varint(delay, 1).unwrap_or(0);
        let nanos = proto::varint(delay, 2).unwrap_or(0);
        if i64::try_from(seconds).is_err() || nanos >= 1_000_000_000 {
            return None;
        }
        hint::seconds(&format!("{seconds}.{nanos:09}"))
    })
}

/// The little of protobuf's wire format and of base64 that it takes.
mod proto {
    /// Base64 of RFC 4648 §4, padded or not.
    pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
        let text = text.trim_end_matches('=');
        let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
        let (mut bits, mut count) = (0_u32, 0_u32);
        for byte in text.bytes() {
            let six = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' | b'-' => 62,
                b'/' | b'_' => 63,
                _ => return None,
            };
            bits = (bits << 6 | u32::from(six)) & 0xff_ffff;
            count += 6;
            if count >= 8 {
                count -= 8;
                bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
            }
        }
        Some(bytes)
    }

    enum Value<'a> {
        Varint(u64),
        Bytes(&'a [u8]),
        Fixed,
    }

    /// The fields of a message, as far as they can be read.
    struct Fields<'a>(&'a [u8]);

    impl<'a> Fields<'a> {
        fn varint(&mut self) -> Option<u64> {
            let mut value = 0_u64;
            for shift in (0..70).step_by(7) {
                let (&byte, rest) = self.0.split_first()?;
                self.0 = rest;
                value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
                if byte < 0x80 {
                    return Some(value);
                }
            }
            None
        }

        fn take(&mut self, count: u64) -> Option<&'a [u8]> {
            let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
            self.0 = rest;
            Some(taken)
        }
    }

    impl<'a> Iterator for Fields<'a> {
        type Item = (u64, Value<'a>);

        fn next(&mut self) -> Option<Self::Item> {
            let tag = self.varint()?;
            let value = match tag & 7 {
                0 => Value::Varint(self.varint()?),
                1 => self.take(8).map(|_| Value::Fixed)?,
                2 => {
                    let length = self.varint()?;
                    Value::Bytes(self.take(length)?)
                }
                5 => self.take(4).map(|_| Value::Fixed)?,
                _ => return None,
            };
            Some((tag >> 3, value))
        }
    }

    /// The values of the length-delimited fields of this number.
    pub(super) fn fields(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
        Fields(message).filter_map(move |(n, value)| match value {
            Value::Bytes(bytes) if n == number => Some(bytes),
            _ => None,
        })
    }

    /// The last varint of this number.
    pub(super) fn varint(message: &[u8], number: u64) -> Option<u64> {
        Fields(message)
            .filter_map(|(n, value)| match value {
                Value::Varint(varint) if n == number => Some(varint),
                _ => None,
            })
            .last()
    }
}

#[cfg(test)]
mod tests;
