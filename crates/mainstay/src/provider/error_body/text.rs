//! Error bodies that are no JSON: text and HTML.

use super::MAX_MESSAGE;

/// The longest message that is taken from a page.
const MAX_PAGE: usize = 200;

/// Without the blanks and the byte order mark before, and the blanks behind.
pub(in crate::provider) fn trim(body: &[u8]) -> &[u8] {
    let body = body.trim_ascii();
    body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body).trim_ascii()
}

/// At most `max` bytes, cut between characters.
pub(in crate::provider) fn clip(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// The message of a body that is no JSON; `None` if it is not for people.
pub(super) fn message(body: &[u8]) -> Option<String> {
    // Twice the longest message is enough of a text; a page has a head before it says anything.
    let text = String::from_utf8_lossy(body.get(..64 * 1024).unwrap_or(body));
    let text = text.as_ref();
    let odd = text.chars().take(512).filter(|c| *c == '\u{fffd}' || (c.is_control() && !c.is_whitespace()));
    if odd.count() > 4 {
        return None;
    }
    let message = if text.starts_with('<') { page(text) } else { squeeze(text, MAX_MESSAGE) };
    (!message.is_empty()).then_some(message)
}

/// What a page says: its title, else its text.
fn page(html: &str) -> String {
    let title = element(html, "title").map(|title| squeeze(&untag(title), MAX_PAGE));
    match title {
        Some(title) if !title.is_empty() => title,
        _ => squeeze(&untag(html), MAX_PAGE),
    }
}

/// The inside of the first element of this name.
fn element<'a>(html: &'a str, name: &str) -> Option<&'a str> {
    let lower = html.to_ascii_lowercase();
    let open = lower.find(&format!("<{name}"))?;
    let start = open + lower.get(open..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</")?;
    html.get(start..end)
}

/// The text between the tags, without scripts and styles. Entities that would make new markup become blanks.
fn untag(html: &str) -> String {
    let lower = html.to_ascii_lowercase();
    let mut text = String::new();
    let mut at = 0;
    while let Some(rest) = html.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(open) = rest.find('<') else {
            text.push_str(rest);
            break;
        };
        text.push_str(rest.get(..open).unwrap_or_default());
        text.push(' ');
        let tag = at + open;
        let end = ["script", "style"]
            .iter()
            .find(|name| lower.get(tag + 1..).is_some_and(|rest| rest.starts_with(**name)))
            .map_or(">".to_owned(), |name| format!("</{name}"));
        at = match lower.get(tag..).and_then(|rest| rest.find(&end)) {
            Some(close) if end == ">" => tag + close + 1,
            // The closing tag itself is the next one to be cut out.
            Some(close) => tag + close,
            None => break,
        };
    }
    for (entity, plain) in [
        ("&nbsp;", " "),
        ("&lt;", " "),
        ("&gt;", " "),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ] {
        if text.contains(entity) {
            text = text.replace(entity, plain);
        }
    }
    text.retain(|c| c != '<' && c != '>');
    text
}

/// One line, without control characters, at most `max` bytes.
pub(super) fn squeeze(text: &str, max: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > max {
            break;
        }
    }
    clip(&line, max).trim_end().to_owned()
}
