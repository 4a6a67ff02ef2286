//! Which paths are calls to a model, and those that are not what they look like.

use super::models::decode;

/// Whether a `POST` to this path is a call to a model.
pub(super) fn is_call(path: &str) -> bool {
    (path.starts_with("/v1/") || path.starts_with("/v1beta/models/")) && !leads_elsewhere(path)
}

/// Whether a path has segments that lead out of where it begins (`.`, `..`, also encoded, also behind an encoded slash), or
/// bytes that no path of an API has. A provider's server might follow them, and the gateway's key goes along.
pub(super) fn leads_elsewhere(path: &str) -> bool {
    // What SDKs write has none of these: nothing is decoded, and nothing copied, for it.
    let mut before = b' ';
    let is_plain = path.bytes().all(|byte| {
        let leads = matches!((before, byte), (_, b'%' | b'\\') | (b'/', b'.'));
        before = byte;
        !leads
    });
    if is_plain {
        return false;
    }
    let plain = decode(path);
    // What was encoded twice is decoded by a server that decodes twice.
    let twice = decode(&plain);
    [plain, twice].iter().any(|path| {
        path.chars().any(|c| c.is_control()) || path.split(['/', '\\']).any(|part| matches!(part, "." | ".."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_of_the_api_is_known_however_it_is_written() {
        for path in [
            "/v1/../x",
            "/v1/a/./b",
            "/v1/%2e%2e/%2E%2e/keys",
            "/v1/..%2f..%2fkeys",
            "/v1/%252e%252e/keys",
            "/v1/a%5c..%5cb",
            "/v1/a%00",
            "/v1/a%0d%0ab",
        ] {
            assert!(leads_elsewhere(path), "{path}");
        }
        for path in ["/v1/chat/completions", "/v1/models/a..b", "/v1beta/models/gemini-2.5:generateContent"] {
            assert!(!leads_elsewhere(path), "{path}");
        }
    }
}
