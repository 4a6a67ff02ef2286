//! Request ids.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header that has it.
pub(super) static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request: the caller's own `x-request-id` if it is usable, else a new one. A copy of it: the header is a slice
/// of the buffer that the connection reads into, and would keep all of that for as long as the call lasts.
pub(super) fn request_id(headers: &HeaderMap) -> HeaderValue {
    let own = headers.get(&X_REQUEST_ID).filter(|id| is_usable(id));
    own.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok()).unwrap_or_else(|| {
        let mut id = *b"req_000000000000000000000000";
        let mut random = fastrand::u128(..);
        for digit in id.iter_mut().skip(4) {
            *digit = char::from_digit((random % 16) as u32, 16).map_or(b'0', |digit| digit as u8);
            random /= 16;
        }
        // Hex is always a header value.
        HeaderValue::from_bytes(&id).unwrap_or(HeaderValue::from_static("req_0"))
    })
}

/// Whether this is fit for a header and a log line: up to 128 visible characters.
pub(super) fn is_usable(id: &HeaderValue) -> bool {
    (1..=128).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_id_is_kept_if_it_is_one() {
        let with = |id: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-request-id", HeaderValue::from_str(id).unwrap());
            request_id(&headers)
        };
        assert_eq!(with("abc-1"), "abc-1");
        assert_ne!(with("a b"), "a b");
        assert_ne!(with(&"x".repeat(129)), "x".repeat(129));
        let new = request_id(&HeaderMap::new());
        assert_ne!(new, request_id(&HeaderMap::new()));
        let hex = new.to_str().unwrap().strip_prefix("req_").unwrap();
        assert!(hex.len() == 24 && u128::from_str_radix(hex, 16).unwrap() > 0, "{hex}");
    }
}
