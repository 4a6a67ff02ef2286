//! What the query of a call says: only Gemini's callers say anything there.

use http::{HeaderMap, HeaderValue, Uri};
use mainstay::{endpoint::caller_key, peek::percent_decoded};

/// Whether a stream is to come as events; Gemini's are a JSON list where that is not asked for.
pub(super) fn asks_for_events(uri: &Uri) -> bool {
    pairs(uri).any(|pair| pair == "alt=sse")
}

/// Puts the key of a query, `?key=`, where the others stand, so that it is a credential like them: it goes on in the
/// provider's own form, if at all, and is cut out of errors. A header that is there counts first.
pub(super) fn key_to_header(uri: &Uri, headers: &mut HeaderMap) {
    if caller_key(headers).is_some() {
        return;
    }
    let key = pairs(uri).find_map(|pair| pair.strip_prefix("key=")).map(percent_decoded);
    let Some(Ok(mut value)) = key.filter(|key| !key.is_empty()).map(|key| HeaderValue::from_bytes(&key))
    else {
        return;
    };
    value.set_sensitive(true);
    headers.insert("x-goog-api-key", value);
}

fn pairs(uri: &Uri) -> impl Iterator<Item = &str> {
    uri.query().unwrap_or_default().split('&')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str, header: Option<&'static str>) -> Option<String> {
        let uri: Uri = format!("/v1beta/models/m:generateContent{query}").parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.extend(header.map(|key| (http::header::AUTHORIZATION, HeaderValue::from_static(key))));
        key_to_header(&uri, &mut headers);
        headers.get("x-goog-api-key").map(|value| {
            assert!(value.is_sensitive());
            value.to_str().unwrap().to_owned()
        })
    }

    #[test]
    fn a_key_in_the_query_is_a_credential_where_there_is_no_other() {
        assert_eq!(read("?alt=sse&key=AIza-1", None).as_deref(), Some("AIza-1"));
        assert_eq!(read("?key=a%2Fb", None).as_deref(), Some("a/b"));
        for query in ["", "?key=", "?keys=x", "?alt=sse", "?key=%0A"] {
            assert_eq!(read(query, None), None, "{query}");
        }
        assert_eq!(read("?key=AIza-1", Some("Bearer other")), None);
    }

    #[test]
    fn events_are_asked_for_by_one_word() {
        for (query, asks) in [("?alt=sse", true), ("?key=k&alt=sse", true), ("?alt=json", false), ("", false)]
        {
            let uri: Uri = format!("/v1beta/models/m:streamGenerateContent{query}").parse().unwrap();
            assert_eq!(asks_for_events(&uri), asks, "{query}");
        }
    }
}
