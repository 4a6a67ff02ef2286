//! Addresses, which name the model.

use crate::translate::parts::path_segment;

/// The path of a call to `model`.
pub(in crate::translate) fn path(model: &str, stream: bool) -> String {
    let model = encoded(model);
    if stream {
        format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
    } else {
        format!("/v1beta/models/{model}:generateContent")
    }
}

/// The address of a caller with another model in it; `None` where it names none.
pub(in crate::translate) fn renamed(path_and_query: &str, model: &str) -> Option<String> {
    let (path, query) = match path_and_query.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path_and_query, None),
    };
    let (head, rest) = path.rsplit_once("models/")?;
    let (_, method) = rest.rsplit_once(':')?;
    let mut renamed = format!("{head}models/{}:{method}", encoded(model));
    if let Some(query) = query {
        renamed.push('?');
        renamed.push_str(query);
    }
    Some(renamed)
}

/// A model's name as a segment of a path.
fn encoded(model: &str) -> String {
    path_segment(model.strip_prefix("models/").unwrap_or(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_stays_within_its_segment() {
        assert_eq!(path("models/gemini-9", false), "/v1beta/models/gemini-9:generateContent");
        assert_eq!(path("a/../b?c", true), "/v1beta/models/a%2F..%2Fb%3Fc:streamGenerateContent?alt=sse");
        assert_eq!(
            renamed("/v1/models/old:generateContent?a=b", "new").as_deref(),
            Some("/v1/models/new:generateContent?a=b")
        );
        assert_eq!(renamed("/v1/chat/completions", "new"), None);
    }
}
